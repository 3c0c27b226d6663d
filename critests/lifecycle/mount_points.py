"""The mounts of a process in /proc/<pid>/mountinfo, proc(5)."""

import re
from dataclasses import dataclass

_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class MountPoint:
    """One mount.

    Attributes:
        root: the mounted directory within the file system.
        place: the mount point.
        options: of this mount: `ro`, `nosuid`, ….
        propagation: `shared:1`, `master:2`, …; empty for a private mount.
        kind: of the file system.
        source: of the file system.
        super_options: of the file system, for all its mounts.
    """

    root: str
    place: str
    options: frozenset[str]
    propagation: frozenset[str]
    kind: str
    source: str
    super_options: frozenset[str]

    @classmethod
    def parse(cls, line: str) -> "MountPoint":
        """Parse a line of mountinfo."""
        before, _, after = line.partition(" - ")
        _, _, _, root, place, options, *propagation = before.split(" ")
        kind, source, super_options = after.split(" ", 2)
        return cls(
            _unescaped(root),
            _unescaped(place),
            frozenset(options.split(",")),
            frozenset(part for part in propagation if part),
            kind,
            _unescaped(source),
            frozenset(super_options.split(",")),
        )

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written through it."""
        return "ro" in self.options | self.super_options


def parse(text: str) -> list[MountPoint]:
    """Return the mounts in the content of a mountinfo file, in the kernel's order."""
    return [MountPoint.parse(line) for line in text.splitlines()]


def uppermost(mounts: list[MountPoint]) -> dict[str, MountPoint]:
    """Return the mounts by mount point: of several at one place, the last."""
    return {mount.place: mount for mount in mounts}


def _unescaped(text: str) -> str:
    """Return a path of a mount table without escapes."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), text)
