"""A CRI server in its own process that does nothing, as fast as possible: a call to it costs what the client
costs.

    python -m critests.benchmark.reference.null_server SOCKET

It gives every call the same small response. It implements HTTP/2 itself because gRPC's server costs more than
its client, so that the server would be measured. It reads nothing of a request, not even the path, and its
responses are so small that they always fit into the client's flow-control windows. It exits and removes its
socket at the end of its standard input, so that it never outlives its parent.

Sources: RFC 9113 (frames, flow control), RFC 7541 (header compression), gRPC over HTTP/2
(length-prefixed messages, trailers).
"""

import base64
import contextlib
import gc
import os
import secrets
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import critests
from critests.benchmark.measuring.client_process import EXPERIMENTS

_READY: Final = "ready"
_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 5.0
_AWAKE_SECONDS: Final = 0.005
"""Time after a call for which the server polls instead of sleeping, so that the next call need not wake it.
"""

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME_HEADER: Final = struct.Struct(">HBBBI")  # length in 16 and 8 bits, type, flags, stream
_RECEIVE_BYTES: Final = 1 << 18
_WINDOW: Final = 65_535  # initial window of a connection, RFC 9113, 6.9.2
_LARGEST_WINDOW: Final = (1 << 31) - 1  # RFC 9113, 6.9.1
_MOST_BYTES: Final = 8_192
"""Size limit of a response: half of the smallest maximum frame size of a client (RFC 9113, 6.5.2)."""

# types of frames, their flags, and a setting, RFC 9113, 6
_DATA, _HEADERS, _SETTINGS, _PING, _WINDOW_UPDATE = 0, 1, 4, 6, 8
_END_STREAM, _ACK, _END_HEADERS = 0x1, 0x1, 0x4
_SET_INITIAL_WINDOW: Final = 4

# :status 200, then one literal each, which the client adds to its dynamic table; later responses use the
# index
_FIRST_HEADERS: Final = (b"\x88\x5f\x10application/grpc", b"\x40\x0bgrpc-status\x010")
_INDEXED_HEADERS: Final = (b"\x88\xbf", b"\xbe")


class NullServerFailed(Exception):
    """The server did not start; the text holds its output."""


class NullServer:
    """A running null server.

    Attributes:
        endpoint: `unix:///…`.
        process: its process.
    """

    def __init__(self, process: "subprocess.Popen[str]", path: Path) -> None:
        self.process = process
        self.endpoint = f"unix://{path}"

    def set_response(self, message: bytes) -> None:
        """Set the response of all further calls to a serialised message of at most 8 KiB.

        Raises:
            ValueError: the message is larger.
            NullServerFailed: the server has exited.
        """
        if len(message) > _MOST_BYTES:
            msg = f"a response of {len(message)} bytes is larger than {_MOST_BYTES}"
            raise ValueError(msg)
        with contextlib.suppress(BrokenPipeError):
            print(base64.b64encode(message).decode(), file=self.process.stdin, flush=True)
        if self.read_line() != _READY:
            raise NullServerFailed("the null server has exited")

    def read_line(self) -> str:
        """Return the next line of its output; empty if it has exited."""
        return self.process.stdout.readline().strip() if self.process.stdout else ""


