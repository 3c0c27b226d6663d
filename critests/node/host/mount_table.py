"""The mount table of this machine, or of a process, as proc(5) describes it."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path


def mounts_below(directories: Iterable[Path]) -> list[Path]:
    """Return the mount points at or below the directories, in the order in which they were mounted."""
    roots = [str(directory) for directory in directories]
    return [
        Path(point)
        for _, point, _ in mount_table()
        if any(point == root or point.startswith(root + "/") for root in roots)
    ]


def mount_table(pid: int | str = "self") -> list[tuple[str, str, str]]:
    """Return the root, mount point and remaining fields of each line of a process's mountinfo, proc(5); empty
    for one that has gone.
    """
    try:
        lines = (
            Path(f"/proc/{pid}/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        )
    except (FileNotFoundError, ProcessLookupError, PermissionError, OSError):
        return []
    fields = [line.split(" ", 5) for line in lines]
    return [(_unescape(field[3]), _unescape(field[4]), field[5]) for field in fields]


def mount_of(path: Path, mounts: Sequence[tuple[str, str, str]] | None = None) -> tuple[str, str]:
    """Return the mount point and the remaining fields of the mount that a path lies on; empty where that is
    not known. No other one is looked at: they may go at any moment, and what was below them is found then.

    Args:
        path: it need not exist.
        mounts: the mount table; this process's by default.
    """
    resolved = path.resolve()
    over = {str(place) for place in (resolved, *resolved.parents)}
    found = [
        (point, rest) for _, point, rest in (mount_table() if mounts is None else mounts) if point in over
    ]
    # of those at the same place the last one hides the others
    return max(reversed(found), key=lambda mount: len(Path(mount[0]).parts), default=("", ""))


def _unescape(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text)
