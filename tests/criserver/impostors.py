"""Sockets that are no CRI server: with another protocol, without any response, and one that closes
connections.
"""

import contextlib
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

Respond = Callable[[socket.socket], None]


def _talks_http1(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    connection.close()


def _closes(connection: socket.socket) -> None:
    connection.close()


def _sends_nothing(connection: socket.socket) -> None:
    """Leave the connection open; it is closed with the socket."""


@contextlib.contextmanager
def _impostor(respond: Respond) -> Iterator[str]:
    directory = Path(tempfile.mkdtemp(prefix="impostor-"))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(directory / "cri.sock"))
    listener.listen()
    connections: list[socket.socket] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connections.append(connection)
            with contextlib.suppress(OSError):
                respond(connection)

    acceptor = threading.Thread(target=accept, daemon=True)
    acceptor.start()
    try:
        yield f"unix://{directory / 'cri.sock'}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        acceptor.join(5)
        for connection in connections:
            connection.close()
        shutil.rmtree(directory)


def not_grpc() -> contextlib.AbstractContextManager[str]:
    """Listen on a socket that responds like an HTTP/1 server; yields the endpoint."""
    return _impostor(_talks_http1)


def silent() -> contextlib.AbstractContextManager[str]:
    """Listen on a socket that accepts connections and sends nothing; yields the endpoint."""
    return _impostor(_sends_nothing)


def hanging_up() -> contextlib.AbstractContextManager[str]:
    """Listen on a socket that closes every connection at once; yields the endpoint."""
    return _impostor(_closes)
