"""Containers that wait for a word from the host and then end, all of them within a second.

Each reads one line from a FIFO that all of them see. The host holds it open, so that none waits to open it,
and writes a line for each: a shell reads no byte more than its line, so each of them gets one, whenever it
comes.
"""

import os
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import grpc

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import CallFailed, Meter, NotDone
from critests.benchmark.measuring.target import LOOK_SECONDS, Target
from critests.benchmark.scenarios.storms import none_lost
from critests.lifecycle.container import Container

MOUNTED: Final = "/release"
TOLD_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.01
"""Between two lists: so much later than it could a sample may be."""
TO_STATUS, FROM_RELEASE, WHOLE = "end to status", "release to status", "all ends told"


class Release:
    """A FIFO in a folder that containers have mounted, as a context: gone at its end.

    Attributes:
        mount: for the containers.
        command: what each of them runs.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.mount = cri.Mount(host_path=str(folder), container_path=MOUNTED)
        self.command = ("/bin/sh", "-c", f"echo ready; read -r line < {MOUNTED}/{name}")
        self._path = folder / name
        self._held = -1

    def __enter__(self) -> Self:
        """Make it, and hold it open."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(self._path)
        self._path.chmod(0o666)  # whoever the containers run as
        self._held = os.open(self._path, os.O_RDWR | os.O_NONBLOCK)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove it."""
        os.close(self._held)
        self._path.unlink(missing_ok=True)

    def let_go(self, number: int) -> None:
        """Let so many containers end."""
        os.write(self._held, b"\n" * number)


def told(target: Target, wanted: Iterable[str]) -> dict[str, float]:
    """Ask for the list of containers again and again until it tells the end of each, or a minute is over.

    Returns:
        Id to when it was first told, in seconds since the epoch.
    """
    left, first = set(wanted), dict[str, float]()
    deadline = time.monotonic() + TOLD_SECONDS
    seconds = LOOK_SECONDS * target.connection.deadlines.scale
    while left and time.monotonic() < deadline:
        try:
            listed = target.runtime.ListContainers(cri.ListContainersRequest(), timeout=seconds).containers
        except grpc.RpcError as error:
            code = error.code().name
            raise CallFailed("ListContainers", code, str(error.details())[:500]) from error
        now = time.time()
        ended = {each.id for each in listed if each.id in left and each.state == cri.CONTAINER_EXITED}
        first |= dict.fromkeys(ended, now)
        left -= ended
        time.sleep(POLL_SECONDS if left else 0.0)
    return first


def keep_ends(
    meter: Meter, target: Target, containers: dict[str, Container], first: dict[str, float], released: float
) -> None:
    """Keep how long after its end each container was told to have ended, and see that none is lost.

    Args:
        meter: where.
        target: the side.
        containers: name to container.
        first: what `told` returned.
        released: when they were let go, in seconds since the epoch.

    Raises:
        NotDone: an end was never told, or is told to have been another than it was.
    """
    begin = time.perf_counter() - (time.time() - released)
    meter.at_once |= {TO_STATUS, FROM_RELEASE}
    for name, container in containers.items():
        if container.id not in first:
            continue
        status = target.container_status(container.id)
        if status is None or status.exit_code:
            what = "is not known" if status is None else f"ended with {status.exit_code}"
            raise NotDone(f"{name} was let go to end with 0, and {what}")
        late = max(first[container.id] - status.finished_at / 1e9, 1e-6)
        meter.keep(TO_STATUS, late, begin)
        meter.keep(FROM_RELEASE, max(first[container.id] - released, 1e-6), begin)
        meter.name_slowest(TO_STATUS, late, name)
    if first:
        meter.keep(WHOLE, max(first.values()) - released, begin)
    none_lost(
        f"ListContainers, {TOLD_SECONDS:g} s after the end",
        {container.id: name for name, container in containers.items()},
        first,
    )
