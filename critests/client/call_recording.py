"""Records every call: request, response and duration."""

import re
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NoReturn, Self

import grpc
from google.protobuf import json_format
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.client.coverage import CallCoverage
from critests.client.failures import CallNotAllowed, code_of, name_the_rpc, note_the_hang
from critests.client.hangs import Allowance, Hangs, StillHangs
from critests.client.under_way import UnderWay

REDACTED = "[redacted]"
SECRET_FIELDS = ("password", "auth", "identity_token", "registry_token")
MESSAGE_LIMIT_BYTES = 64 * 1024
"""Of a longer message, only type and size are recorded."""
MAX_CALLS = 2000
"""Only the newest calls are stored, so that memory stays bounded in a long run."""
EVENTS = "GetContainerEvents"
CANCELLED_HERE = "cancelled by the suite"
"""Details of a call that the suite has cancelled."""

READING = re.compile(
    r"Version|Status|RuntimeConfig|List\w+|Stream\w+|\w+Status|\w+Stats|ImageFsInfo|GetContainerEvents"
)
"""Names of the RPCs that change nothing, allowed with --read-only."""


@dataclass(frozen=True)
class Call:
    """One finished call.

    Attributes:
        rpc: its name in the service, without the package.
        request: the message that was sent, secrets replaced.
        response: the message that was returned; None if the call failed or was a stream.
        code: name of the gRPC status code, `OK` on success.
        details: the runtime's error message; evidence only, never judged.
        started: seconds since the epoch.
        seconds: duration on the monotonic clock.
        streamed: number of messages of a streaming RPC.
        endpoint: of the runtime, as text; empty for a recorder of one runtime.
    """

    rpc: str
    request: Message
    response: Message | None
    code: str
    details: str
    started: float
    seconds: float
    streamed: int = 0
    endpoint: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the call as plain data, messages bounded in size."""
        return {
            "rpc": self.rpc,
            "started": round(self.started, 6),
            "ms": round(self.seconds * 1000, 3),
            "code": self.code,
            "details": self.details[:4096],
            "streamed": self.streamed,
            "request": _plain(self.request),
            "response": None if self.response is None else _plain(self.response),
        }


AroundCall = Callable[[str, Message, Callable[[], tuple[Message, Any]]], tuple[Message, Any]]
"""Gets the endpoint, the request and a function that makes the call; that may be called more than once."""


class Recorder:
    """Stores the latest calls and counts coverage; safe in several threads.

    Args:
        judge: gets every call that ends and every message of a stream, as a call of its own.
    """

    def __init__(self, judge: Callable[[Call], None] | None = None) -> None:
        self._judge = judge
        self.coverage = CallCoverage()
        self.under_way = UnderWay()
        self._lock = threading.Lock()
        self._calls: deque[Call] = deque(maxlen=MAX_CALLS)
        self._number = 0
        self.around_call: AroundCall = lambda endpoint, request, call: call()  # noqa: ARG005 - replaced as a whole
        """Makes each unary call for which the caller waits, and returns its response and call object."""
        self.outgoing: Callable[[Message], Message] = lambda request: request
        """Returns the request that is sent in place of a unary call's."""

    @property
    def position(self) -> int:
        """The number of calls so far; `since` returns those that follow."""
        return self._number

    def since(self, position: int) -> list[Call]:
        """Return the calls after a position, as far as they are still stored."""
        with self._lock:
            latest = list(islice(reversed(self._calls), max(0, self._number - position)))
        return latest[::-1]

    def add(self, call: Call) -> None:
        """Store a finished call and count what it exercised."""
        with self._lock:
            self._number += 1
            self._calls.append(call)
            self.coverage.add(call.rpc, call.request, call.response)
        self.judge(call)

    def judge(self, call: Call) -> None:
        """Pass a call, or a message of a stream, to the judge."""
        if self._judge is not None:
            self._judge(call)


class _RecordedRpc:
    """An RPC of a stub, with its recorder."""

    # grpcio's own callables have no common public type
    def __init__(self, rpc: str, inner: Any, recorder: Recorder, hangs: Hangs, endpoint: str = "") -> None:  # noqa: ANN401 - see above
        self.rpc = rpc
        self.recorder = recorder
        self.hangs = hangs
        self._endpoint = endpoint
        self._inner = inner

    def recorded(
        self,
        request: Message,
        response: Message | None,
        code: str,
        details: str,
        started: float,
        seconds: float,
        streamed: int = 0,
    ) -> Call:
        """Return one of its calls as it is recorded."""
        return Call(
            self.rpc, redacted(request), response, code, details, started, seconds, streamed, self._endpoint
        )


