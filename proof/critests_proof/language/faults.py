"""The language of faults: one line of text breaks one promise.

    ListPodSandbox.request.filter.state: clear
    PodSandboxStatus.response.status.state: set SANDBOX_NOTREADY when request.verbose
    ListContainers.response.containers[].labels: drop-first
    StopContainer: swallow
    Version: error UNAVAILABLE
    log: strip-spaces
    Exec.stream: swap-channels
    bundle.process.user.uid: set 0
    plugin.RunPodSandbox.pod.uid: set "another"

A fault is `TARGET: ACTION [ARGUMENT] [when CONDITION [and CONDITION …]]`. A target is an RPC
(`StopContainer`), a field of its request or response (`StopContainer.request.timeout`; the name of a message,
`StopContainerRequest.timeout`, means the same), its message as a whole (`ListImages.response`), the log of
containers (`log`), streaming sessions (`stream`, `Exec.stream`, `Attach.stream`, `PortForward.stream`), or
what the OCI runtime of a throwaway runtime reads: the bundle of a container (`bundle.PATH`) or of a sandbox
(`sandbox-bundle.PATH`), the process of an exec (`exec.PATH`), the resources of an update (`update.PATH`), or
the calls of the suite's NRI plugins (`plugin.CALL`, which can be swallowed, or a field,
`plugin.CALL.PATH`; see `plugin_faults.py`). Commands of the OCI runtime and CNI plugins: `oci_syntax.py`.
Fields: `changes.py`. Conditions: `conditions.py`. Logs: `log_changes.py`. Streams: `stream_changes.py`. OCI
runtime: `oci_document.py`. `socket: world-writable` changes the mode of the runtime's socket.

| action on an RPC | effect |
|---|---|
| `swallow` | an empty OK; the call does not reach the runtime |
| `error CODE ["text"]` | an error; the call does not reach the runtime |
| `fail-after CODE ["text"]` | the runtime executes the call, the response is an error |
| `empty` | the runtime executes the call, the response is empty |
| `delay TIME`, `delay-answer TIME` | a delay before, or after, the call of the runtime; `250ms`, `2s` |
| `hang` | no response until the client gives up |
| `twice` | two calls of the runtime; the second response counts |
| `stale` | the previous response of this RPC, if there is one, also instead of an error |
| `lagging` | the previous response to the same request, if there is one |
| `frozen` | always the first response to the same request |
| `before RPC {JSON}`, `after RPC {JSON}` | an additional call; `$request.PATH` is replaced by the field |
| `recode CODE ["text"]` | another code, if the runtime returns an error |
| `cut N` | ends a stream, OK, after N messages |

On a message as a whole: `clear`; on messages of a stream also `drop`, `duplicate`, `postpone`
(to after the next one) and `delay TIME`.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf import json_format
from google.protobuf.message import Message

from critests_proof.language.changes import FIELD_ACTIONS, Surroundings, parse_field_action
from critests_proof.language.conditions import CallState, Condition, parse_conditions
from critests_proof.language.descriptors import (
    FaultError,
    RpcDescriptor,
    descriptor_of,
    message_sides,
    near,
    rpcs,
)
from critests_proof.language.log_changes import LOG_CHANGES, parse_log_change
from critests_proof.language.oci_document import ChangeMalformed, OciChange, parse_change
from critests_proof.language.oci_syntax import CommandFault, NetworkFault, is_below, parse_below
from critests_proof.language.paths import PathStep, check_path, parse_path, places
from critests_proof.language.plugin_faults import PluginFault, parse_plugin_fault
from critests_proof.language.stream_changes import STREAM_CHANGES, parse_stream_change
from critests_proof.language.values import unquote

CALL_ACTIONS = {
    "swallow": "",
    "error": "code",
    "fail-after": "code",
    "recode": "code",
    "empty": "",
    "delay": "time",
    "delay-answer": "time",
    "hang": "",
    "twice": "",
    "stale": "",
    "lagging": "",
    "frozen": "",
    "before": "call",
    "after": "call",
    "cut": "number",
}
MESSAGE_ACTIONS = {"clear": "", "drop": "", "duplicate": "", "postpone": "", "delay": "time"}
STREAMING_RPCS = ("Exec", "Attach", "PortForward")
OCI_DOCUMENTS = {
    "bundle": ("create", "container"),
    "sandbox-bundle": ("create", "sandbox"),
    "exec": ("exec", ""),
    "update": ("update", ""),
}
"""Document that an OCI runtime reads to its operation, and to the kind of container in its annotations."""
_WHEN = re.compile(r'((?:[^"]|"(?:[^"\\]|\\.)*")*?)\s+when\s+(.*)', re.DOTALL)
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m)")


@dataclass(frozen=True)
class OtherCall:
    """An additional call of a fault: its RPC, and its request as JSON with `$request.…` and `$response.…`."""

    rpc: RpcDescriptor
    fields: str

    def request(self, around: Surroundings) -> Message:
        """Return the request, with the fields of the original call filled in."""
        filled = json.loads(
            self.fields,
            object_hook=lambda fields: {name: _fill(value, around) for name, value in fields.items()},
        )
        return json_format.ParseDict(filled, self.rpc.request())


def _fill(value: object, around: Surroundings) -> object:
    if not isinstance(value, str) or not value.startswith(("$request.", "$response.")):
        return value
    side, _, path = value.removeprefix("$").partition(".")
    message = around.request if side == "request" else around.response
    for place in places(message, parse_path(path)) if message is not None else ():
        return place.get()
    return ""


@dataclass(frozen=True)
class Fault:
    """A fault in the messages of one RPC.

    Attributes:
        text: its text.
        rpc: its RPC.
        side: `call`, `request` or `response`.
        steps: path of the field; empty for the message or call as a whole.
        action: name of the action.
        argument: parsed argument of the action.
        conditions: all must hold.
    """

    text: str
    rpc: RpcDescriptor
    side: str
    steps: tuple[PathStep, ...]
    action: str
    argument: Any
    conditions: tuple[Condition, ...]

    def holds(self, call: CallState) -> bool:
        """Return whether the fault acts now."""
        return all(condition.holds(call) for condition in self.conditions)

    def change(self, message: Message, around: Surroundings) -> bool:
        """Change a message in place.

        Args:
            message: the request or the response, by the side of the fault.
            around: the context of the change.

        Returns:
            Whether the message changed.
        """
        before = type(message)()
        before.CopyFrom(message)
        if self.steps:
            for place in list(places(message, self.steps)):
                FIELD_ACTIONS[self.action].change(place, self.argument, around)
        elif self.action == "clear":
            message.Clear()
        return before != message


@dataclass(frozen=True)
class LogFault:
    """A fault in the logs of containers: the change and its argument."""

    text: str
    action: str
    argument: float


@dataclass(frozen=True)
class StreamFault:
    """A fault in streaming sessions: the RPCs, the change and its argument."""

    text: str
    rpcs: tuple[str, ...]
    action: str
    argument: str


@dataclass(frozen=True)
class OciFault:
    """A fault in a document that the OCI runtime reads: the operation and the change."""

    text: str
    operation: str
    change: OciChange


@dataclass(frozen=True)
class UnknownMethodFault:
    """A fault in the response to an unknown method: the code and the text."""

    text: str
    code: grpc.StatusCode
    details: str


@dataclass(frozen=True)
class SocketFault:
    """A fault in the mode of the socket: world-writable."""

    text: str


BelowFault = OciFault | CommandFault | NetworkFault
"""A fault of the wrappers around the OCI runtime or the CNI plugins of a throwaway runtime."""
AnyFault = Fault | LogFault | StreamFault | BelowFault | UnknownMethodFault | SocketFault | PluginFault


def is_of_the_network(fault: BelowFault) -> bool:
    """Return whether it needs the wrapper around the CNI plugins."""
    return isinstance(fault, NetworkFault) or (isinstance(fault, CommandFault) and fault.program == "cni")


def parse_fault(text: str) -> AnyFault:
    """Parse a fault.

    Raises:
        FaultError: the text is malformed; the message names the error, with near matches for misspelt names.
    """
    try:
        return _parse(text.strip())
    except FaultError as error:
        msg = f"{text.strip()}: {error}"
        raise FaultError(msg) from error


def _parse(text: str) -> AnyFault:
    target, action, argument, when = _split(text)
    document, _, place = target.partition(".")
    if document in OCI_DOCUMENTS:
        return _oci_fault(text, document, place, action, argument, when)
    if is_below(target):
        return parse_below(text, target, action, argument, when)
    if document == "plugin":
        return parse_plugin_fault(text, place, action, argument, when)
    if target in {"unknown-method", "socket"}:
        return _fault_of_the_whole(text, target, action, argument, when)
    if target in {"log", "stream"} or target.endswith(".stream"):
        return _effect_fault(text, target, action, argument, when)
    return _message_fault(text, target, action, argument, when)


def _fault_of_the_whole(
    text: str, target: str, action: str, argument: str, when: str
) -> UnknownMethodFault | SocketFault:
    if target == "unknown-method":
        return _unknown_method_fault(text, action, argument, when)
    if (action, argument, when) != ("world-writable", "", ""):
        msg = "a socket can only be world-writable"
        raise FaultError(msg)
    return SocketFault(text)


def _effect_fault(text: str, target: str, action: str, argument: str, when: str) -> LogFault | StreamFault:
    if when:
        msg = "faults in logs and streams take no conditions"
        raise FaultError(msg)
    if target == "log":
        return LogFault(text, action, parse_log_change(action, argument))
    return _stream_fault(text, target, action, argument)


def _message_fault(text: str, target: str, action: str, argument: str, when: str) -> Fault:
    rpc, side, path = _target(target)
    conditions = parse_conditions(when, rpc) if when else ()
    if side != "response" and action not in {"fail-after", "delay-answer", "after", "empty"}:
        for condition in conditions:
            if condition.subject in {"response", "message"}:
                msg = f"what happens before the runtime answers cannot depend on the {condition.subject}"
                raise FaultError(msg)
    if side == "call":
        return Fault(text, rpc, side, (), action, _call_argument(rpc, action, argument), conditions)
    if not path:
        read = _message_argument(rpc, side, action, argument)
        return Fault(text, rpc, side, (), action, read, conditions)
    steps = parse_path(path)
    field = check_path(steps, descriptor_of(rpc.request if side == "request" else rpc.response))
    read = parse_field_action(action, argument, field, rpc, element=steps[-1].pick is not None)
    return Fault(text, rpc, side, steps, action, read, conditions)


def _split(text: str) -> tuple[str, str, str, str]:
    target, colon, rest = text.partition(": ")
    if not colon or not rest.strip():
        msg = "a fault reads TARGET: ACTION, as in 'StopContainer: swallow'"
        raise FaultError(msg)
    match = _WHEN.fullmatch(rest.strip())
    what, when = (match[1], match[2]) if match else (rest, "")
    action, _, argument = what.strip().partition(" ")
    return target.strip(), action, argument.strip(), when.strip()


def _target(target: str) -> tuple[RpcDescriptor, str, str]:
    name, _, rest = target.partition(".")
    known = rpcs()
    if name not in known:
        if name in message_sides():
            rpc, side = message_sides()[name]
            return rpc, side, rest
        msg = f"no RPC is called {name!r}{near(name, [*known, *message_sides()])}"
        raise FaultError(msg)
    if not rest:
        return known[name], "call", ""
    side, _, path = rest.partition(".")
    if side not in {"request", "response"}:
        msg = f"behind an RPC comes .request, .response or .stream, not .{side}"
        raise FaultError(msg)
    return known[name], side, path


def _message_argument(rpc: RpcDescriptor, side: str, action: str, argument: str) -> object:
    allowed = MESSAGE_ACTIONS if rpc.streams and side == "response" else {"clear": ""}
    if action not in allowed:
        msg = f"on a whole message of {rpc.name} there is only: {', '.join(allowed)}"
        raise FaultError(msg)
    if bool(argument) != bool(allowed[action]):
        raise FaultError(_wrong_argument(action, allowed[action], argument))
    return parse_time(argument) if argument else None


def _wrong_argument(action: str, kind: str, argument: str) -> str:
    return f"{action} needs a {kind}" if kind else f"{action} takes nothing, so not {argument!r}"


def _call_argument(rpc: RpcDescriptor, action: str, argument: str) -> object:
    kind = CALL_ACTIONS.get(action)
    if kind is None:
        msg = (
            f"no action on an RPC is called {action!r}{near(action, CALL_ACTIONS)}; there are:"
            f" {', '.join(CALL_ACTIONS)}"
        )
        raise FaultError(msg)
    if bool(argument) != bool(kind):
        raise FaultError(_wrong_argument(action, kind, argument))
    if rpc.streams and action in {"twice", "stale", "lagging", "frozen", "after", "delay-answer"}:
        msg = f"{action} does not fit {rpc.name}, whose answer is a stream"
        raise FaultError(msg)
    if action == "cut" and not rpc.streams:
        msg = f"{rpc.name} answers with one message, so there is no stream to cut"
        raise FaultError(msg)
    return {"": lambda _: None, "code": _code, "time": parse_time, "call": _other_call, "number": _count}[
        kind
    ](argument)


def _code(argument: str) -> tuple[grpc.StatusCode, str]:
    name, _, details = argument.partition(" ")
    known = {code.name: code for code in grpc.StatusCode if code is not grpc.StatusCode.OK}
    if name not in known:
        msg = f"no code is called {name!r}{near(name, known)}; there are: {', '.join(known)}"
        raise FaultError(msg)
    return known[name], unquote(details) or "injected fault"


def parse_time(argument: str) -> float:
    """Return a time in seconds from `250ms`, `2s` or `1m`.

    Raises:
        FaultError: the text is not a time.
    """
    match = _TIME.fullmatch(argument)
    if match is None:
        msg = f"{argument!r} is no time: expected for example 250ms or 2s"
        raise FaultError(msg)
    return float(match[1]) * {"ms": 0.001, "s": 1, "m": 60}[match[2]]


def _count(argument: str) -> int:
    if not argument.isdigit():
        msg = f"{argument!r} is no number"
        raise FaultError(msg)
    return int(argument)


def _other_call(argument: str) -> OtherCall:
    name, _, fields = argument.partition(" ")
    if name not in rpcs():
        msg = f"no RPC is called {name!r}{near(name, rpcs())}"
        raise FaultError(msg)
    call = OtherCall(rpcs()[name], fields or "{}")
    try:
        json_format.ParseDict(json.loads(call.fields), call.rpc.request(), ignore_unknown_fields=False)
    except (json.JSONDecodeError, json_format.ParseError) as error:
        if "$re" not in call.fields or isinstance(error, json.JSONDecodeError):
            msg = f"{call.fields} is no {call.rpc.request.DESCRIPTOR.name} written as JSON: {error}"
            raise FaultError(msg) from error
    return call


def _unknown_method_fault(text: str, action: str, argument: str, when: str) -> UnknownMethodFault:
    if action != "error" or when:
        msg = (
            "a method that is not there can only be answered with another error, as in 'unknown-method: error"
            " INTERNAL'"
        )
        raise FaultError(msg)
    return UnknownMethodFault(text, *_code(argument))


def _oci_fault(text: str, document: str, place: str, action: str, argument: str, when: str) -> OciFault:
    if when:
        msg = "faults in what the OCI runtime reads take no conditions"
        raise FaultError(msg)
    operation, of = OCI_DOCUMENTS[document]
    try:
        return OciFault(text, operation, parse_change(place, action, argument, of))
    except ChangeMalformed as error:
        raise FaultError(str(error)) from error


def _stream_fault(text: str, target: str, action: str, argument: str) -> StreamFault:
    name = target.removesuffix("stream").removesuffix(".")
    if name and name not in STREAMING_RPCS:
        msg = f"only {', '.join(STREAMING_RPCS)} have streaming sessions, not {name}"
        raise FaultError(msg)
    return StreamFault(
        text, (name,) if name else STREAMING_RPCS, action, parse_stream_change(action, argument)
    )


__all__ = [
    "LOG_CHANGES",
    "STREAM_CHANGES",
    "AnyFault",
    "BelowFault",
    "CommandFault",
    "Fault",
    "FaultError",
    "LogFault",
    "NetworkFault",
    "OciFault",
    "PluginFault",
    "StreamFault",
    "UnknownMethodFault",
    "is_of_the_network",
    "parse_fault",
    "parse_time",
]
