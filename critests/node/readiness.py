"""Waiting until a runtime that was just started answers and says that it is ready."""

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


class NotReady(Exception):
    """The runtime did not become ready in time; says what it last said."""


def wait_until_ready(
    path: Path, *, seconds: float, network: bool, alive: Callable[[], bool]
) -> cri.VersionResponse:
    """Wait until the runtime behind a unix socket answers Version and its conditions are true.

    Args:
        path: the socket.
        seconds: how long to wait.
        network: wait for NetworkReady too.
        alive: whether the daemon still runs; asked before every attempt.

    Returns:
        What Version answered.

    Raises:
        NotReady: the time is over or the daemon has ended.
    """
    end = time.monotonic() + seconds
    last = "its socket does not exist"
    while not _accepts(path):
        _go_on(end, last if not path.exists() else "its socket refuses connections", alive)
    with grpc.insecure_channel(f"unix:{path}") as channel:
        runtime = cri_grpc.RuntimeServiceStub(channel)
        while True:
            try:
                version = runtime.Version(cri.VersionRequest(), timeout=_ANSWER_SECONDS)
                status = runtime.Status(cri.StatusRequest(), timeout=_ANSWER_SECONDS).status
            except grpc.RpcError as error:
                last = f"it answers {error.code().name}: {error.details()}"
            else:
                unmet = _unmet(status, network=network)
                if not unmet:
                    return version
                last = f"its Status says {unmet}"
            _go_on(end, last, alive)


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


def _go_on(end: float, last: str, alive: Callable[[], bool]) -> None:
    if not alive():
        raise NotReady(f"it ended ({last})")
    if time.monotonic() > end:
        raise NotReady(f"it was not ready in time: {last}")
    time.sleep(_POLL_SECONDS)
