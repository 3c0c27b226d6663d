"""Faults in the calls between a runtime and the suite's NRI plugins."""

from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message

from critests.api import nri_pb2 as nri
from critests_proof.language.changes import FIELD_ACTIONS, Surroundings, parse_field_action
from critests_proof.language.descriptors import FaultError, near, rpcs
from critests_proof.language.paths import PathStep, check_path, parse_path, places

_SERVICES = nri.DESCRIPTOR.services_by_name
PLUGIN_CALLS = {
    name: method.input_type
    for service in ("Plugin", "Runtime")
    for name, method in _SERVICES[service].methods_by_name.items()
    if name not in {"StateChange", "Shutdown", "RegisterPlugin"}
}
"""The calls that a plugin receives, and `UpdateContainers`, which it makes, to their messages."""
ACTIONS = ("clear", "set", "drop-first", "drop-all")
"""Field actions that need no context."""


@dataclass(frozen=True)
class PluginFault:
    """A fault in one call: it is swallowed, or a field of its message is changed.

    Attributes:
        text: its text.
        call: a key of `PLUGIN_CALLS`, for any form of the call.
        steps: path of the field; empty for the call as a whole.
        action: `swallow`, or the action on the field.
        argument: parsed argument of the action.
    """

    text: str
    call: str
    steps: tuple[PathStep, ...]
    action: str
    argument: Any = None

    def change(self, message: Message) -> bool:
        """Change a field of a message in place; return whether it changed."""
        before = message.SerializeToString(deterministic=True)
        for place in list(places(message, self.steps)):
            FIELD_ACTIONS[self.action].change(place, self.argument, Surroundings(message))
        return before != message.SerializeToString(deterministic=True)


def parse_plugin_fault(text: str, target: str, action: str, argument: str, when: str) -> PluginFault:
    """Parse a fault, such as `plugin.RunPodSandbox.pod.uid: set "another"`.

    Raises:
        FaultError: the text is malformed.
    """
    call, _, path = target.partition(".")
    if call not in PLUGIN_CALLS:
        msg = f"plugins know no call {call!r}{near(call, PLUGIN_CALLS)}; there are: {', '.join(PLUGIN_CALLS)}"
        raise FaultError(msg)
    if when:
        msg = "faults before plugins take no conditions"
        raise FaultError(msg)
    if not path:
        if action != "swallow" or argument:
            msg = f"a call of a plugin can only be swallowed, not {action}"
            raise FaultError(msg)
        return PluginFault(text, call, (), action)
    if action not in ACTIONS:
        msg = f"the action on a field of a plugin call is one of {', '.join(ACTIONS)}; not {action}"
        raise FaultError(msg)
    steps = parse_path(path)
    field = check_path(steps, PLUGIN_CALLS[call])
    # the RPC matters only for actions that copy another field
    rpc = rpcs()["Version"]
    read = parse_field_action(action, argument, field, rpc, element=steps[-1].pick is not None)
    return PluginFault(text, call, steps, action, read)
