"""The socket below a session: TCP or TLS, never blocking longer than a deadline, writing and reading in the
same round.

Reading while writing matters: a command that echoes its input stops taking more of it when nobody takes its
output.
"""

import contextlib
import math
import select
import socket
import ssl
import struct
import time
from urllib.parse import urlsplit

from critests.client.streaming.streaming_errors import CannotConnect

READ_BYTES = 256 * 1024


class Wire:
    """A connected socket with a queue of bytes to be sent.

    Attributes:
        queue: what is still to be sent; what is added goes to its end.
        taken: how many bytes of the queue were given to the peer so far.
        broken: whether the peer takes no more bytes; the queue is dropped then.
        last: whether what is queued is the last; the peer is then told the end of writing (not over TLS,
            which has no half-close).
    """

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._socket.settimeout(0)
        self._poll = select.poll()
        self._early = b""
        self.queue = bytearray()
        self.taken = 0
        self.broken = False
        self.last = False
        self.closed = False

    def push_back(self, data: bytes) -> None:
        """Have the next `turn` return these bytes first."""
        self._early = data + self._early

    def turn(self, until: float) -> bytes | None:
        """Send from the queue and read, whichever is possible first.

        Args:
            until: the monotonic time at which to give up; one in the past takes what is there and does not
                wait.

        Returns:
            What was read; empty if bytes were sent or time is up; None if the peer closed the connection.

        Raises:
            ConnectionError: the peer reset the connection, or TLS failed in the middle of it.
        """
        if self._early:
            early, self._early = self._early, b""
            return early
        if self.closed:
            return None
        if isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            return self._read()
        self._poll.register(self._socket, select.POLLIN | (select.POLLOUT if self.queue else 0))
        ready = self._poll.poll(max(0, math.ceil((until - time.monotonic()) * 1000)))
        events = ready[0][1] if ready else 0
        if events & select.POLLOUT and self.queue:
            self._write()
        return self._read() if events & ~select.POLLOUT else b""

    def _read(self) -> bytes | None:
        try:
            return self._socket.recv(READ_BYTES) or None
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return b""
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
            return None
        except ssl.SSLError as error:
            raise ConnectionResetError(f"TLS failed: {error}") from error
        except ConnectionError:
            raise
        except OSError as error:
            raise ConnectionResetError(f"the connection failed: {error}") from error

    def _write(self) -> None:
        try:
            sent = self._socket.send(bytes(self.queue[:READ_BYTES]))
            del self.queue[:sent]
            self.taken += sent
            if self.last and not self.queue and not isinstance(self._socket, ssl.SSLSocket):
                with contextlib.suppress(OSError):
                    self._socket.shutdown(socket.SHUT_WR)
        except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
            return
        except OSError:
            self.broken = True
            self.queue.clear()

    def close(self) -> None:
        """Close the socket in the ordinary way."""
        self.closed = True
        self._socket.close()

    def reset(self) -> None:
        """Drop the connection with a TCP reset, as a machine that vanishes does when it comes back."""
        if not self.closed:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()


def connect(url: str, until: float) -> Wire:
    """Connect to the address in a session's URL. Every certificate is accepted, since streaming servers sign
    their own.

    Args:
        url: an `http:`, `https:`, `ws:` or `wss:` URL; one without a scheme is taken for `http:`, as crictl
            and the kubelet take it.
        until: the monotonic time at which to give up.

    Raises:
        CannotConnect: the URL names no host, nobody answers there, or TLS failed.
    """
    parts = urlsplit(url)
    secure = parts.scheme in {"https", "wss"}
    if parts.scheme not in {"", "http", "https", "ws", "wss"} or not parts.hostname:
        raise CannotConnect(f"{url!r} is no fully qualified URL of a streaming server")
    try:
        address = (parts.hostname, parts.port or (443 if secure else 80))
        connected = socket.create_connection(address, timeout=max(0.001, until - time.monotonic()))
    except (OSError, ValueError) as error:
        raise CannotConnect(f"cannot connect to the streaming server at {parts.netloc}: {error}") from error
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if secure:
        try:
            connected.settimeout(max(0.001, until - time.monotonic()))
            connected = _trusting().wrap_socket(connected, server_hostname=parts.hostname)
        except OSError as error:
            connected.close()
            raise CannotConnect(f"no TLS with the streaming server at {parts.netloc}: {error}") from error
    return Wire(connected)


def _trusting() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
