"""One HTTP/2 connection of the null server: frames in, frames out, with as little between them as Python
allows.

It is written by hand because gRPC's own server costs more than its client: what is measured against it would
be the server. As every call has the same answer, nothing in a request is read, its path neither.
Sources: RFC 9113 (frames, flow control), RFC 7541 (the headers of an answer), gRPC over HTTP/2
(length-prefixed messages, trailers).
"""

import socket
import struct
from collections import deque
from dataclasses import dataclass, field
from typing import Final

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME_HEADER: Final = struct.Struct(">HBBBI")  # length in 16 and 8 bits, type, flags, stream
_MESSAGE_HEADER: Final = struct.Struct(">BI")  # compressed or not, length
_SETTING: Final = struct.Struct(">HI")
_RECEIVE_BYTES: Final = 1 << 18
_WINDOW: Final = 65_535
_LARGEST_WINDOW: Final = (1 << 31) - 1
_FRAME_BYTES: Final = 16_384

_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _WINDOW_UPDATE = 0, 1, 3, 4, 6, 8
_END_STREAM, _ACK, _END_HEADERS = 0x1, 0x1, 0x4
_SET_INITIAL_WINDOW, _SET_FRAME_BYTES = 4, 5

# status 200, then a literal each; remembered by the client when sent the first time, and then by its place
_CONTENT_TYPE: Final = b"\x10application/grpc"
_GRPC_STATUS_0: Final = b"\x0bgrpc-status\x010"
_PLAIN: Final = (b"\x88\x0f\x10" + _CONTENT_TYPE, b"\x00" + _GRPC_STATUS_0)
_TEACHING: Final = (b"\x88\x5f" + _CONTENT_TYPE, b"\x40" + _GRPC_STATUS_0)
_TAUGHT: Final = (b"\x88\xbf", b"\xbe")


@dataclass(slots=True)
class _Call:
    """A call that is under way."""

    window: int
    waiting: deque[memoryview] = field(default_factory=deque)
    """Data that no window was open for."""
    trailers: bytes = b""
    """What goes behind the data, once there is no more."""


class CannedAnswer:
    """The messages that answer every call.

    Attributes:
        data: the messages as they go over the wire.
    """

    def __init__(self) -> None:
        self.set([b""])

    def set(self, messages: list[bytes]) -> None:
        """Answer with these serialised messages from now on."""
        self.data = b"".join(_MESSAGE_HEADER.pack(0, len(message)) + message for message in messages)


class NullConnection:
    """A client's connection.

    Attributes:
        socket: not blocking.
    """

    def __init__(self, accepted: socket.socket, answer: CannedAnswer) -> None:
        self.socket = accepted
        self._answer = answer
        self._calls: dict[int, _Call] = {}
        self._received = bytearray()
        self._greeted = False
        self._window = _WINDOW
        self._call_window = _WINDOW
        self._frame_bytes = _FRAME_BYTES
        self._consumed = 0
        self._taught = False
        self._out = bytearray()

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
        if not self._greeted:
            if len(self._received) < len(_PREFACE):
                return True
            if not self._received.startswith(_PREFACE):
                return False
            self._greet()
        self._frames()
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
        return True

    def _greet(self) -> None:
        del self._received[: len(_PREFACE)]
        self._greeted = True
        self._send(_SETTINGS, 0, 0, _SETTING.pack(_SET_INITIAL_WINDOW, _LARGEST_WINDOW))
        self._open_window(_LARGEST_WINDOW - _WINDOW)

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
            self._calls[number] = _Call(self._call_window)
        elif kind == _SETTINGS and not flags & _ACK:
            self._settings(content)
        elif kind == _PING and not flags & _ACK:
            self._send(_PING, _ACK, 0, content)
        elif kind == _WINDOW_UPDATE:
            self._window_update(number, int.from_bytes(content, "big") & _LARGEST_WINDOW)
        elif kind == _RST_STREAM:
            self._calls.pop(number, None)

    def _data(self, flags: int, number: int, content: bytes) -> None:
        self._consumed += len(content)
        if self._consumed > _LARGEST_WINDOW // 2:
            self._open_window(self._consumed)
            self._consumed = 0
        call = self._calls.get(number)
        if call is not None and flags & _END_STREAM:
            self._respond(number, call)

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

    def _respond(self, number: int, call: _Call) -> None:
        """Send the answer and the end of the call, in one piece where the windows allow it."""
        data = self._answer.data
        if data:
            call.waiting.append(memoryview(data))
        if not self._taught and len(data) <= min(call.window, self._window):
            # headers and trailers leave together, so what they teach the client is known to it before the
            # next call's
            (before, call.trailers), self._taught = _TEACHING, True
        else:
            before, call.trailers = _TAUGHT if self._taught else _PLAIN
        self._send(_HEADERS, _END_HEADERS, number, before)
        self._pour(number, call)

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
            self._calls.pop(number, None)

    def _send(self, kind: int, flags: int, number: int, content: "bytes | memoryview") -> None:
        self._out += _FRAME_HEADER.pack(len(content) >> 8, len(content) & 0xFF, kind, flags, number)
        self._out += content
