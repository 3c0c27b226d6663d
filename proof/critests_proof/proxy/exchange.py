"""One call under faults: the changes to its request, to the call itself, and to its response."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, cast

import grpc
from google.protobuf.message import DecodeError, Message

from critests_proof.language.changes import Surroundings
from critests_proof.language.conditions import CallState
from critests_proof.language.descriptors import RpcDescriptor
from critests_proof.language.faults import Fault, OtherCall

EVERYTHING_SECONDS = 10.0
"""Deadline of the proxy's own calls."""


class Answered(Exception):  # the outcome of a fault, not an error of the proxy
    """The call ends with this status code."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code
        self.details = details


class Effect(Protocol):
    """A fault outside messages: it receives the messages of some RPCs, may change them, and counts its
    hits.
    """

    rpcs: frozenset[str]

    def on_request(self, rpc: str, request: Message) -> bool:
        """Process a request before it goes to the runtime; return whether it changed."""

    def on_response(self, rpc: str, request: Message, response: Message) -> bool:
        """Process a response before it goes to the client; return whether it changed."""

    def close(self) -> None:
        """Stop everything that the effect started."""


@dataclass
class ArmedFault:
    """A set fault and its state."""

    fault: Fault
    calls: int = 0
    hits: int = 0
    requests: set[bytes] = field(default_factory=set)
    first: dict[bytes, bytes] = field(default_factory=dict)
    last: dict[bytes, bytes] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, raw: bytes) -> tuple[int, bool]:
        """Count a call; return its number, from 1, and whether an earlier call had the same request."""
        with self.lock:
            self.calls += 1
            repeated = raw in self.requests
            self.requests.add(raw)
            return self.calls, repeated

    def hit(self) -> None:
        """Count a change by the fault."""
        with self.lock:
            self.hits += 1


@dataclass(frozen=True)
class Way:
    """Access to runtime and client during one call.

    Attributes:
        forward: sends the bytes of a request and returns those of the response; raises grpc.RpcError.
        ask: makes an additional call of any RPC.
        gone: set when the client has given up.
        previous: the previous response of this RPC; None before the first.
    """

    forward: Callable[[bytes], bytes]
    ask: Callable[[RpcDescriptor, bytes], bytes]
    gone: threading.Event
    previous: bytes | None


class Exchange:
    """One call of an RPC with faults or effects."""

    def __init__(
        self, rpc: RpcDescriptor, raw: bytes, faults: list[ArmedFault], effects: list[Effect], way: Way
    ) -> None:
        self.rpc = rpc
        self._raw = raw
        self._effects = effects
        self._way = way
        self._sent = self._decode(rpc.request, raw)
        self._counted = [(armed, *armed.count(raw)) for armed in faults]

    def _decode(self, kind: type[Message], raw: bytes) -> Message:
        message = kind()
        try:
            message.ParseFromString(raw)
        except DecodeError as error:
            raise Answered(
                grpc.StatusCode.INTERNAL, f"the proxy cannot decode a {kind.DESCRIPTOR.name}: {error}"
            ) from error
        return message

    def _acting(self, side: str, response: Message | None = None, number: int = 1) -> Iterator[ArmedFault]:
        for armed, nth, repeated in self._counted:
            if armed.fault.side == side and armed.fault.holds(
                CallState(nth, repeated, self._sent, response, number)
            ):
                yield armed

    def request(self) -> bytes:
        """Return the request for the runtime."""
        message = self._decode(self.rpc.request, self._raw)
        changed = False
        for armed in self._acting("request"):
            if armed.fault.change(message, Surroundings(self._sent)):
                armed.hit()
                changed = True
        for effect in self._effects:
            changed |= effect.on_request(self.rpc.name, message)
        return message.SerializeToString() if changed else self._raw

    def before(self) -> None:
        """Apply the faults before the call of the runtime.

        Raises:
            Answered: the call ends here.
        """
        for armed in self._acting("call"):
            match armed.fault.action:
                case "error":
                    armed.hit()
                    raise Answered(*armed.fault.argument)
                case "delay":
                    armed.hit()
                    self._way.gone.wait(armed.fault.argument)
                case "hang":
                    armed.hit()
                    self._way.gone.wait()
                    raise Answered(grpc.StatusCode.CANCELLED, "the client gave up")
                case "before":
                    armed.hit()
                    self._other(armed.fault.argument, None)

    def _other(self, call: OtherCall, response: Message | None) -> None:
        try:
            self._way.ask(call.rpc, call.request(Surroundings(self._sent, response)).SerializeToString())
        except grpc.RpcError as error:
            raise Answered(
                grpc.StatusCode.INTERNAL, f"the fault's own call of {call.rpc.name} failed: {error}"
            ) from error

    def swallowed(self) -> bool:
        """Return whether the call must not reach the runtime."""
        for armed in self._acting("call"):
            if armed.fault.action == "swallow":
                armed.hit()
                return True
        return False

    def unary(self) -> bytes:
        """Make the call and return the response for the client.

        Raises:
            Answered: the client gets an error.
            grpc.RpcError: the runtime returned an error.
        """
        self.before()
        if self.swallowed():
            return b""
        acting = {armed.fault.action: armed for armed in self._acting("call")}
        request = self.request()
        if "twice" in acting:
            acting["twice"].hit()
            self._way.forward(request)
        try:
            answer = self._way.forward(request)
        except grpc.RpcError as error:
            if "stale" in acting and self._way.previous is not None:
                acting["stale"].hit()
                return self.response(self._way.previous)
            self._recode(error)
            raise
        return self.response(self._remembered(acting, answer))

    def _recode(self, error: grpc.RpcError) -> None:
        """Replace the code of a runtime's error.

        Raises:
            Answered: with the new code and the runtime's message.
        """
        ended = cast("grpc.Call", error)
        for armed in self._acting("call"):
            if armed.fault.action == "recode" and ended.code() != armed.fault.argument[0]:
                armed.hit()
                raise Answered(armed.fault.argument[0], ended.details() or "") from error

    def _remembered(self, acting: dict[str, ArmedFault], raw: bytes) -> bytes:
        answer = raw
        for armed, _, _ in self._counted:
            with armed.lock:
                first, last = armed.first.setdefault(self._raw, raw), armed.last.get(self._raw, raw)
                armed.last[self._raw] = raw
            if acting.get(armed.fault.action) is armed:
                old = {"frozen": first, "lagging": last, "stale": self._way.previous}.get(armed.fault.action)
                if old is not None and old != answer:
                    armed.hit()
                    answer = old
        return answer

    def response(self, raw: bytes, number: int = 1) -> bytes:
        """Return a response, or the Nth message of a stream, for the client.

        Raises:
            Answered: the client gets an error.
        """
        true = self._decode(self.rpc.response, raw)
        message = self._decode(self.rpc.response, raw)
        changed = self._after(true, number)
        if changed:
            message.Clear()
        around = Surroundings(self._sent, true, self._everything)
        for armed in self._acting("response", true, number):
            if armed.fault.change(message, around):
                armed.hit()
                changed = True
        for effect in self._effects:
            changed |= effect.on_response(self.rpc.name, self._sent, message)
        return message.SerializeToString() if changed else raw

    def _after(self, true: Message, number: int) -> bool:
        """Apply the faults after the runtime's response; return whether the response must be empty."""
        empty = False
        for armed in self._acting("call", true, number):
            match armed.fault.action:
                case "fail-after":
                    armed.hit()
                    raise Answered(*armed.fault.argument)
                case "delay-answer":
                    armed.hit()
                    self._way.gone.wait(armed.fault.argument)
                case "after":
                    armed.hit()
                    self._other(armed.fault.argument, true)
                case "empty":
                    armed.hit()
                    empty = True
        return empty

    def _everything(self) -> Message | None:
        if self.rpc.streams:
            return None
        try:
            return self._decode(self.rpc.response, self._way.ask(self.rpc, b""))
        except grpc.RpcError:
            return None

    def stream(self, messages: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the messages of a stream for the client.

        Raises:
            Answered: the client gets an error.
            grpc.RpcError: the runtime ended the stream with an error.
        """
        postponed: list[bytes] = []
        try:
            for number, raw in enumerate(messages, start=1):
                if self._is_cut(raw, number):
                    return
                sent = list(self._with_faults(raw, number, postponed))
                yield from sent
                if sent:
                    yield from postponed
                    postponed.clear()
        except grpc.RpcError as error:
            self._recode(error)
            raise
        yield from postponed

    def _is_cut(self, raw: bytes, number: int) -> bool:
        for armed in self._acting("call", self._decode(self.rpc.response, raw), number):
            if armed.fault.action == "cut" and number > armed.fault.argument:
                armed.hit()
                return True
        return False

    def _with_faults(self, raw: bytes, number: int, postponed: list[bytes]) -> Iterator[bytes]:
        """Yield the replacement of one message of a stream; postponed messages are added to `postponed`."""
        decoded = self._decode(self.rpc.response, raw)
        whole = {
            armed.fault.action: armed
            for armed in self._acting("response", decoded, number)
            if not armed.fault.steps
        }
        for action in ("drop", "delay", "postpone", "duplicate"):
            if action in whole:
                whole[action].hit()
        if "drop" in whole:
            return
        if "delay" in whole:
            self._way.gone.wait(whole["delay"].fault.argument)
        message = self.response(raw, number)
        if "postpone" in whole and not postponed:
            postponed.append(message)
            return
        yield message
        if "duplicate" in whole:
            yield self.response(raw, number)


def deadline_of(context: grpc.ServicerContext) -> float | None:
    """Return the remaining seconds of a call; None without a deadline, for which gRPC reports a huge
    number.
    """
    left = context.time_remaining()
    return None if left is None or left > 1e9 else max(left, 0.0)