class RecordedCall(_RecordedRpc):
    """A unary RPC of a stub: sets the deadline if the caller set none, and records the call."""

    def __call__(
        self,
        request: Message,
        timeout: float | None = None,
        metadata: Any = None,  # noqa: ANN401 - grpcio's signature
        **more: Any,  # noqa: ANN401 - grpcio's signature
    ) -> Message:
        """Make the call and wait for its response."""
        return self.with_call(request, timeout, metadata, **more)[0]

    def with_call(
        self,
        request: Message,
        timeout: float | None = None,
        metadata: Any = None,  # noqa: ANN401 - grpcio's signature
        **more: Any,  # noqa: ANN401 - grpcio's signature
    ) -> tuple[Message, Any]:
        """Make the call, wait for it, and return the response with the call object.

        Raises:
            grpc.RpcError: the call failed; `StillHangs` if the RPC hung before, and this call hung too or was
                not made.
        """
        sent = self.recorder.outgoing(request)
        return self.recorder.around_call(
            self._endpoint, sent, lambda: self._once(sent, timeout, metadata, **more)
        )

    def _once(
        self,
        request: Message,
        timeout: float | None,
        metadata: Any,  # noqa: ANN401 - grpcio's signature
        **more: Any,  # noqa: ANN401 - grpcio's signature
    ) -> tuple[Message, Any]:
        allowance = self.hangs.allow(self.rpc, request, timeout)
        under_way = self.recorder.under_way
        under_way.begin()
        started, begin = time.time(), time.perf_counter()
        try:
            response, call = self._inner.with_call(
                request, timeout=allowance.seconds, metadata=metadata, **more
            )
        except grpc.RpcError as error:
            seconds = time.perf_counter() - begin
            if self._failed(request, allowance, error, started, seconds) and allowance.probe:
                raise StillHangs(self.rpc, self.hangs.words(self.rpc)) from error
            raise
        finally:
            under_way.end()
        self._succeeded(request, allowance, response, started, time.perf_counter() - begin)
        return response, call

    def future(
        self,
        request: Message,
        timeout: float | None = None,
        metadata: Any = None,  # noqa: ANN401 - grpcio's signature
        **more: Any,  # noqa: ANN401 - grpcio's signature
    ) -> Any:  # noqa: ANN401 - grpcio's signature
        """Make the call without waiting; it is recorded when it ends."""
        request = self.recorder.outgoing(request)
        allowance = self.hangs.allow(self.rpc, request, timeout)
        self.recorder.under_way.begin()
        started, begin = time.time(), time.perf_counter()
        pending = self._inner.future(request, timeout=allowance.seconds, metadata=metadata, **more)

        def record(done: Any) -> None:  # noqa: ANN401 - grpcio's future
            seconds = time.perf_counter() - begin
            self.recorder.under_way.end()
            if done.cancelled():
                self.recorder.add(self.recorded(request, None, "CANCELLED", CANCELLED_HERE, started, seconds))
            elif (error := done.exception()) is not None:
                self._failed(request, allowance, error, started, seconds)
            else:
                self._succeeded(request, allowance, done.result(), started, seconds)

        pending.add_done_callback(record)
        return pending

    def _succeeded(
        self, request: Message, allowance: Allowance, response: Message, started: float, seconds: float
    ) -> None:
        if allowance.probe:
            self.hangs.ended(self.rpc, allowance, None, seconds)
        self.recorder.add(self.recorded(request, response, "OK", "", started, seconds))

    def _failed(
        self, request: Message, allowance: Allowance, error: grpc.RpcError, started: float, seconds: float
    ) -> bool:
        """Record a call that failed, and return whether it hung."""
        name_the_rpc(error, self.rpc)
        self.recorder.add(self.recorded(request, None, *code_of(error), started, seconds))
        hung = self.hangs.ended(self.rpc, allowance, error.code(), seconds)
        if hung:
            note_the_hang(error, seconds)
        return hung


class RecordedStream(_RecordedRpc):
    """A server-streaming RPC of a stub: sets the deadline and records how many messages were received."""

    def __call__(
        self,
        request: Message,
        timeout: float | None = None,
        metadata: Any = None,  # noqa: ANN401 - grpcio's signature
        **more: Any,  # noqa: ANN401 - grpcio's signature
    ) -> "RecordedMessages":
        """Open the stream; iterate over the returned messages."""
        allowance = self.hangs.allow(self.rpc, request, timeout)
        # before the call is sent: an object that is removed after this may still be in the messages
        started, begin = time.time(), time.perf_counter()
        call = self._inner(request, timeout=allowance.seconds, metadata=metadata, **more)
        return RecordedMessages(self, request, call, allowance, started, begin)