@contextlib.contextmanager
def null_server(directory: Path) -> Iterator[NullServer]:
    """Run a null server. Between calls in quick succession it polls, if the machine has more than one CPU.

    Args:
        directory: for its socket; short enough for the path of a unix socket (107 bytes).

    Raises:
        NullServerFailed: the server did not start.
    """
    path = directory / f"null-{secrets.token_hex(3)}.sock"
    checkout = str(Path(critests.__file__).resolve().parents[1])
    process = subprocess.Popen(
        [sys.executable, "-m", "critests.benchmark.reference.null_server", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={
            **{name: value for name, value in os.environ.items() if name != EXPERIMENTS},
            "PYTHONPATH": os.pathsep.join(filter(None, (checkout, os.environ.get("PYTHONPATH")))),
        },
        start_new_session=True,  # Ctrl-C must reach only the process that stops the server
    )
    server = NullServer(process, path)
    try:
        watchdog = threading.Timer(_START_SECONDS, process.kill)
        watchdog.start()
        line = server.read_line()
        watchdog.cancel()
        if line != _READY:
            msg = f"the null server did not start: {line or f'it was not ready within {_START_SECONDS:g} s'}"
            raise NullServerFailed(msg)
        yield server
    finally:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        path.unlink(missing_ok=True)


class _Connection:
    """A client's connection."""

    def __init__(self, accepted: socket.socket) -> None:
        self.socket = accepted
        self._received = bytearray()
        self._preface_received = False
        self._headers = _FIRST_HEADERS

    def serve(self, message: bytes) -> bool:
        """Read and answer the received frames; return False when the connection is closed."""
        try:
            content = self.socket.recv(_RECEIVE_BYTES)
            self._received += content
            out = self._initial_frames() + b"".join(self._response_frames(message)) if content else b""
            self.socket.sendall(out)
        except OSError:
            return False
        return bool(content)

    def _initial_frames(self) -> bytes:
        """Return settings with windows that fit all requests, once the client has sent its preface."""
        if self._preface_received or len(self._received) < len(_PREFACE):
            return b""
        del self._received[: len(_PREFACE)]
        self._preface_received = True
        windows = struct.pack(">HI", _SET_INITIAL_WINDOW, _LARGEST_WINDOW)
        more = (_LARGEST_WINDOW - _WINDOW).to_bytes(4, "big")
        return _frame(_SETTINGS, 0, 0, windows) + _frame(_WINDOW_UPDATE, 0, 0, more)

    def _response_frames(self, message: bytes) -> Iterator[bytes]:
        """Yield the responses to all complete received frames, and drop those frames."""
        received, at = bytes(self._received) if self._preface_received else b"", 0
        while len(received) - at >= _FRAME_HEADER.size:
            high, low, kind, flags, number = _FRAME_HEADER.unpack_from(received, at)
            end = at + _FRAME_HEADER.size + (high << 8 | low)
            if end > len(received):
                break
            if kind == _DATA and flags & _END_STREAM:
                before, behind = self._headers
                self._headers = _INDEXED_HEADERS
                yield _frame(_HEADERS, _END_HEADERS, number, before)
                yield _frame(_DATA, 0, number, message)
                yield _frame(_HEADERS, _END_HEADERS | _END_STREAM, number, behind)
            elif kind == _SETTINGS and not flags & _ACK:
                yield _frame(_SETTINGS, _ACK, 0, b"")
            elif kind == _PING and not flags & _ACK:
                yield _frame(_PING, _ACK, 0, received[at + _FRAME_HEADER.size : end])
            at = end
        del self._received[:at]


def _frame(kind: int, flags: int, number: int, content: bytes) -> bytes:
    return _FRAME_HEADER.pack(len(content) >> 8, len(content) & 0xFF, kind, flags, number) + content


def _serve(listener: socket.socket, responses: int) -> None:
    """Serve all connections in this thread until a file descriptor reaches its end; each of its lines is the
    next response in base64.
    """
    polls = len(os.sched_getaffinity(0)) > 1
    message, line, last = bytes(5), bytearray(), -_AWAKE_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(responses, selectors.EVENT_READ)
        while True:
            ready = selector.select(0 if polls and time.monotonic() - last < _AWAKE_SECONDS else None)
            if ready:
                last = time.monotonic()
            for key, _ in ready:
                if key.fileobj is listener:
                    accepted, _ = listener.accept()
                    selector.register(accepted, selectors.EVENT_READ, _Connection(accepted))
                elif key.fd == responses:
                    content = os.read(responses, 1 << 20)
                    if not content:
                        return
                    line += content
                    if line.endswith(b"\n"):
                        response = base64.b64decode(line)
                        message = struct.pack(">BI", 0, len(response)) + response  # not compressed
                        line.clear()
                        print(_READY, flush=True)
                elif not key.data.serve(message):
                    selector.unregister(key.fileobj)
                    key.data.socket.close()


def main() -> None:
    """Serve at the socket named by the argument until SIGTERM, SIGINT, or the end of standard input."""
    path = Path(sys.argv[1])
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    gc.freeze()
    gc.set_threshold(100_000)  # one collection takes as long as many calls
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        try:
            listener.bind(str(path))
        except OSError as error:
            sys.exit(f"cannot listen at {path}: {error.strerror or error}")
        try:
            listener.listen(128)
            print(_READY, flush=True)
            _serve(listener, sys.stdin.fileno())
        finally:
            path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
