"""Containers that print numbered lines when they are told to, and their logs, in which each line must stand
once.
"""

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
from critests.benchmark.scenarios.exit_barrier import MOUNTED, Release
from critests.lifecycle.container import Container
from critests.lifecycle.container_log import LogUnreadable, lines, parse
from critests.lifecycle.sandbox import Sandbox
from critests.lifecycle.waiting import ConditionNotMet, eventually

POLL_SECONDS: Final = 0.001
"""Between two looks at the size of a log: so much later than it could a sample may be."""
WHOLE_SECONDS: Final = 60.0
"""For all lines to stand in the log, before scaling."""
FIRST: Final = b"ready"
"""What each prints before it waits, each time."""


@dataclass(frozen=True)
class Printing:
    """Lines that a container prints as fast as it can: their number, padded with zeros.

    Attributes:
        count: how many, from 1.
        width: of a line without its newline, in characters.
    """

    count: int
    width: int

    def write(self, path: Path) -> None:
        """Write them to a file, which is then only copied: whatever makes lines is slower than their log."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(self.line(number) + b"\n" for number in range(1, self.count + 1)))

    @property
    def size(self) -> int:
        """Bytes of all lines, as they are printed."""
        return self.count * (self.width + 1)

    def line(self, number: int) -> bytes:
        """Return a line, without its newline."""
        return str(number).zfill(self.width).encode()


def running(target: Target, sandbox: Sandbox, release: Release, lines_of: Path, plain: Path) -> Container:
    """Return a container that prints once it is let go, prints the same to a plain file when it is let go
    again, and then waits to be removed.

    Args:
        target: the side.
        sandbox: that it runs in.
        release: that lets it go.
        lines_of: the file with what it prints, in the folder of the release.
        plain: the other file, there too.
    """
    wait, prints = release.command[-1], f"cat {MOUNTED}/{lines_of.name}"
    script = f"{wait}; {prints}; {wait}; {prints} > {MOUNTED}/{plain.name}; exec sleep 1000000"
    return target.running(sandbox, command=("/bin/sh", "-c", script), mounts=[release.mount])


class Log:
    """The log of a container that prints, with the files that it was rotated to."""

    def __init__(self, container: Container) -> None:
        self.container = container
        self._path = Path(container.log_path)
        self._rotated: list[Path] = []

    @property
    def size(self) -> int:
        """Bytes of all its files."""
        return sum(path.stat().st_size for path in [*self._rotated, self._path] if path.exists())

    def rotate(self) -> cri.ReopenContainerLogRequest:
        """Rename the file, as the kubelet does, and return the request that has to follow."""
        rotated = self._path.with_name(f"{self._path.name}.{len(self._rotated)}")
        self._path.rename(rotated)
        self._rotated.append(rotated)
        return cri.ReopenContainerLogRequest(container_id=self.container.id)

    @property
    def whole(self) -> bool:
        """Whether the last line stands there: what the container says before it waits again."""
        for path in [self._path, *reversed(self._rotated)]:
            if path.exists() and path.stat().st_size:
                with path.open("rb") as file:
                    file.seek(-min(path.stat().st_size, len(FIRST) + 2), os.SEEK_END)
                    return file.read() == b" " + FIRST + b"\n"
        return False

    def check(self, printing: Printing) -> None:
        """See that every line stands in the log once, in the order in which they were printed.

        Raises:
            NotDone: one is lost, doubled, or in another place.
        """
        content = b"".join(path.read_bytes() for path in [*self._rotated, self._path] if path.exists())
        try:
            found = lines(parse(content))
        except LogUnreadable as error:
            raise NotDone(f"the log cannot be read: {error}") from error
        whole = [FIRST, *(printing.line(number) for number in range(1, printing.count + 1)), FIRST]
        if found == whole:
            return
        lost, more = Counter(whole) - Counter(found), Counter(found) - Counter(whole)
        first = next(
            (n for n, pair in enumerate(zip(found, whole, strict=False)) if pair[0] != pair[1]),
            min(len(found), len(whole)),
        )
        raise NotDone(
            f"of {printing.count} lines {lost.total()} are lost and {more.total()} too many; the first out of"
            f" its place is number {first}"
        )


def until(what: str, look: Callable[[], bool], scale: float) -> float:
    """Look again and again until something holds that a runtime has promised.

    Args:
        what: in words.
        look: says whether it holds.
        scale: of deadlines.

    Returns:
        When it was seen, on the clock of `time.perf_counter`.

    Raises:
        NotDone: it did not come in time.
    """
    try:
        eventually(what, look, WHOLE_SECONDS * scale, poll_seconds=POLL_SECONDS)
    except ConditionNotMet as error:
        raise NotDone(str(error)) from error
    return time.perf_counter()


def until_whole(logs: list[Log], printing: Printing, scale: float) -> float:
    """Wait until the last line stands in each log, and return when; see `until`."""
    whole: set[str] = set()

    def look() -> bool:
        # a log that was seen whole stays so
        whole.update(
            log.container.id
            for log in logs
            if log.container.id not in whole and log.size > printing.size and log.whole
        )
        return len(whole) == len(logs)

    return until(f"the last line in each of {len(logs)} logs", look, scale)


def until_written(plain: Path, printing: Printing, scale: float) -> float:
    """Wait until a plain file holds all lines, and return when; see `until`."""
    return until(
        "all lines in a plain file",
        lambda: plain.exists() and plain.stat().st_size >= printing.size,
        scale,
    )
