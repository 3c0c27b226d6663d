"""Checks without gRPC whether anything listens at an endpoint, and says what to do if not."""

import errno
import os
import socket
import stat
from pathlib import Path

from critests.client.endpoint import Endpoint, EndpointError

GREETING_SECONDS = 5.0
"""How long to wait for a runtime, unless the user sets another time."""


def check_listening(endpoint: Endpoint, seconds: float = GREETING_SECONDS) -> None:
    """Check that an endpoint accepts connections; the errors of gRPC do not say why a connection fails.

    Args:
        endpoint: to check.
        seconds: to wait for a connection.

    Raises:
        EndpointError: nothing listens, or access is denied.
    """
    if endpoint.socket is None:
        _check_address(endpoint, seconds)
    else:
        _check_socket(endpoint, endpoint.socket, seconds)


def _check_address(endpoint: Endpoint, seconds: float) -> None:
    host, _, port = endpoint.target.rpartition("/")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=seconds).close()
    except ConnectionRefusedError as error:
        msg = f"{endpoint.text}: connection refused, nothing listens on that port; start the runtime"
        raise EndpointError(msg) from error
    except OSError as error:
        msg = f"{endpoint.text}: cannot connect: {error.strerror or error}"
        raise EndpointError(msg) from error


def _check_socket(endpoint: Endpoint, path: Path, seconds: float) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        msg = (
            f"{endpoint.text}: no such socket; is the runtime running? (critests run --node containerd starts"
            " a private one)"
        )
        raise EndpointError(msg) from error
    except PermissionError as error:
        raise EndpointError(_no_permission(endpoint)) from error
    if not stat.S_ISSOCK(mode):
        msg = f"{endpoint.text}: this is not a socket"
        raise EndpointError(msg)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(seconds)
        try:
            probe.connect(str(path))
        except OSError as error:
            if error.errno in {errno.EACCES, errno.EPERM}:
                raise EndpointError(_no_permission(endpoint)) from error
            if error.errno == errno.ECONNREFUSED:
                msg = f"{endpoint.text}: the socket exists, but nothing listens on it; start the runtime"
                raise EndpointError(msg) from error
            msg = f"{endpoint.text}: cannot connect: {os.strerror(error.errno) if error.errno else error}"
            raise EndpointError(msg) from error


def _no_permission(endpoint: Endpoint) -> str:
    return (
        f"{endpoint.text}: permission denied; run as root, or as a member of the group that owns the socket"
    )
