"""A fault in the calls between a runtime and the NRI plugins of this process."""

from collections.abc import Callable

from google.protobuf.message import Message

from critests.node.nri.nri_plugin import TAMPERINGS
from critests_proof.language.plugin_faults import PluginFault


class PluginEffect:
    """Intercepts the calls of every plugin of this process while the fault is set; ignores the CRI's RPCs.

    Args:
        fault: the fault.
        hit: called for every change.
    """

    rpcs: frozenset[str] = frozenset()

    def __init__(self, fault: PluginFault, hit: Callable[[], None]) -> None:
        self._fault = fault
        self._hit = hit
        # several proxies may have the same fault; only the last one acts
        TAMPERINGS[fault.text] = self._tampering = self._tamper

    def _tamper(self, call: str, message: Message) -> bool:
        if call != self._fault.call:
            return True
        if self._fault.action == "swallow":
            self._hit()
            return False
        if self._fault.change(message):
            self._hit()
        return True

    def on_request(self, rpc: str, request: Message) -> bool:  # noqa: ARG002 - the protocol's names
        """Change nothing."""
        return False

    def on_response(self, rpc: str, request: Message, response: Message) -> bool:  # noqa: ARG002 - the protocol's names
        """Change nothing."""
        return False

    def close(self) -> None:
        """Stop intercepting."""
        if TAMPERINGS.get(self._fault.text) is self._tampering:
            del TAMPERINGS[self._fault.text]
