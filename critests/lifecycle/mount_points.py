"""What is mounted where, as the kernel tells a process in /proc/<pid>/mountinfo, proc(5)."""

import re
from dataclasses import dataclass

_ESCAPED = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True)
class MountPoint:
    """One mount.

    Attributes:
        root: what of the file system is mounted.
        place: where.
        options: of this mount: `ro`, `nosuid`, ….
        propagation: `shared:1`, `master:2`, …; empty for a private mount.
        kind: of the file system.
        source: what the file system calls it.
        super_options: of the file system, whatever mounts it.
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
        """Read a line of mountinfo."""
        before, _, after = line.partition(" - ")
        _, _, _, root, place, options, *propagation = before.split(" ")
        kind, source, super_options = after.split(" ", 2)
        return cls(
            _plain(root),
            _plain(place),
            frozenset(options.split(",")),
            frozenset(part for part in propagation if part),
            kind,
            _plain(source),
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
    """Return by place what a process finds there: of several mounts in one place, the last."""
    return {mount.place: mount for mount in mounts}


def _plain(text: str) -> str:
    """Return a path of a mount table with its escapes resolved."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 8)), text)
