"""One HTTP/2 connection of the null server: frames in, frames out, with as little between them as Python
allows.

It is written by hand because gRPC's own server costs more than its client: what is measured against it would
be the server.
Sources: RFC 9113 (frames, flow control), gRPC over HTTP/2 (length-prefixed messages, trailers).
"""

import socket
import struct
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

import grpc

from critests.benchmark.floors.null_server.answers import NullAnswers, Refused
from critests.benchmark.floors.null_server.headers import (
    PLAIN_HEADERS,
    TAUGHT_HEADERS,
    TEACHING_HEADERS,
    HeadersNotUnderstood,
    PathReader,
    failure_headers,
)

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME_HEADER: Final = struct.Struct(">HBBBI")  # length in 16 and 8 bits, type, flags, stream
_MESSAGE_HEADER: Final = struct.Struct(">BI")  # compressed or not, length
_SETTING: Final = struct.Struct(">HI")
_RECEIVE_BYTES: Final = 1 << 18
_WINDOW: Final = 65_535
_LARGEST_WINDOW: Final = (1 << 31) - 1
_FRAME_BYTES: Final = 16_384

_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE, _CONTINUATION = (
    0,
    1,
    3,
    4,
    6,
    7,
    8,
    9,
)
_END_STREAM, _ACK, _END_HEADERS, _PADDED, _PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
_SET_INITIAL_WINDOW, _SET_FRAME_BYTES = 4, 5
_PRIORITY_BYTES: Final = 5
_COMPRESSION_ERROR, _PROTOCOL_ERROR = 9, 1


@dataclass(slots=True)
class _Call:
    """A call that is under way."""

    path: str
    request: bytearray = field(default_factory=bytearray)
    window: int = _WINDOW
    waiting: deque[memoryview] = field(default_factory=deque)
    """Data that no window was open for."""
    trailers: bytes = b""
    """What goes behind the data, once there is no more."""
    listener: Callable[[bytes], None] | None = None


