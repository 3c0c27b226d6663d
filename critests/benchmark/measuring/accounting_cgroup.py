"""The cgroup that counts the CPU time of a daemon and of all processes that it starts, exited ones included.

A daemon that systemd started has one (its unit's), which its shims share. A daemon started by hand is in the
cgroup of its parent; a throwaway runtime can get a cgroup. The containers do not count: OCI runtimes move
them into cgroups by their own path.
"""

import contextlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from critests.lifecycle.process import stat_of
from critests.lifecycle.process_cgroups import Membership, memberships
from critests.node.host.mount_table import mount_table

_FOLDER: Final = "daemon"


def of_runtime(daemon_pid: int, ours: Collection[int]) -> Path | None:
    """Return the cgroup that counts the CPU time of a daemon and of its own processes only.

    Args:
        daemon_pid: PID of the daemon.
        ours: PIDs of its processes.

    Returns:
        A directory, or None if the daemon shares its cgroup with other processes.
    """
    place = _place(daemon_pid)
    if place is None or place[1].path in {"/", ""}:
        return None
    directory = place[1].below(place[0])
    if not directory.is_dir() or any(
        pid not in ours and not _descends(pid, ours) for pid in members(directory)
    ):
        return None
    return directory


@contextlib.contextmanager
def accounted(daemon_pid: int, run_id: str) -> Iterator[Path | None]:
    """Move a throwaway runtime's daemon into a cgroup of its own for the time of a `with`, so that the CPU
    time of all processes that it and its shims start is counted.

    Only the hierarchy that counts CPU time is used: cpuacct, or the unified hierarchy without a controller.
    Where cpu and cpuacct are one hierarchy, the scheduler gives the daemon its CPU share as a group, as under
    systemd. Existing shims stay in their cgroups. At the end the remaining processes move back; the cgroup is
    named after the run, so that the run's clean-up finds it.

    Yields:
        The cgroup, or None if it cannot be created here.
    """
    place = _place(daemon_pid)
    directory = place[0] / "critests" / run_id / _FOLDER if place else None
    if place is None or directory is None or not _enter(directory, daemon_pid):
        yield None
        return
    try:
        yield directory
    finally:
        for pid in members(directory):
            _enter(place[1].below(place[0]), pid)
        for path in (directory, directory.parent, directory.parent.parent):
            with contextlib.suppress(OSError):  # others of the run still use it
                path.rmdir()


def members(directory: Path) -> set[int]:
    """Return the PIDs in a cgroup; an empty set if the cgroup no longer exists."""
    try:
        return {int(line) for line in (directory / "cgroup.procs").read_text(encoding="ascii").split()}
    except OSError:
        return set()


def cpu_seconds(directory: Path) -> float | None:
    """Return the CPU time that a cgroup has counted, in seconds, or None if it does not count any."""
    with contextlib.suppress(OSError):
        return int((directory / "cpuacct.usage").read_text(encoding="ascii")) / 1e9
    with contextlib.suppress(OSError):
        for line in (directory / "cpu.stat").read_text(encoding="ascii").splitlines():
            name, _, value = line.partition(" ")
            if name == "usage_usec":
                return int(value) / 1e6
    return None


def _place(pid: int) -> tuple[Path, Membership] | None:
    """Return the mount point of the hierarchy that counts CPU time, and the cgroup of a process in it."""
    own = memberships(pid)
    mounts = [(Path(point), rest.partition(" - ")[2].split()) for _, point, rest in mount_table()]
    for point, fields in mounts:
        if fields[0] == "cgroup" and "cpuacct" in fields[-1].split(","):
            return next(((point, cgroup) for cgroup in own if "cpuacct" in cgroup.controllers), None)
    for point, fields in mounts:
        if fields[0] == "cgroup2" and (point / "cgroup.procs").exists():
            return next(((point, cgroup) for cgroup in own if not cgroup.controllers), None)
    return None


def _enter(directory: Path, pid: int) -> bool:
    try:
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "cgroup.procs").write_text(str(pid), encoding="ascii")
    except OSError:
        return False
    return True


def _descends(pid: int, ancestors: Collection[int]) -> bool:
    """Return whether a process descends from one of the ancestors, or has exited."""
    while pid > 1:
        fields = stat_of(pid)
        if not fields:
            return True
        pid = int(fields[1])
        if pid in ancestors:
            return True
    return False
