"""The log of a container over its rotations, as the kubelet makes them and as it follows them for
`kubectl logs -f`.
"""

import gzip
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from critests.fixtures.runtime import Runtime
from critests.lifecycle import container_log


def _lines(log: bytes) -> list[bytes]:
    return container_log.lines(container_log.parse(log))


@dataclass
class Rotation:
    """Moves a log aside again and again, as the kubelet does, and compresses all but the newest of what was
    moved aside.

    Attributes:
        path: where the log is.
    """

    path: Path
    _aside: list[Path] = field(default_factory=list)

    def move_aside(self) -> None:
        """Move the log to another name, under which the runtime goes on writing until it is told to reopen
        it.
        """
        self._aside.append(self.path.rename(f"{self.path}.2026010{len(self._aside) + 1}-030405"))

    def compress(self) -> None:
        """Compress what was moved aside, but for the newest file."""
        for place, plain in enumerate(self._aside[:-1]):
            if plain.suffix == ".gz":
                continue
            packed = plain.with_name(f"{plain.name}.gz")
            with plain.open("rb") as source, gzip.open(packed, "wb") as target:
                shutil.copyfileobj(source, target)
            plain.unlink()
            self._aside[place] = packed

    def lines(self) -> list[bytes]:
        """Return the lines of all files together, the oldest first."""
        files = [*self._aside, self.path]
        return _lines(
            b"".join(
                gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
                for file in files
            )
        )


@dataclass
class Follower:
    """Reads a log from its beginning, and goes on with the next file when the log was rotated.

    Attributes:
        path: where the log is.
    """

    path: Path
    _file: IO[bytes] | None = None
    _read: list[bytes] = field(default_factory=list)

    def look(self) -> list[bytes]:
        """Read what has come, and return all lines that were seen so far."""
        self._take()
        if self._file is not None and self._rotated():
            # the runtime writes to the new file by now, so that what is left in the old one is all of it
            self._take()
            self._file.close()
            self._file = None
            self._take()
        return _lines(b"".join(self._read))

    def grows(self, runtime: Runtime) -> None:
        """Wait until more lines have come.

        Raises:
            ConditionNotMet: there were none.
        """
        before = len(self.look())
        runtime.eventually(
            "more lines for the follower", lambda: len(self.look()), holds=lambda lines: lines > before + 20
        )

    def close(self) -> None:
        """Stop reading."""
        if self._file is not None:
            self._file.close()

    def _take(self) -> None:
        if self._file is None and self.path.exists():
            self._file = self.path.open("rb")
        if self._file is not None:
            self._read.append(self._file.read())

    def _rotated(self) -> bool:
        """Say whether another file has come in the place of the one that is read."""
        if self._file is None or not self.path.exists():
            return False
        return not self.path.samefile(f"/proc/self/fd/{self._file.fileno()}")
