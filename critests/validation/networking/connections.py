"""Sockets of the tests, on the node and inside a pod. A peer's error is a value or a failed assertion, never
an OSError.
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

from critests.lifecycle.waiting import eventually
from critests.testing import Container, free_port, node_address

CLONE_NEWNET = 0x40000000
PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
LISTEN_TIMEOUT_SECONDS = 10.0
ANSWER_TIMEOUT_SECONDS = 10.0
REFUSAL_TIMEOUT_SECONDS = 1.0
"""Timeout of a connection that must fail: a rejected SYN fails at once, a dropped one gets no reply."""


def until_it_listens(container: Container, port: int) -> None:
    """Wait until a process in a container listens on a TCP port."""
    eventually(
        f"a listener on port {port}",
        lambda: container.output("netstat", "-ltn"),
        LISTEN_TIMEOUT_SECONDS * container.connection.deadlines.scale,
        lambda output: f":{port} " in output,
    )


@dataclass(frozen=True)
class Node:
    """The node's side of connections to pods.

    Attributes:
        scale: factor on every deadline.
    """

    scale: float

    @property
    def timeout(self) -> float:
        """Seconds to wait for a connection, and for each read from it."""
        return ANSWER_TIMEOUT_SECONDS * self.scale

    @property
    def address(self) -> str:
        """An address of the node, not that of loopback."""
        return node_address()

    def free_port(self) -> int:
        """Return a port of the node that is free with both TCP and UDP."""
        return free_port()

    def greeting(self, port: int, address: str = "") -> str:
        """Connect with TCP and return what the server sends until it closes the connection, or the error.

        Args:
            port: of the server.
            address: of the server, the node's by default.
        """
        response = b""
        try:
            with socket.create_connection((address or self.address, port), self.timeout) as connection:
                connection.shutdown(socket.SHUT_WR)
                while piece := connection.recv(4096):
                    response += piece
        except OSError as error:
            return f"{error}, after {response!r}" if response else str(error)
        return response.decode(errors="backslashreplace").strip()

    def reaches(self, port: int, address: str = "") -> bool:
        """Return whether a TCP connection is accepted; by default at the node's address."""
        try:
            socket.create_connection((address or self.address, port), REFUSAL_TIMEOUT_SECONDS).close()
        except OSError:
            return False
        return True

    def ephemeral_port_that_sends(self, word: str) -> int | None:
        """Return the port of the kernel's ephemeral range whose server sends a word; None if no port that can
        be tried within the timeout does.
        """
        first, last = map(int, PORT_RANGE.read_text(encoding="ascii").split())
        address, deadline = self.address, time.monotonic() + self.timeout
        with contextlib.ExitStack() as opened:
            connection = opened.enter_context(_connecting_socket(address))
            for port in range(first, last + 1):
                if time.monotonic() > deadline:
                    break
                error = connection.connect_ex((address, port))
                if error == errno.ECONNREFUSED:
                    continue  # the socket can connect again, at half the cost of a new one
                # a client that connects to its own ephemeral port is connected to itself
                if error == 0 and connection.getsockname()[1] != port:
                    with contextlib.suppress(OSError):
                        if connection.recv(len(word)) == word.encode():
                            return port
                connection = opened.enter_context(_connecting_socket(address))
        return None

    def connected(self, address: str, port: int) -> socket.socket:
        """Return a TCP connection with a timeout on its calls.

        Raises:
            AssertionError: the connection fails.
        """
        try:
            return socket.create_connection((address, port), self.timeout)
        except OSError as error:
            msg = f"no connection to port {port} of {address}: {error}"
            raise AssertionError(msg) from error

    def association(self, port: int) -> socket.socket:
        """Return an SCTP association with a port of the node, with a timeout on its calls.

        Raises:
            AssertionError: the association fails.
        """
        client = socket.socket(type=socket.SOCK_STREAM, proto=socket.IPPROTO_SCTP)
        client.settimeout(self.timeout)
        try:
            client.connect((self.address, port))
        except OSError as error:
            client.close()
            msg = f"no association with port {port} of {self.address}: {error}"
            raise AssertionError(msg) from error
        return client

    def datagram(self, receiver: socket.socket) -> tuple[bytes, tuple[str, int]]:
        """Return the next datagram and its sender; empty bytes and no sender if none arrives in time."""
        receiver.settimeout(self.timeout)
        try:
            # more than the largest datagram
            content, (address, port) = receiver.recvfrom(65536)
        except OSError:
            return b"", ("", 0)
        return content, (address, port)


def _connecting_socket(address: str) -> socket.socket:
    """Return a TCP socket for an address, whose calls time out after REFUSAL_TIMEOUT_SECONDS.

    The kernel applies the timeout: with `settimeout`, every second refusal of a socket that connects again is
    an aborted connection (ECONNABORTED), after which the socket is of no use for the next port.
    """
    connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    for direction in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
        # a struct timeval: seconds and microseconds
        connection.setsockopt(
            socket.SOL_SOCKET, direction, struct.pack("ll", int(REFUSAL_TIMEOUT_SECONDS), 0)
        )
    return connection


def echo(connection: socket.socket, content: bytes) -> bytes:
    """Send bytes and return what the server sends back, up to the same length; fewer bytes if it stops
    earlier.
    """
    received = b""
    with contextlib.suppress(OSError):
        connection.sendall(content)
        while len(received) < len(content) and (piece := connection.recv(len(content) - len(received))):
            received += piece
    return received


def socket_in_namespace_of(pid: int, kind: socket.SocketKind, protocol: int = 0) -> socket.socket:
    """Return a new IPv4 socket in the network namespace of a process, whatever the caller's namespace.

    Args:
        pid: of the process, in the PID namespace of the caller.
        kind: of the socket.
        protocol: of the socket; 0 for the usual one of its kind.

    Raises:
        OSError: the namespace cannot be entered.
    """
    sockets: list[socket.socket] = []
    errors: list[OSError] = []

    def make() -> None:
        # setns(2) changes the namespace of one thread: this one, which ends afterwards
        libc = ctypes.CDLL(None, use_errno=True)
        with Path(f"/proc/{pid}/ns/net").open("rb") as namespace:
            if libc.setns(namespace.fileno(), CLONE_NEWNET) != 0:
                errors.append(OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno())))
                return
        sockets.append(socket.socket(socket.AF_INET, kind, protocol))

    maker = threading.Thread(target=make)
    maker.start()
    maker.join()
    if errors:
        raise errors[0]
    return sockets[0]
