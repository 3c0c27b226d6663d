"""An NRI plugin that the daemon starts itself: it subscribes to every event and changes nothing."""

import os
import socket
from collections.abc import Callable

from google.protobuf.message import Message

from critests.node.nri.nri_plugin import NriPlugin


class Listener(NriPlugin):
    """Responds to every event with an empty message, and keeps none of them."""

    def _receive(self, name: str, request: Message) -> Callable[[], Message | None]:
        del name, request
        return lambda: None


def main() -> None:
    """Register on the socket that the daemon passed, and respond until it closes it."""
    variables = os.environ
    trunk = socket.socket(fileno=int(variables["NRI_PLUGIN_SOCKET"]))
    plugin = Listener(trunk, variables["NRI_PLUGIN_NAME"], variables["NRI_PLUGIN_IDX"])
    plugin.register()
    plugin.ends_within(None)
