"""The loopback address, on which the registry and the streaming servers of private runtimes listen."""

import errno
import socket
from pathlib import Path
from typing import Final

IPV4: Final = "127.0.0.1"
IPV6: Final = "::1"
HOSTS: Final = Path("/etc/hosts")
NO_ADDRESS: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
"""Errors of bind(2) and socket(2) where the machine does not have an address."""


def loopback() -> str:
    """Return 127.0.0.1, or ::1 in a network namespace whose loopback interface has no IPv4 address."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
            tried.bind((IPV4, 0))
    except OSError as error:
        if error.errno in NO_ADDRESS:
            return IPV6
        raise
    return IPV4


def in_references(host: str, port: int) -> str:
    """Return how references of images name a registry on loopback.

    Returns:
        `127.0.0.1:5010`; for ::1 `localhost:5010`, because some runtimes parse no reference with `[::1]`, or
        `[::1]:5010` if hosts(5) has no such name for ::1.
    """
    if host == IPV4:
        return f"{host}:{port}"
    lines = [line.partition("#")[0].split() for line in HOSTS.read_text(encoding="utf-8").splitlines()]
    named = any(line[:1] == [host] and "localhost" in line[1:] for line in lines)
    return f"localhost:{port}" if named else f"[{host}]:{port}"
