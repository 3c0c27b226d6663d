"""A CRI server in a process of its own that does nothing, as fast as it can: what it takes to be asked is
what asking costs.

    python -m critests.benchmark.reference.null_server SOCKET

It gives every call the same small answer. Its HTTP/2 is written by hand because gRPC's own server costs more
than its client: what is measured against it would be the server. Nothing in a request is read, its path
neither, and answers are so small that the client's windows are always open for them. It ends when its
standard input ends, so that it never outlives the process that started it, and takes its socket with it.

Sources: RFC 9113 (frames, flow control), RFC 7541 (the headers of an answer), gRPC over HTTP/2
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
"""So long after a call the server does not sleep, so that nobody has to wait until it was woken."""

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME_HEADER: Final = struct.Struct(">HBBBI")  # length in 16 and 8 bits, type, flags, stream
_RECEIVE_BYTES: Final = 1 << 18
_WINDOW: Final = 65_535
_LARGEST_WINDOW: Final = (1 << 31) - 1
_MOST_BYTES: Final = 8_192
"""Of an answer: half of the smallest frame that a client takes."""

_DATA, _HEADERS, _SETTINGS, _PING, _WINDOW_UPDATE = 0, 1, 4, 6, 8
_END_STREAM, _ACK, _END_HEADERS = 0x1, 0x1, 0x4
_SET_INITIAL_WINDOW: Final = 4

# status 200, then a literal each; remembered by the client when sent the first time, and then by its place
_TEACHING: Final = (b"\x88\x5f\x10application/grpc", b"\x40\x0bgrpc-status\x010")
_TAUGHT: Final = (b"\x88\xbf", b"\xbe")


class NullServerFailed(Exception):
    """The server did not start; the text says what it said."""


class NullServer:
    """A running null server.

    Attributes:
        endpoint: `unix:///…`.
        process: in which it runs.
    """

    def __init__(self, process: "subprocess.Popen[str]", path: Path) -> None:
        self.process = process
        self.endpoint = f"unix://{path}"

    def answer(self, message: bytes) -> None:
        """Answer every call from now on with a serialised message of at most 8 KiB.

        Raises:
            ValueError: it is larger.
            NullServerFailed: the server has ended.
        """
        if len(message) > _MOST_BYTES:
            msg = f"an answer of {len(message)} bytes is larger than {_MOST_BYTES}"
            raise ValueError(msg)
        with contextlib.suppress(BrokenPipeError):
            print(base64.b64encode(message).decode(), file=self.process.stdin, flush=True)
        if self.said() != _READY:
            raise NullServerFailed("the null server has ended")

    def said(self) -> str:
        """Return the next line of its output; empty where it has ended."""
        return self.process.stdout.readline().strip() if self.process.stdout else ""


@contextlib.contextmanager
def null_server(directory: Path) -> Iterator[NullServer]:
    """Run a null server. It stays awake between calls that follow each other closely, where the machine has
    more than one processor.

    Args:
        directory: where its socket goes; short enough for the path of a unix socket (107 bytes).

    Raises:
        NullServerFailed: it did not start.
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
        start_new_session=True,  # Ctrl-C is for the process that will stop it
    )
    server = NullServer(process, path)
    try:
        late = threading.Timer(_START_SECONDS, process.kill)
        late.start()
        said = server.said()
        late.cancel()
        if said != _READY:
            msg = f"the null server did not start: {said or f'it was not ready within {_START_SECONDS:g} s'}"
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
        self._greeted = False
        self._headers = _TEACHING

    def serve(self, message: bytes) -> bool:
        """Read what came and answer it; return False when the connection is over."""
        try:
            content = self.socket.recv(_RECEIVE_BYTES)
            self._received += content
            out = self._greeting() + b"".join(self._answers(message)) if content else b""
            self.socket.sendall(out)
        except OSError:
            return False
        return bool(content)

    def _greeting(self) -> bytes:
        """Return settings and windows in which all requests fit, once the client has sent its preface."""
        if self._greeted or len(self._received) < len(_PREFACE):
            return b""
        del self._received[: len(_PREFACE)]
        self._greeted = True
        windows = struct.pack(">HI", _SET_INITIAL_WINDOW, _LARGEST_WINDOW)
        more = (_LARGEST_WINDOW - _WINDOW).to_bytes(4, "big")
        return _frame(_SETTINGS, 0, 0, windows) + _frame(_WINDOW_UPDATE, 0, 0, more)

    def _answers(self, message: bytes) -> Iterator[bytes]:
        """Return what the whole frames that have come are to be answered with, and forget them."""
        received, at = bytes(self._received) if self._greeted else b"", 0
        while len(received) - at >= _FRAME_HEADER.size:
            high, low, kind, flags, number = _FRAME_HEADER.unpack_from(received, at)
            end = at + _FRAME_HEADER.size + (high << 8 | low)
            if end > len(received):
                break
            if kind == _DATA and flags & _END_STREAM:
                before, behind = self._headers
                self._headers = _TAUGHT
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


def _serve(listener: socket.socket, orders: int) -> None:
    """Answer every connection, in this thread, until a file descriptor has nothing more to read; each of its
    lines is the next answer in base64.
    """
    awake = len(os.sched_getaffinity(0)) > 1
    message, line, last = bytes(5), bytearray(), -_AWAKE_SECONDS
    with selectors.DefaultSelector() as selector:
        selector.register(listener, selectors.EVENT_READ)
        selector.register(orders, selectors.EVENT_READ)
        while True:
            ready = selector.select(0 if awake and time.monotonic() - last < _AWAKE_SECONDS else None)
            if ready:
                last = time.monotonic()
            for key, _ in ready:
                if key.fileobj is listener:
                    accepted, _ = listener.accept()
                    selector.register(accepted, selectors.EVENT_READ, _Connection(accepted))
                elif key.fd == orders:
                    content = os.read(orders, 1 << 20)
                    if not content:
                        return
                    line += content
                    if line.endswith(b"\n"):
                        answer = base64.b64decode(line)
                        message = struct.pack(">BI", 0, len(answer)) + answer  # not compressed
                        line.clear()
                        print(_READY, flush=True)
                elif not key.data.serve(message):
                    selector.unregister(key.fileobj)
                    key.data.socket.close()


def main() -> None:
    """Serve at the socket that is named until SIGTERM or SIGINT, or until the standard input ends."""
    path = Path(sys.argv[1])
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    gc.freeze()
    gc.set_threshold(100_000)  # a collection takes as long as many calls
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
