"""Addresses and ports of this machine."""

import contextlib
import socket


def node_address() -> str:
    """Return an IPv4 address of this machine that is not loopback; 127.0.0.1 where there is none."""
    import psutil  # noqa: PLC0415 - takes as long to import as a test, and few tests ask for the address

    addresses = [
        entry.address
        for entries in psutil.net_if_addrs().values()
        for entry in entries
        if entry.family == socket.AF_INET
    ]
    return next((address for address in addresses if not address.startswith("127.")), "127.0.0.1")


def free_port() -> int:
    """Return a port of this machine that nobody uses, neither with TCP nor with UDP."""
    while True:
        with socket.create_server(("", 0)) as listener, socket.socket(type=socket.SOCK_DGRAM) as other:
            port = int(listener.getsockname()[1])
            with contextlib.suppress(OSError):
                other.bind(("", port))
                return port
