"""The registry's port: fixed if possible, because some runtimes need it in their configuration beforehand."""

import json
import socket

from critests.exit_codes import CannotTest
from critests.loopback import IPV4, NO_ADDRESS, loopback

DEFAULT_PORT = 5010
_DEFAULT_PORTS = range(DEFAULT_PORT, DEFAULT_PORT + 10)
_ANY_FREE = 0


class RegistryPortTaken(CannotTest):
    """Another process listens on the registry's port; the message names it and the option that helps."""


def listen(port: int | None) -> socket.socket:
    """Return a listening socket on loopback.

    Args:
        port: Exactly this one; 0 for any free one; None for 5010 or the next free one up to 5019.

    Raises:
        CannotTest: The loopback interface has no address.
        RegistryPortTaken: It is in use.
    """
    host = loopback()
    for candidate in _DEFAULT_PORTS if port is None else [port]:
        try:
            return _listen(host, candidate)
        except OSError as error:
            if error.errno in NO_ADDRESS:
                raise CannotTest(
                    f"the test images cannot be served: the loopback interface has neither {IPV4} nor {host}"
                    " (`ip link set lo up` adds both)"
                ) from error
            if port is not None:
                raise RegistryPortTaken(
                    f"the test images cannot be served on port {port} of {host} ({error.strerror}):"
                    f" {user_of_port(port)}. Choose another port with --registry-port, or omit the option to"
                    " use the next free one."
                ) from error
    first, last = _DEFAULT_PORTS[0], _DEFAULT_PORTS[-1]
    raise RegistryPortTaken(
        f"the test images cannot be served: every port from {first} to {last} on {host} is in use"
        f" ({first}: {user_of_port(first)}). Name a free one with --registry-port."
    )


def _listen(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def user_of_port(port: int) -> str:
    """Return as text which process listens on a port, if it can be determined."""
    import psutil  # noqa: PLC0415 - its import takes time, and few commands need it

    if greeting := _registry_at(port):
        return f"the registry of another critests run uses it (process {greeting.get('pid')})"
    try:
        for connection in psutil.net_connections(kind="tcp"):
            if (
                connection.status == psutil.CONN_LISTEN
                and connection.laddr
                and connection.laddr.port == port
                and connection.pid
            ):
                return f"{psutil.Process(connection.pid).name()} (process {connection.pid}) uses it"
    except psutil.Error:
        return "its user cannot be determined"
    return "its user cannot be determined"


def _registry_at(port: int) -> dict[str, object]:
    """Return the greeting of a critests registry on a port; empty if there is none."""
    if port == _ANY_FREE:
        return {}
    import http.client  # noqa: PLC0415 - its import takes time, and few commands need it

    connection = http.client.HTTPConnection(loopback(), port, timeout=0.5)
    try:
        connection.request("GET", "/critests/")
        greeting = json.loads(connection.getresponse().read(10_000))
    except (OSError, ValueError, http.client.HTTPException):
        return {}
    finally:
        connection.close()
    return greeting if isinstance(greeting, dict) and greeting.get("registry") == "critests" else {}
