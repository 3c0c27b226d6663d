"""Paths in the view of another process, whose mount namespace may differ from ours."""

from pathlib import Path
from typing import Final

LINKS: Final = 40
"""The most symbolic links that the kernel follows in a path (MAXSYMLINKS)."""


def seen_by(pid: int | None, path: Path) -> Path:
    """Return where we find the file that a process finds at a path.

    Symbolic links are followed as the process would follow them. Where it sees what we see, or its view may
    not be looked at, the path is returned as it is.

    Args:
        pid: The process; None where it is not known.
        path: Absolute.
    """
    if pid is None or sees_our_files(pid):
        return path
    root, links = Path(f"/proc/{pid}/root"), 0
    at: list[str] = []
    left = list(path.parts[1:])
    while left:
        part = left.pop(0)
        here = root.joinpath(*at, part)
        if part == "..":
            at = at[:-1]
        elif here.is_symlink() and links < LINKS:
            target, links = here.readlink(), links + 1
            if target.is_absolute():
                at = []
            left = [*target.parts[1 if target.is_absolute() else 0 :], *left]
        else:
            at.append(part)
    return root.joinpath(*at)


def sees_our_files(pid: int) -> bool:
    """Return whether a process has our mount namespace and root; True if that cannot be read."""
    try:
        same_namespace = Path(f"/proc/{pid}/ns/mnt").readlink() == Path("/proc/self/ns/mnt").readlink()
        return same_namespace and Path(f"/proc/{pid}/root").samefile("/")
    except OSError:
        return True
