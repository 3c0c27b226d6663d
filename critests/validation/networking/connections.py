"""Sockets of the tests, on the node and inside a pod. What a peer does wrong is a value or a failed
assertion, never an OSError.
"""

import contextlib
import ctypes
import os
import socket
import threading
from pathlib import Path

CLONE_NEWNET = 0x40000000


def heard(address: str, port: int, seconds: float) -> str:
    """Return what a server says to whoever connects with TCP, until it ends the connection; or why there is
    no answer.

    Args:
        address: of the server.
        port: likewise.
        seconds: to wait for the connection, and for every piece of the answer.
    """
    said = b""
    try:
        with socket.create_connection((address, port), timeout=seconds) as connection:
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(4096):
                said += piece
    except OSError as error:
        return f"{error}, after {said!r}" if said else str(error)
    return said.decode(errors="backslashreplace").strip()


def reached(address: str, port: int, seconds: float) -> bool:
    """Say whether a TCP connection is taken."""
    try:
        socket.create_connection((address, port), timeout=seconds).close()
    except OSError:
        return False
    return True


def connected(address: str, port: int, seconds: float) -> socket.socket:
    """Return a TCP connection whose calls wait for some seconds.

    Raises:
        AssertionError: nobody takes it.
    """
    try:
        return socket.create_connection((address, port), timeout=seconds)
    except OSError as error:
        msg = f"no connection to port {port} of {address}: {error}"
        raise AssertionError(msg) from error


def echo(connection: socket.socket, words: bytes) -> bytes:
    """Return what comes back for what is sent, at most as much; what came so far where no more comes."""
    back = b""
    with contextlib.suppress(OSError):
        connection.sendall(words)
        while len(back) < len(words) and (piece := connection.recv(len(words) - len(back))):
            back += piece
    return back


def datagram(receiver: socket.socket, seconds: float) -> tuple[bytes, tuple[str, int]]:
    """Return the next datagram and where it came from; where none comes, nothing, from nowhere."""
    receiver.settimeout(seconds)
    try:
        content, (address, port) = receiver.recvfrom(65536)
    except OSError:
        return b"", ("", 0)
    return content, (address, port)


def socket_beside(pid: int, kind: socket.SocketKind) -> socket.socket:
    """Return a new IPv4 socket in the network namespace of a process, wherever the caller is.

    Args:
        pid: of the process, as this machine counts.
        kind: of the socket.

    Raises:
        OSError: the namespace cannot be entered.
    """
    made: list[socket.socket] = []
    failed: list[OSError] = []

    def make() -> None:
        # a thread of its own, which ends there: the others stay where they are
        libc = ctypes.CDLL(None, use_errno=True)
        with Path(f"/proc/{pid}/ns/net").open("rb") as namespace:
            if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                failed.append(OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno())))
                return
        made.append(socket.socket(socket.AF_INET, kind))

    maker = threading.Thread(target=make)
    maker.start()
    maker.join()
    if failed:
        raise failed[0]
    return made[0]
