"""Whether anybody listens at an endpoint, found out without gRPC, and what to say if not."""

import errno
import os
import socket
import stat
from pathlib import Path

from critests.client.endpoint import Endpoint, EndpointError

GREETING_SECONDS = 5.0
"""How long to wait for a runtime to be there, unless the user says otherwise."""


def look_there(endpoint: Endpoint, seconds: float = GREETING_SECONDS) -> None:
    """Look whether anybody listens, before gRPC does, whose errors do not tell the one from the other.

    Args:
        endpoint: to look at.
        seconds: to wait for a connection.

    Raises:
        EndpointError: nobody is there, or nobody we may talk to.
    """
    if endpoint.socket is None:
        _look_at_address(endpoint, seconds)
    else:
        _look_at_socket(endpoint, endpoint.socket, seconds)


def _look_at_address(endpoint: Endpoint, seconds: float) -> None:
    host, _, port = endpoint.target.rpartition("/")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=seconds).close()
    except ConnectionRefusedError as error:
        msg = f"{endpoint.text}: connection refused, nobody listens on that port; start the runtime"
        raise EndpointError(msg) from error
    except OSError as error:
        msg = f"{endpoint.text}: cannot connect: {error.strerror or error}"
        raise EndpointError(msg) from error


def _look_at_socket(endpoint: Endpoint, path: Path, seconds: float) -> None:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        msg = (
            f"{endpoint.text}: no such socket; is the runtime running? (critests run --node containerd starts"
            " a throwaway one)"
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
                msg = f"{endpoint.text}: the socket is there, but nobody listens on it; start the runtime"
                raise EndpointError(msg) from error
            msg = f"{endpoint.text}: cannot connect: {os.strerror(error.errno) if error.errno else error}"
            raise EndpointError(msg) from error


def _no_permission(endpoint: Endpoint) -> str:
    return (
        f"{endpoint.text}: permission denied; run as root, or as a member of the group that owns the socket"
    )
