"""The registry's port: fixed where possible, because some runtimes must be told about it beforehand."""

import json
import socket

from critests.exit_codes import CannotTest

DEFAULT_PORT = 5010
_DEFAULT_PORTS = range(DEFAULT_PORT, DEFAULT_PORT + 10)
_LOOPBACK = "127.0.0.1"
_ANY_FREE = 0


class RegistryPortTaken(CannotTest):  # the sentence that the name says is what the user reads
    """The port that the registry should have is another's; the text says whose and which flag helps."""


def listen(port: int | None) -> socket.socket:
    """Return a listening socket on loopback.

    Args:
        port: Exactly this one; 0 for any that is free; None for 5010 or the next free one up to 5019.

    Raises:
        RegistryPortTaken: It is taken.
    """
    for candidate in _DEFAULT_PORTS if port is None else [port]:
        try:
            return _listen(candidate)
        except OSError as error:
            if port is not None:
                raise RegistryPortTaken(
                    f"the test images cannot be served on {_LOOPBACK}:{port} ({error.strerror}):"
                    f" {holder(port)}. Choose another port with --registry-port, or leave the flag out to"
                    " take the next free one."
                ) from error
    first, last = _DEFAULT_PORTS[0], _DEFAULT_PORTS[-1]
    raise RegistryPortTaken(
        f"the test images cannot be served: every port from {first} to {last} on {_LOOPBACK} is taken"
        f" ({first}: {holder(first)}). Name a free one with --registry-port."
    )


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_LOOPBACK, port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def holder(port: int) -> str:
    """Say who listens on a port, as far as can be seen."""
    import psutil  # noqa: PLC0415 - every command reads the port's number, and hardly any asks who holds it

    if greeting := _registry_at(port):
        return f"the registry of another critests run holds it (process {greeting.get('pid')})"
    try:
        for connection in psutil.net_connections(kind="tcp"):
            if (
                connection.status == psutil.CONN_LISTEN
                and connection.laddr
                and connection.laddr.port == port
                and connection.pid
            ):
                return f"{psutil.Process(connection.pid).name()} (process {connection.pid}) holds it"
    except psutil.Error:
        return "who holds it cannot be seen"
    return "who holds it cannot be seen"


def _registry_at(port: int) -> dict[str, object]:
    """Return the greeting of one of our registries, or nothing."""
    if port == _ANY_FREE:
        return {}
    import http.client  # noqa: PLC0415 - only where a port is taken; every command waits for the import

    connection = http.client.HTTPConnection(_LOOPBACK, port, timeout=0.5)
    try:
        connection.request("GET", "/critests/")
        greeting = json.loads(connection.getresponse().read(10_000))
    except (OSError, ValueError, http.client.HTTPException):
        return {}
    finally:
        connection.close()
    return greeting if isinstance(greeting, dict) and greeting.get("registry") == "critests" else {}
