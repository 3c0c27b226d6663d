"""Waits until a new runtime responds and reports that it is ready."""

import contextlib
import socket
import time
from collections.abc import Callable
from pathlib import Path

import grpc

from critests.api import api_pb2 as cri
from critests.api import api_pb2_grpc as cri_grpc

_POLL_SECONDS = 0.02
_ANSWER_SECONDS = 2.0


class RuntimeNotReady(Exception):
    """The runtime did not become ready in time; the message has its last response."""


def wait_until_listening(path: Path, *, until: float, ended: Callable[[], str]) -> None:
    """Wait until a process accepts connections on a unix socket.

    Args:
        path: the socket.
        until: when to give up, on the clock of `time.monotonic`.
        ended: returns the name of a process of the runtime that has exited, or an empty text; called before
            every attempt.

    Raises:
        RuntimeNotReady: the time is over or a process has exited.
    """
    while not _accepts(path):
        why = "refuses connections" if path.exists() else "does not exist"
        _go_on(until, f"the socket {path.name} {why}", ended)


def wait_until_ready(
    path: Path, *, until: float, network: bool, ended: Callable[[], str]
) -> cri.VersionResponse:
    """Wait until the runtime that listens on a unix socket responds to Version and its conditions are true.

    Args:
        path: the socket.
        until: as for `wait_until_listening`.
        network: wait for NetworkReady too.
        ended: as for `wait_until_listening`.

    Returns:
        The response to Version.

    Raises:
        RuntimeNotReady: the time is over or a process has exited.
    """
    with grpc.insecure_channel(f"unix:{path}") as channel:
        runtime = cri_grpc.RuntimeServiceStub(channel)
        while True:
            try:
                version = runtime.Version(cri.VersionRequest(), timeout=_ANSWER_SECONDS)
                status = runtime.Status(cri.StatusRequest(), timeout=_ANSWER_SECONDS).status
            except grpc.RpcError as error:
                last = f"it responds with {error.code().name}: {error.details()}"
            else:
                unmet = _unmet(status, network=network)
                if not unmet:
                    return version
                last = f"its Status reports {unmet}"
            _go_on(until, last, ended)


def _unmet(status: cri.RuntimeStatus, *, network: bool) -> str:
    wanted = ["RuntimeReady", *(["NetworkReady"] if network else [])]
    seen = {condition.type: condition for condition in status.conditions}
    for name in wanted:
        if name not in seen:
            return f"nothing of {name}"
        if not seen[name].status:
            return f"{name} is false ({seen[name].reason}: {seen[name].message})"
    return ""


def _accepts(path: Path) -> bool:
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as connection:
        try:
            connection.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError):
            return False
    return True


def _go_on(until: float, last: str, ended: Callable[[], str]) -> None:
    if name := ended():
        raise RuntimeNotReady(f"{name} ended ({last})")
    if time.monotonic() > until:
        raise RuntimeNotReady(f"it was not ready in time: {last}")
    time.sleep(_POLL_SECONDS)
