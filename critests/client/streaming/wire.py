"""The socket of a session: TCP or TLS. It never blocks longer than a deadline, and writes and reads in the
same round.

Reading while writing is necessary: a command that echoes its input stops reading it while its output is not
read.
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
        queue: bytes still to be sent; append to it to send.
        taken: how many bytes of the queue were sent so far.
        broken: whether the peer accepts no more bytes; the queue is discarded then.
        last: whether to shut down the sending direction after the queue (not over TLS, which has no
            half-close).
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
        """Make the next `turn` return these bytes first."""
        self._early = data + self._early

    def turn(self, until: float) -> bytes | None:
        """Send from the queue and read, whichever is possible first.

        Args:
            until: the monotonic time of the deadline; one in the past does not wait.

        Returns:
            What was read; empty if bytes were sent or the deadline passed; None if the peer closed the
            connection.

        Raises:
            ConnectionError: the peer reset the connection, or TLS failed.
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
        """Close the socket."""
        self.closed = True
        self._socket.close()

    def reset(self) -> None:
        """Drop the connection with a TCP reset, like a machine that crashed and restarted."""
        if not self.closed:
            # with a linger time of 0, close(2) sends RST instead of FIN
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()


def connect(url: str, until: float) -> Wire:
    """Connect to the address in a session's URL. Every certificate is accepted, since streaming servers sign
    their own.

    Args:
        url: an `http:`, `https:`, `ws:` or `wss:` URL; one without a scheme means `http:`, as for crictl and
            the kubelet.
        until: the monotonic time of the deadline.

    Raises:
        CannotConnect: the URL names no host, nothing listens there, or TLS failed.
    """
    parts = urlsplit(url)
    secure = parts.scheme in {"https", "wss"}
    if parts.scheme not in {"", "http", "https", "ws", "wss"} or not parts.hostname:
        raise CannotConnect(f"{url!r} is no fully qualified URL of a streaming server")
    try:
        address = (parts.hostname, parts.port or (443 if secure else 80))
        # a timeout of 0 would make the socket non-blocking
        connected = socket.create_connection(address, timeout=max(0.001, until - time.monotonic()))
    except (OSError, ValueError) as error:
        raise CannotConnect(f"cannot connect to the streaming server at {parts.netloc}: {error}") from error
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if secure:
        try:
            connected.settimeout(max(0.001, until - time.monotonic()))
            connected = _tls_without_verification().wrap_socket(connected, server_hostname=parts.hostname)
        except OSError as error:
            connected.close()
            raise CannotConnect(f"no TLS with the streaming server at {parts.netloc}: {error}") from error
    return Wire(connected)


def _tls_without_verification() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
