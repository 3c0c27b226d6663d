"""Sockets of the tests, on the node and inside a pod. What a peer does wrong is a value or a failed
assertion, never an OSError.
"""

import contextlib
import ctypes
import errno
import os
import socket
import struct
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from critests.lifecycle.containers import Container
from critests.lifecycle.waiting import eventually
from critests.node.addresses import free_port, node_address

CLONE_NEWNET = 0x40000000
PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
LISTEN_SECONDS = 10.0
ANSWER_SECONDS = 10.0
REFUSED_SECONDS = 1.0
"""How long a connection is given that must not come about; refusals come at once, and what is thrown away
never answers.
"""


def until_it_listens(container: Container, port: int) -> None:
    """Wait until something in a container listens on a TCP port."""
    eventually(
        f"a listener on port {port}",
        lambda: container.output("netstat", "-ltn"),
        LISTEN_SECONDS * container.connection.deadlines.scale,
        lambda seen: f":{port} " in seen,
    )


@dataclass(frozen=True)
class Node:
    """The node's side of connections to pods.

    Attributes:
        scale: factor on every deadline.
    """

    scale: float

    @property
    def patience(self) -> float:
        """Seconds to wait for a connection, and for every piece of what comes over it."""
        return ANSWER_SECONDS * self.scale

    @property
    def address(self) -> str:
        """An address of the node that is not loopback."""
        return node_address()

    def free_port(self) -> int:
        """Return a port of the node that nobody uses, neither with TCP nor with UDP."""
        return free_port()

    def hears(self, port: int, address: str = "") -> str:
        """Connect with TCP and return what the server says until it ends the connection; or why there is no
        answer.

        Args:
            port: of the server.
            address: of the server, the node's by default.
        """
        answer = b""
        try:
            with socket.create_connection((address or self.address, port), self.patience) as connection:
                connection.shutdown(socket.SHUT_WR)
                while piece := connection.recv(4096):
                    answer += piece
        except OSError as error:
            return f"{error}, after {answer!r}" if answer else str(error)
        return answer.decode(errors="backslashreplace").strip()

    def reaches(self, port: int, address: str = "") -> bool:
        """Say whether a TCP connection is taken; by default at the node's address."""
        try:
            socket.create_connection((address or self.address, port), REFUSED_SECONDS).close()
        except OSError:
            return False
        return True

    def port_that_says(self, word: str) -> int | None:
        """Return the port, of those that the kernel gives away, at which a word is said; None where there is
        none among as many as can be looked at while patience lasts.
        """
        first, last = map(int, PORT_RANGE.read_text(encoding="ascii").split())
        address, deadline = self.address, time.monotonic() + self.patience
        with contextlib.ExitStack() as opened:
            connection = opened.enter_context(_dialling(address))
            for port in range(first, last + 1):
                if time.monotonic() > deadline:
                    break
                error = connection.connect_ex((address, port))
                if error == errno.ECONNREFUSED:
                    continue  # and can dial again, which costs half of a new socket
                # whoever dials the port that it was given itself is connected to itself
                if error == 0 and connection.getsockname()[1] != port:
                    with contextlib.suppress(OSError):
                        if connection.recv(len(word)) == word.encode():
                            return port
                connection = opened.enter_context(_dialling(address))
        return None

    def connected(self, address: str, port: int) -> socket.socket:
        """Return a TCP connection whose calls do not wait for ever.

        Raises:
            AssertionError: nobody takes it.
        """
        try:
            return socket.create_connection((address, port), self.patience)
        except OSError as error:
            msg = f"no connection to port {port} of {address}: {error}"
            raise AssertionError(msg) from error

    def association(self, port: int) -> socket.socket:
        """Return an association of SCTP with a port of the node, whose calls do not wait for ever.

        Raises:
            AssertionError: nobody takes it.
        """
        client = socket.socket(type=socket.SOCK_STREAM, proto=socket.IPPROTO_SCTP)
        client.settimeout(self.patience)
        try:
            client.connect((self.address, port))
        except OSError as error:
            client.close()
            msg = f"no association with port {port} of {self.address}: {error}"
            raise AssertionError(msg) from error
        return client

    def datagram(self, receiver: socket.socket) -> tuple[bytes, tuple[str, int]]:
        """Return the next datagram and where it came from; where none comes, nothing, from nowhere."""
        receiver.settimeout(self.patience)
        try:
            content, (address, port) = receiver.recvfrom(65536)
        except OSError:
            return b"", ("", 0)
        return content, (address, port)


def _dialling(address: str) -> socket.socket:
    """Return a TCP socket for an address; no call of it waits longer than a refusal may take.

    The kernel keeps the time: with `settimeout` a socket that dials again finds every second refusal an
    aborted connection (ECONNABORTED), and would be of no use for the next port.
    """
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    for direction in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
        made.setsockopt(socket.SOL_SOCKET, direction, struct.pack("ll", int(REFUSED_SECONDS), 0))
    return made


def echo(connection: socket.socket, words: bytes) -> bytes:
    """Return what comes back for what is sent, at most as much; what came so far where no more comes."""
    back = b""
    with contextlib.suppress(OSError):
        connection.sendall(words)
        while len(back) < len(words) and (piece := connection.recv(len(words) - len(back))):
            back += piece
    return back


def socket_beside(pid: int, kind: socket.SocketKind, protocol: int = 0) -> socket.socket:
    """Return a new IPv4 socket in the network namespace of a process, wherever the caller is.

    Args:
        pid: of the process, as this machine counts.
        kind: of the socket.
        protocol: of the socket; 0 for the usual one of its kind.

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
        made.append(socket.socket(socket.AF_INET, kind, protocol))

    maker = threading.Thread(target=make)
    maker.start()
    maker.join()
    if failed:
        raise failed[0]
    return made[0]
