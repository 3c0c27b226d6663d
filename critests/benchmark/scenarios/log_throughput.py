"""Containers that print numbered lines on request, and their logs, which must hold each line exactly once."""

import os
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import NotDone
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.exit_barrier import MOUNT_PATH, ExitBarrier
from critests.lifecycle.container import Container
from critests.lifecycle.container_log import LogUnreadable, lines, parse
from critests.lifecycle.sandbox import Sandbox
from critests.lifecycle.waiting import ConditionNotMet, eventually

POLL_SECONDS: Final = 0.001
"""Between two reads of the size of a log: the largest error of a sample."""
COMPLETE_SECONDS: Final = 60.0
"""Until the log must hold all lines, before scaling."""
READY: Final = b"ready"
"""The line that a container prints each time before it waits."""


@dataclass(frozen=True)
class PrintedLines:
    """Lines that a container prints as fast as possible: each is its number, padded with zeros.

    Attributes:
        count: number of lines; the first is 1.
        width: characters of a line without its newline.
    """

    count: int
    width: int

    def write(self, path: Path) -> None:
        """Write them to a file that the container only copies, because generating lines is slower than
        logging.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(self.line(number) + b"\n" for number in range(1, self.count + 1)))

    @property
    def size(self) -> int:
        """Bytes of all lines, newlines included."""
        return self.count * (self.width + 1)

    def line(self, number: int) -> bytes:
        """Return a line, without its newline."""
        return str(number).zfill(self.width).encode()


def start_printing(
    target: Target, sandbox: Sandbox, barrier: ExitBarrier, lines_of: Path, plain: Path
) -> Container:
    """Start a container that prints after a release of the barrier, writes the same lines to a plain file
    after a second release, and then waits.

    Args:
        target: the side.
        sandbox: its sandbox.
        barrier: releases it.
        lines_of: the file with the lines, in the folder of the barrier.
        plain: the plain file, in the same folder.
    """
    wait, prints = barrier.command[-1], f"cat {MOUNT_PATH}/{lines_of.name}"
    script = f"{wait}; {prints}; {wait}; {prints} > {MOUNT_PATH}/{plain.name}; exec sleep 1000000"
    return target.running(sandbox, command=("/bin/sh", "-c", script), mounts=[barrier.mount])


class RotatedLog:
    """The log of a container, with its rotated files."""

    def __init__(self, container: Container) -> None:
        self.container = container
        self._path = Path(container.log_path)
        self._rotated: list[Path] = []

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(path.stat().st_size for path in [*self._rotated, self._path] if path.exists())

    def rotate(self) -> cri.ReopenContainerLogRequest:
        """Rename the file, as the kubelet does, and return the request that must follow."""
        rotated = self._path.with_name(f"{self._path.name}.{len(self._rotated)}")
        self._path.rename(rotated)
        self._rotated.append(rotated)
        return cri.ReopenContainerLogRequest(container_id=self.container.id)

    @property
    def complete(self) -> bool:
        """Whether the log ends with the line that the container prints before it waits again."""
        for path in [self._path, *reversed(self._rotated)]:
            if path.exists() and path.stat().st_size:
                with path.open("rb") as file:
                    file.seek(-min(path.stat().st_size, len(READY) + 2), os.SEEK_END)
                    return file.read() == b" " + READY + b"\n"
        return False

    def check(self, printing: PrintedLines) -> None:
        """Check that the log holds every line exactly once, in order.

        Raises:
            NotDone: a line is lost, duplicated, or out of order.
        """
        content = b"".join(path.read_bytes() for path in [*self._rotated, self._path] if path.exists())
        try:
            logged = lines(parse(content))
        except LogUnreadable as error:
            raise NotDone(f"the log cannot be read: {error}") from error
        expected = [READY, *(printing.line(number) for number in range(1, printing.count + 1)), READY]
        if logged == expected:
            return
        lost, extra = Counter(expected) - Counter(logged), Counter(logged) - Counter(expected)
        first = next(
            (n for n, pair in enumerate(zip(logged, expected, strict=False)) if pair[0] != pair[1]),
            min(len(logged), len(expected)),
        )
        raise NotDone(
            f"of {printing.count} lines {lost.total()} are lost and {extra.total()} are extra; the first"
            f" difference is at line {first}"
        )


def wait_until(condition: str, holds: Callable[[], bool], scale: float) -> float:
    """Poll until a condition holds that the runtime has to bring about.

    Args:
        condition: description for messages.
        holds: returns whether it holds.
        scale: of deadlines.

    Returns:
        When it held, on the clock of `time.perf_counter`.

    Raises:
        NotDone: it did not hold in time.
    """
    try:
        eventually(condition, holds, COMPLETE_SECONDS * scale, poll_seconds=POLL_SECONDS)
    except ConditionNotMet as error:
        raise NotDone(str(error)) from error
    return time.perf_counter()


def wait_for_complete_logs(logs: list[RotatedLog], printing: PrintedLines, scale: float) -> float:
    """Wait until each log holds its last line, and return when; see `wait_until`."""
    complete: set[str] = set()

    def all_complete() -> bool:
        # a complete log is not read again
        complete.update(
            log.container.id
            for log in logs
            if log.container.id not in complete and log.size > printing.size and log.complete
        )
        return len(complete) == len(logs)

    return wait_until(f"the last line in each of {len(logs)} logs", all_complete, scale)


def wait_for_plain_file(plain: Path, printing: PrintedLines, scale: float) -> float:
    """Wait until a plain file holds all lines, and return when; see `wait_until`."""
    return wait_until(
        "all lines in a plain file",
        lambda: plain.exists() and plain.stat().st_size >= printing.size,
        scale,
    )
