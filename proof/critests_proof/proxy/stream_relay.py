"""A fault in streaming sessions: the client gets the URL of a relay, which forwards the bytes and applies the
fault.

WebSocket sessions are parsed frame by frame. Anything else (SPDY, a plain HTTP response) is forwarded
unchanged, except that `reset`, `refuse-upgrade`, `dead-url`, `no-close`, `idle-close` and `hold` with a time
work there as well.
"""

import contextlib
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from critests_proof.language.faults import StreamFault, parse_time
from critests_proof.proxy.relayed_session import RelayedSession, Reset

_CONNECT_SECONDS = 10.0
_CLOSE_SECONDS = 1.0
_LOOK_SECONDS = 0.05
"""Poll interval for the end of a session."""


class StreamEffect:
    """A fault in all streaming sessions whose URLs the runtime returns while it is set."""

    def __init__(self, fault: StreamFault, hit: Callable[[], None]) -> None:
        self.rpcs = frozenset(fault.rpcs)
        self._fault = fault
        self._hit = hit
        self._lock = threading.Lock()
        self._upstreams: dict[str, tuple[str, int, str]] = {}
        self._connections: set[socket.socket] = set()
        self._listener: socket.socket | None = None

    # requests are not changed
    def on_request(self, rpc: str, request: Any) -> bool:  # noqa: ANN401, ARG002 - see above
        """Do not change the request."""
        return False

    # of whichever RPC
    def on_response(self, rpc: str, request: Any, response: Any) -> bool:  # noqa: ANN401, ARG002 - see above
        """Put the relay's address into the URL."""
        url = urlsplit(response.url)
        if url.scheme not in {"", "http", "ws"} or not url.hostname:
            return False
        host, port = self._address()
        target = urlunsplit(("", "", url.path, url.query, ""))
        with self._lock:
            self._upstreams[target] = (url.hostname, url.port or 80, rpc)
        response.url = urlunsplit((url.scheme, f"{host}:{port}", url.path, url.query, ""))
        return True

    def _address(self) -> tuple[str, int]:
        with self._lock:
            if self._listener is None:
                self._listener = socket.create_server(("127.0.0.1", 0))
                if self._fault.action == "dead-url":
                    self._hit()
                    host, port = self._listener.getsockname()
                    self._listener.close()
                    self._listener = None
                    return host, port
                threading.Thread(
                    target=self._accept, args=(self._listener,), daemon=True, name="audit-relay"
                ).start()
            host, port = self._listener.getsockname()
            return host, port

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            self._keep(client)
            threading.Thread(target=self._serve, args=(client,), daemon=True, name="audit-session").start()

    def _keep(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._connections.add(connection)

    def _drop(self, connection: socket.socket) -> None:
        with self._lock:
            self._connections.discard(connection)
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)
        connection.close()

    def _serve(self, client: socket.socket) -> None:
        runtime: socket.socket | None = None
        try:
            head, rest = _read_head(client)
            target = head.split(b" ", 2)[1].decode("latin-1") if head.count(b" ") >= 2 else ""
            with self._lock:
                host, port, rpc = self._upstreams.get(target, ("", 0, ""))
            if host and not self._refused(client):
                runtime = socket.create_connection((host, port), timeout=_CONNECT_SECONDS)
                runtime.settimeout(None)
                self._keep(runtime)
                runtime.sendall(head)
                self._relay(RelayedSession(self._fault, rpc, self._hit), client, runtime, rest)
        except OSError:
            pass  # either side may close at any time; the other one is closed below
        finally:
            if runtime:
                self._drop(runtime)
            self._drop(client)

    def _refused(self, client: socket.socket) -> bool:
        if self._fault.action != "refuse-upgrade":
            return False
        self._hit()
        head = f"HTTP/1.1 {self._fault.argument} Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        client.sendall(head.encode())
        return True

    def _relay(
        self, session: RelayedSession, client: socket.socket, runtime: socket.socket, from_client: bytes
    ) -> None:
        head, from_runtime = _read_head(runtime)
        client.sendall(session.handshake(head))
        over = threading.Event()
        if self._fault.action == "idle-close":
            watching = threading.Thread(
                target=self._until_idle, args=(session, client, runtime, over), daemon=True, name="audit-idle"
            )
            watching.start()
        upward = threading.Thread(
            target=self._upward,
            args=(client, runtime, session, from_client, over),
            daemon=True,
            name="audit-upward",
        )
        upward.start()
        try:
            self._carry(runtime, client, session.down, from_runtime, over)
            if self._fault.action == "no-close":
                self._hit()
                upward.join()
            client.shutdown(socket.SHUT_WR)
            over.set()
            upward.join(5)
            _let_read(client)
        except Reset:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            over.set()
            upward.join(5)  # a close during its recv would not reach the wire
            with self._lock:
                self._connections.discard(client)
            client.close()
        finally:
            over.set()
            upward.join(5)

    def _until_idle(
        self, session: RelayedSession, client: socket.socket, runtime: socket.socket, over: threading.Event
    ) -> None:
        """End a session after neither side has sent data for some time."""
        seconds = parse_time(self._fault.argument)
        while not over.wait(_LOOK_SECONDS):
            if time.monotonic() - session.latest > seconds:
                self._hit()
                for side in (client, runtime):
                    with contextlib.suppress(OSError):
                        side.shutdown(socket.SHUT_RDWR)
                return

    def _upward(
        self,
        client: socket.socket,
        runtime: socket.socket,
        session: RelayedSession,
        first: bytes,
        over: threading.Event,
    ) -> None:
        self._carry(client, runtime, session.up, first, over)
        with contextlib.suppress(OSError):
            runtime.shutdown(socket.SHUT_WR)

    @staticmethod
    def _carry(
        source: socket.socket,
        target: socket.socket,
        change: Callable[[bytes], Iterator[bytes]],
        first: bytes,
        over: threading.Event,
    ) -> None:
        """Forward bytes from one side to the other until the source or the session ends."""
        with contextlib.suppress(OSError, ValueError):
            chunk = first
            while not over.is_set():
                for piece in change(chunk) if chunk else ():
                    target.sendall(piece)
                if select.select([source], [], [], _LOOK_SECONDS)[0]:
                    chunk = source.recv(1 << 16)
                    if not chunk:
                        break
                else:
                    chunk = b""

    def close(self) -> None:
        """End every session, and stop listening."""
        with self._lock:
            listener, self._listener = self._listener, None
            connections = list(self._connections)
        if listener:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _let_read(client: socket.socket) -> None:
    """Wait until the client has closed its side: closing with pending input would discard data in flight."""
    until = time.monotonic() + _CLOSE_SECONDS
    while (left := until - time.monotonic()) > 0 and select.select([client], [], [], left)[0]:
        if not client.recv(1 << 16):
            return


def _read_head(source: socket.socket) -> tuple[bytes, bytes]:
    """Return the head of an HTTP message, and the bytes after it."""
    seen = b""
    while b"\r\n\r\n" not in seen:
        chunk = source.recv(65536)
        if not chunk:
            break
        seen += chunk
    head, end, rest = seen.partition(b"\r\n\r\n")
    return head + end, rest
