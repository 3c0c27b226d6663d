"""Where cgroups are mounted, and which of them a process is in, cgroups(7)."""

from dataclasses import dataclass
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Membership:
    """The cgroup of a process in one hierarchy.

    Attributes:
        controllers: of a version 1 hierarchy; empty for the unified one.
        path: below the hierarchy's mount point, beginning with a slash.
    """

    controllers: tuple[str, ...]
    path: str

    def below(self, mount: Path) -> Path:
        """Return its directory below the hierarchy's mount point."""
        return mount / self.path.lstrip("/")


def memberships(pid: int | str = "self") -> list[Membership]:
    """Return the cgroups of a process, one in each hierarchy; none for a process that has exited."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []
    fields = [line.split(":", 2) for line in lines]
    return [Membership(tuple(filter(None, names.split(","))), path) for _, names, path in fields]