class RecordedMessages:
    """The messages of a stream, as they arrive; `cancel()` ends it from this side."""

    # grpcio's call object has no public type
    def __init__(
        self,
        rpc: RecordedStream,
        request: Message,
        call: Any,  # noqa: ANN401 - see above
        allowance: Allowance,
        started: float,
        begin: float,
    ) -> None:
        self._rpc = rpc
        self._allowance = allowance
        self._request = request
        self._call = call
        self._started, self._begin = started, begin
        self._count = 0
        self._done = False

    def __iter__(self) -> Iterator[Message]:
        return self

    def __next__(self) -> Message:
        self._rpc.recorder.under_way.begin()
        try:
            message: Message = next(self._call)
        except StopIteration:
            self._note(None)
            self._record("OK", "")
            raise
        except grpc.RpcError as error:
            name_the_rpc(error, self._rpc.rpc)
            if self._note(error.code()):
                note_the_hang(error, time.perf_counter() - self._begin)
            self._record(*code_of(error))
            raise
        finally:
            self._rpc.recorder.under_way.end()
        if not self._count:
            self._note(None)
        self._count += 1
        self._rpc.recorder.coverage.add(self._rpc.rpc, self._request, message)
        seconds = time.perf_counter() - self._begin
        call = self._rpc.recorded(self._request, message, "OK", "", self._started, seconds)
        self._rpc.recorder.judge(call)
        return message

    def _note(self, code: grpc.StatusCode | None) -> bool:
        """Note whether the first message arrived; a stream of events is silent while nothing happens."""
        if self._count or self._rpc.rpc == EVENTS:
            return False
        return self._rpc.hangs.ended(self._rpc.rpc, self._allowance, code, time.perf_counter() - self._begin)

    def cancel(self) -> None:
        """End the stream from this side."""
        self._call.cancel()
        self._record("CANCELLED", CANCELLED_HERE)

    def _record(self, code: str, details: str) -> None:
        if not self._done:
            self._done = True
            seconds = time.perf_counter() - self._begin
            call = self._rpc.recorded(self._request, None, code, details, self._started, seconds, self._count)
            self._rpc.recorder.add(call)


class RecordingChannel(grpc.Channel):
    """A channel whose calls are recorded; pass it to the generated stubs."""

    def __init__(
        self,
        inner: grpc.Channel,
        recorder: Recorder,
        hangs: Hangs,
        *,
        read_only: bool = False,
        endpoint: str = "",
    ) -> None:
        self._read_only = read_only
        self._endpoint = endpoint
        self._inner = inner
        self._recorder = recorder
        self._hangs = hangs

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - grpcio's signature
        """Return a recorded unary call."""
        if self._read_only and not READING.fullmatch(rpc_name(method)):
            return _NotAllowed(rpc_name(method))
        return RecordedCall(
            rpc_name(method),
            self._inner.unary_unary(method, *args, **kwargs),
            self._recorder,
            self._hangs,
            self._endpoint,
        )

    # grpcio's signature
    def unary_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - see above
        """Return a recorded server-streaming call."""
        return RecordedStream(
            rpc_name(method),
            self._inner.unary_stream(method, *args, **kwargs),
            self._recorder,
            self._hangs,
            self._endpoint,
        )

    # grpcio's signature
    def stream_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - see above
        """Return a client-streaming call; the CRI has none."""
        return self._inner.stream_unary(method, *args, **kwargs)

    # grpcio's signature
    def stream_stream(self, method: str, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - see above
        """Return a two-way streaming call; the CRI has none."""
        return self._inner.stream_stream(method, *args, **kwargs)

    # grpcio's signature
    def subscribe(self, callback: Any, try_to_connect: bool = False) -> None:  # noqa: ANN401, FBT001, FBT002 - see above
        """Subscribe to the state of the connection."""
        self._inner.subscribe(callback, try_to_connect)

    def unsubscribe(self, callback: Any) -> None:  # noqa: ANN401 - grpcio's signature
        """Cancel a subscription."""
        self._inner.unsubscribe(callback)

    def close(self) -> None:
        """Close the connection."""
        self._inner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _NotAllowed:
    """A call that is not sent."""

    def __init__(self, rpc: str) -> None:
        self._rpc = rpc

    def __call__(self, *_: object, **__: object) -> NoReturn:
        msg = f"{self._rpc} may change something, and the run is --read-only"
        raise CallNotAllowed(msg)

    with_call = future = __call__


def rpc_name(method: str) -> str:
    """Return `Version` for `/runtime.v1.RuntimeService/Version`."""
    return method.rsplit("/", 1)[-1]


def redacted(message: Message) -> Message:
    """Return a message that may be written to a file: the same one, or a copy without the secrets of its
    AuthConfig.

    A test that sends raw bytes (an unknown method, an unknown field) has no message; the bytes are returned
    unchanged.
    """
    if not isinstance(message, cri.PullImageRequest) or not message.HasField("auth"):
        return message
    copy = cri.PullImageRequest()
    copy.CopyFrom(message)
    for name in SECRET_FIELDS:
        if getattr(copy.auth, name):
            setattr(copy.auth, name, REDACTED)
    return copy


def _plain(message: Message | bytes) -> Any:  # noqa: ANN401 - JSON data
    if isinstance(message, bytes):
        return {"bytes": message[:1024].hex()}
    size = message.ByteSize()
    if size > MESSAGE_LIMIT_BYTES:
        return {"left out": f"{type(message).__name__} of {size} bytes"}
    return json_format.MessageToDict(message, preserving_proto_field_name=True)