class NullConnection:
    """A client's connection.

    Attributes:
        socket: not blocking.
        unsent: whether something waits for the socket to take it.
    """

    def __init__(self, accepted: socket.socket, answers: NullAnswers) -> None:
        self.socket = accepted
        self._answers = answers
        self._paths = PathReader()
        self._calls: dict[int, _Call] = {}
        self._received = bytearray()
        self._greeted = False
        self._headers: tuple[int, int, bytearray] | None = None
        self._window = _WINDOW
        self._call_window = _WINDOW
        self._frame_bytes = _FRAME_BYTES
        self._consumed = 0
        self._taught = False
        self._out = bytearray()
        self._lost = False

    @property
    def unsent(self) -> bool:
        """Whether something waits for the socket to take it."""
        return bool(self._out)

    def readable(self) -> bool:
        """Read what came and answer it; return False when the connection is over."""
        try:
            content = self.socket.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not content:
            return False
        self._received += content
        if not self._greeted and not self._greet():
            return len(self._received) < len(_PREFACE)
        try:
            self._frames()
        except HeadersNotUnderstood as error:
            self._send(_GOAWAY, 0, 0, struct.pack(">II", 0, _COMPRESSION_ERROR) + str(error).encode())
            self._lost = True
        except (IndexError, struct.error):
            self._send(_GOAWAY, 0, 0, struct.pack(">II", 0, _PROTOCOL_ERROR) + b"a frame is damaged")
            self._lost = True
        return self.flush()

    def flush(self) -> bool:
        """Send what the socket takes; return False when the connection is over."""
        try:
            while self._out:
                del self._out[: self.socket.send(self._out)]
        except BlockingIOError:
            pass
        except OSError:
            return False
        return not self._lost

    def close(self) -> None:
        """End it and forget its calls."""
        for number in list(self._calls):
            self._end(number)
        self.socket.close()

    def _greet(self) -> bool:
        if not self._received.startswith(_PREFACE):
            return False
        del self._received[: len(_PREFACE)]
        self._greeted = True
        self._send(_SETTINGS, 0, 0, _SETTING.pack(_SET_INITIAL_WINDOW, _LARGEST_WINDOW))
        self._open_window(_LARGEST_WINDOW - _WINDOW)
        return True

    def _open_window(self, size: int) -> None:
        """Let the client send more on this connection; a single call has more room than it will use."""
        self._send(_WINDOW_UPDATE, 0, 0, size.to_bytes(4, "big"))

    def _frames(self) -> None:
        received, at = bytes(self._received), 0
        while len(received) - at >= _FRAME_HEADER.size:
            high, low, kind, flags, number = _FRAME_HEADER.unpack_from(received, at)
            end = at + _FRAME_HEADER.size + (high << 8 | low)
            if end > len(received):
                break
            self._frame(kind, flags, number & _LARGEST_WINDOW, received[at + _FRAME_HEADER.size : end])
            at = end
        del self._received[:at]

    def _frame(self, kind: int, flags: int, number: int, content: bytes) -> None:
        if kind == _DATA:
            self._data(flags, number, content)
        elif kind == _HEADERS:
            self._headers_begin(
                flags, number, _without_padding(flags, content)[_PRIORITY_BYTES if flags & _PRIORITY else 0 :]
            )
        elif kind == _CONTINUATION and self._headers:
            self._headers[2].extend(content)
            self._headers_end(flags)
        elif kind == _SETTINGS and not flags & _ACK:
            self._settings(content)
        elif kind == _PING and not flags & _ACK:
            self._send(_PING, _ACK, 0, content)
        elif kind == _WINDOW_UPDATE:
            self._window_update(number, int.from_bytes(content, "big") & _LARGEST_WINDOW)
        elif kind == _RST_STREAM:
            self._end(number)

    def _headers_begin(self, flags: int, number: int, block: bytes) -> None:
        self._headers = (number, flags, bytearray(block))
        self._headers_end(flags)

    def _headers_end(self, flags: int) -> None:
        if not flags & _END_HEADERS or self._headers is None:
            return
        number, begun, block = self._headers
        self._headers = None
        self._calls[number] = _Call(self._paths.path(bytes(block)), window=self._call_window)
        if begun & _END_STREAM:
            self._answer(number)

    def _data(self, flags: int, number: int, content: bytes) -> None:
        self._consumed += len(content)
        if self._consumed > _LARGEST_WINDOW // 2:
            self._open_window(self._consumed)
            self._consumed = 0
        call = self._calls.get(number)
        if call is not None:
            call.request += _without_padding(flags, content)
            if flags & _END_STREAM:
                self._answer(number)

    def _settings(self, content: bytes) -> None:
        for name, value in _SETTING.iter_unpack(content):
            if name == _SET_INITIAL_WINDOW:
                for call in self._calls.values():
                    call.window += value - self._call_window
                self._call_window = value
            elif name == _SET_FRAME_BYTES:
                self._frame_bytes = value
        self._send(_SETTINGS, _ACK, 0, b"")

    def _window_update(self, number: int, size: int) -> None:
        if number:
            call = self._calls.get(number)
            if call is not None:
                call.window += size
                self._pour(number, call)
            return
        self._window += size
        for waiting, call in list(self._calls.items()):
            self._pour(waiting, call)

    def _answer(self, number: int) -> None:
        call = self._calls[number]
        name = call.path.rpartition("/")[2]
        request = bytes(call.request[_MESSAGE_HEADER.size :])
        try:
            if name in self._answers.unary:
                self._respond(number, call, [self._answers.unary[name](request)])
            elif name in self._answers.streams:
                self._respond(number, call, self._answers.streams[name](request))
            elif name == "GetContainerEvents":
                self._listen(number, call)
            else:
                self._refuse(number, grpc.StatusCode.UNIMPLEMENTED, f"unknown method {call.path}")
        except Refused as refused:
            self._refuse(number, refused.code, refused.details)

    def _respond(self, number: int, call: _Call, messages: Iterable[bytes]) -> None:
        """Send messages and the end of the call, in one piece where the windows allow it."""
        call.waiting.extend(
            memoryview(_MESSAGE_HEADER.pack(0, len(message)) + message) for message in messages
        )
        if not self._taught and sum(map(len, call.waiting)) <= min(call.window, self._window):
            # headers and trailers leave together, so what they teach the client is known to it before the
            # next call's
            (before, call.trailers), self._taught = TEACHING_HEADERS, True
        else:
            before, call.trailers = TAUGHT_HEADERS if self._taught else PLAIN_HEADERS
        self._send(_HEADERS, _END_HEADERS, number, before)
        self._pour(number, call)

    def _refuse(self, number: int, code: grpc.StatusCode, details: str) -> None:
        self._send(_HEADERS, _END_HEADERS | _END_STREAM, number, failure_headers(code.value[0], details))
        self._end(number)

    def _listen(self, number: int, call: _Call) -> None:
        """Leave a call open, to which every event goes."""
        self._send(_HEADERS, _END_HEADERS, number, PLAIN_HEADERS[0])

        def tell(event: bytes) -> None:
            call.waiting.append(memoryview(_MESSAGE_HEADER.pack(0, len(event)) + event))
            self._pour(number, call)
            self.flush()

        call.listener = tell
        self._answers.listeners.append(tell)

    def _pour(self, number: int, call: _Call) -> None:
        """Send data of a call as far as the windows reach, and its end behind the last of it."""
        waiting = call.waiting
        while waiting:
            content = waiting[0]
            room = min(call.window, self._window, self._frame_bytes)
            if room < 1:
                return
            if len(content) <= room:
                waiting.popleft()
            else:
                waiting[0], content = content[room:], content[:room]
            call.window -= len(content)
            self._window -= len(content)
            self._send(_DATA, 0, number, content)
        if call.trailers:
            self._send(_HEADERS, _END_HEADERS | _END_STREAM, number, call.trailers)
            self._end(number)

    def _end(self, number: int) -> None:
        call = self._calls.pop(number, None)
        if call is not None and call.listener is not None:
            self._answers.listeners.remove(call.listener)

    def _send(self, kind: int, flags: int, number: int, content: "bytes | memoryview") -> None:
        self._out += _FRAME_HEADER.pack(len(content) >> 8, len(content) & 0xFF, kind, flags, number)
        self._out += content


def _without_padding(flags: int, content: bytes) -> bytes:
    return content[1 : len(content) - content[0]] if flags & _PADDED else content
