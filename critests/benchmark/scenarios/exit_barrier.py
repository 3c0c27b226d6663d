"""Containers that wait for a line from the host and then exit, all of them within a second.

Each container reads one line from a shared FIFO. The host holds the FIFO open, so that opening it does not
block, and writes one line for each container: `read` of a shell never reads beyond the end of the line, so
each container gets one line, whenever it starts to read.
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
from critests.benchmark.measuring.target import STATUS_SECONDS, Target
from critests.benchmark.scenarios.storms import check_none_lost
from critests.lifecycle.container import Container

MOUNT_PATH: Final = "/release"
LISTING_SECONDS: Final = 60.0
POLL_SECONDS: Final = 0.01
"""Between two list calls: the largest error of a sample."""
TO_STATUS, FROM_RELEASE, WHOLE = "end to status", "release to status", "all ends told"


class ExitBarrier:
    """A context with a FIFO in a folder that the containers mount.

    Attributes:
        mount: the mount of the folder.
        command: the command of each container.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.mount = cri.Mount(host_path=str(folder), container_path=MOUNT_PATH)
        self.command = ("/bin/sh", "-c", f"echo ready; read -r line < {MOUNT_PATH}/{name}")
        self._path = folder / name
        self._descriptor = -1

    def __enter__(self) -> Self:
        """Create the FIFO and open it."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(self._path)
        self._path.chmod(0o666)  # for any user of the containers
        # read and write: no open(2) of a container blocks, and no reader gets an end of file, fifo(7)
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_NONBLOCK)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the FIFO."""
        os.close(self._descriptor)
        self._path.unlink(missing_ok=True)

    def release(self, number: int) -> None:
        """Let a number of containers exit."""
        # a shell reads a pipe byte by byte, so each container takes one line
        os.write(self._descriptor, b"\n" * number)


def wait_for_exits(target: Target, container_ids: Iterable[str]) -> dict[str, float]:
    """Poll ListContainers until it reports each container as exited, or a minute has passed.

    Returns:
        Id to when the list first reported the exit, in seconds since the epoch.
    """
    left, first = set(container_ids), dict[str, float]()
    deadline = time.monotonic() + LISTING_SECONDS
    seconds = STATUS_SECONDS * target.connection.deadlines.scale
    while left and time.monotonic() < deadline:
        try:
            listed = target.runtime.ListContainers(cri.ListContainersRequest(), timeout=seconds).containers
        except grpc.RpcError as error:
            code = error.code().name
            raise CallFailed("ListContainers", code, str(error.details())[:500]) from error
        now = time.time()
        exited = {each.id for each in listed if each.id in left and each.state == cri.CONTAINER_EXITED}
        first |= dict.fromkeys(exited, now)
        left -= exited
        time.sleep(POLL_SECONDS if left else 0.0)
    return first


def add_exit_latencies(
    meter: Meter, target: Target, containers: dict[str, Container], first: dict[str, float], released: float
) -> None:
    """Store the time from the exit of each container to the list that reports it, and check that none is
    lost.

    Args:
        meter: stores the samples.
        target: the side.
        containers: name to container.
        first: the result of `wait_for_exits`.
        released: when the host wrote the lines, in seconds since the epoch.

    Raises:
        NotDone: an exit was never reported, or with another exit code.
    """
    begin = time.perf_counter() - (time.time() - released)
    meter.simultaneous |= {TO_STATUS, FROM_RELEASE}
    for name, container in containers.items():
        if container.id not in first:
            continue
        status = target.container_status(container.id)
        if status is None or status.exit_code:
            state = "is not known" if status is None else f"exited with {status.exit_code}"
            raise NotDone(f"{name} should have exited with 0, and {state}")
        # comparisons need samples above 0, also if the wall clock was set back
        late = max(first[container.id] - status.finished_at / 1e9, 1e-6)
        meter.add(TO_STATUS, late, begin)
        meter.add(FROM_RELEASE, max(first[container.id] - released, 1e-6), begin)
        meter.name_slowest(TO_STATUS, late, name)
    if first:
        meter.add(WHOLE, max(first.values()) - released, begin)
    check_none_lost(
        f"ListContainers, {LISTING_SECONDS:g} s after the exit",
        {container.id: name for name, container in containers.items()},
        first,
    )
