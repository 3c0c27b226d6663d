"""Rotation of a container's log as the kubelet does it, and following it across rotations as it does for
`kubectl logs -f`.
"""

import gzip
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from critests.lifecycle import container_log
from critests.testing import Runtime


def _lines(log: bytes) -> list[bytes]:
    return container_log.lines(container_log.parse(log))


@dataclass
class Rotation:
    """Renames a log repeatedly, as the kubelet does, and compresses all renamed files but the newest.

    Attributes:
        path: the path of the log.
    """

    path: Path
    _renamed: list[Path] = field(default_factory=list)

    def rename(self) -> None:
        """Rename the log; the runtime continues to write to the renamed file until ReopenContainerLog."""
        # the kubelet appends date and time to the name
        self._renamed.append(self.path.rename(f"{self.path}.2026010{len(self._renamed) + 1}-030405"))

    def compress(self) -> None:
        """Compress the renamed files, except for the newest."""
        for place, plain in enumerate(self._renamed[:-1]):
            if plain.suffix == ".gz":
                continue
            packed = plain.with_name(f"{plain.name}.gz")
            with plain.open("rb") as source, gzip.open(packed, "wb") as target:
                shutil.copyfileobj(source, target)
            plain.unlink()
            self._renamed[place] = packed

    def lines(self) -> list[bytes]:
        """Return the lines of all files, the oldest first."""
        files = [*self._renamed, self.path]
        return _lines(
            b"".join(
                gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
                for file in files
            )
        )


@dataclass
class Follower:
    """Reads a log from its beginning, and continues with the next file after each rotation.

    Attributes:
        path: the path of the log.
    """

    path: Path
    _file: IO[bytes] | None = None
    _content: list[bytes] = field(default_factory=list)

    def look(self) -> list[bytes]:
        """Read new content, and return all lines read so far."""
        self._read_new()
        if self._file is not None and self._rotated():
            # the runtime writes to the new file by now, so the rest of the old one is complete
            self._read_new()
            self._file.close()
            self._file = None
            self._read_new()
        return _lines(b"".join(self._content))

    def grows(self, runtime: Runtime) -> None:
        """Wait for more lines.

        Raises:
            ConditionNotMet: there were no more lines.
        """
        before = len(self.look())
        runtime.eventually(
            "more lines for the follower", lambda: len(self.look()), holds=lambda lines: lines > before + 20
        )

    def close(self) -> None:
        """Stop reading."""
        if self._file is not None:
            self._file.close()

    def _read_new(self) -> None:
        if self._file is None and self.path.exists():
            self._file = self.path.open("rb")
        if self._file is not None:
            self._content.append(self._file.read())

    def _rotated(self) -> bool:
        """Return whether the path leads to another file than the one that is read."""
        if self._file is None or not self.path.exists():
            return False
        return not self.path.samefile(f"/proc/self/fd/{self._file.fileno()}")
