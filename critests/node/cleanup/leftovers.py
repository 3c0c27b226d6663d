"""Removal of everything that a private runtime can leave: processes, mounts, loop devices, cgroups, files.

Nothing is recognised by a name alone. A process belongs to the runtime by the mark in its environment, by our
directory in the command line of a runtime's program, or by a root file system in our directory; everything
else by its path.
"""

import contextlib
import ctypes
import fcntl
import os
import re
import shutil
import signal
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from critests.lifecycle.process_cgroups import memberships
from critests.node.cgroups.cgroup_mounts import cgroup_hierarchies
from critests.node.host.mount_table import mount_table, mounts_below
from critests.node.run_state.footprint import MARK, Footprint
from critests.node.run_state.locks import POLL_SECONDS, start_time
from critests.runtimes import shims
from critests.runtimes.known_runtimes import monitors, programs
from critests.runtimes.private_kinds import KINDS

_MNT_DETACH = 2  # umount2(2)
_LOOP_CLR_FD = 0x4C01  # loop(4)
_ID = re.compile(r"[0-9a-f]{64}")
_COMM_LENGTH = 15  # the kernel cuts longer names, proc_pid_comm(5)


class CleanupIncomplete(Exception):
    """Something of a private runtime could not be removed; the message lists it."""


def our_processes(footprint: Footprint) -> set[int]:
    """Return the ids of the running processes of a private runtime: daemon, shims, plugins, and those in its
    containers.
    """
    return {pid for pid in _pids() if _is_ours(pid, footprint)}


def kill_processes(footprint: Footprint, *, seconds: float = 10) -> list[str]:
    """Kill every process of a private runtime until none is left.

    Returns:
        The remaining processes after `seconds` in which none exited, described; normally none. Killing
        hundreds of them on a busy machine may take longer than that.
    """
    timeout = _StallTimeout(seconds)
    while found := our_processes(footprint):
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            _thaw(pid)
        if timeout.expired(len(found)):
            return [f"process {pid} ({_command(pid)})" for pid in sorted(found)]
        time.sleep(POLL_SECONDS / 2)
    return []


def unmount_below(directories: Iterable[Path]) -> list[str]:
    """Detach everything mounted at or below the directories; return the mount points that stayed."""
    libc = ctypes.CDLL(None, use_errno=True)
    roots = list(directories)
    stubborn: set[Path] = set()
    while points := [point for point in mounts_below(roots) if point not in stubborn]:
        for point in reversed(points):
            if libc.umount2(os.fsencode(point), _MNT_DETACH) != 0:
                stubborn.add(point)
    return [f"mount {point}" for point in mounts_below(roots)]


def detach_loops_below(directories: Iterable[Path]) -> None:
    """Free the loop devices whose files lie below the directories."""
    roots = [f"{directory}/" for directory in directories]
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            if backing.read_text(encoding="utf-8").startswith(tuple(roots)):
                with Path("/dev", backing.parent.parent.name).open("rb") as device:
                    fcntl.ioctl(device, _LOOP_CLR_FD)


def container_ids(footprint: Footprint) -> set[str]:
    """Return the ids of the sandboxes and containers that the runtime's own files name."""
    return {
        entry.name
        for kind in KINDS.values()
        for folder in kind.container_folders(footprint)
        if folder.is_dir()
        for entry in folder.iterdir()
        if _ID.fullmatch(entry.name)
    }


def our_cgroups(footprint: Footprint, ids: Iterable[str]) -> list[Path]:
    """Return the topmost cgroup directories, in every hierarchy, whose name holds a container id of ours or
    our cgroup's name.
    """
    names = (footprint.cgroup, *ids)
    found = []
    for hierarchy in cgroup_hierarchies():
        for parent, children, _ in os.walk(hierarchy):
            ours = [child for child in children if any(name in child for name in names)]
            found += [Path(parent, child) for child in ours]
            children[:] = [child for child in children if child not in ours]
    return found


def remove_cgroups(cgroups: Iterable[Path], *, seconds: float = 3) -> list[str]:
    """Kill the processes in cgroups, and remove these with all below them; return those that are still in use
    after `seconds` without progress.
    """
    timeout = _StallTimeout(seconds)
    waiting = list(cgroups)
    for cgroup in waiting:
        _kill_in(cgroup)
    while waiting:
        # rmdir(2) fails until the last process has left the cgroup, cgroups(7)
        waiting = [cgroup for cgroup in waiting if not _rmdir_tree(cgroup)]
        if not waiting or timeout.expired(len(waiting)):
            break
        time.sleep(POLL_SECONDS)
    return [f"cgroup {cgroup}" for cgroup in waiting]


def files_elsewhere(footprint: Footprint) -> list[Path]:
    """Return the runtime's files in directories that it shares with others, such as the sockets of shims."""
    return [path for kind in KINDS.values() for path in kind.files_elsewhere(footprint)]


def cni_results(footprint: Footprint, ids: Iterable[str]) -> list[Path]:
    """Return the files in libcni's cache that belong to our network or to a sandbox of ours."""
    known = set(ids)
    found = Path("/var/lib/cni/results").glob("*")
    return [
        path
        for path in found
        if path.name.startswith(f"{footprint.network}-") or known.intersection(_ID.findall(path.name))
    ]


def remove_tree(directory: Path) -> list[str]:
    """Remove a directory and all in it, unless something is still mounted there; return what stayed,
    described.
    """
    mounted = mounts_below([directory])
    if mounted:
        return [f"{directory} (still mounted: {', '.join(map(str, mounted))})"]
    shutil.rmtree(directory, ignore_errors=True)
    return [f"directory {directory}"] if directory.exists() else []


class _StallTimeout:
    """A timeout that starts again whenever a number decreases."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._fewest: int | None = None
        self._end = 0.0

    def expired(self, left: int) -> bool:
        """Return whether the number has not decreased for too long."""
        if self._fewest is None or left < self._fewest:
            self._fewest, self._end = left, time.monotonic() + self._seconds
        return time.monotonic() > self._end


def _pids() -> Iterator[int]:
    own = os.getpid()
    # creating a Path for hundreds of unneeded entries is slower than listing them
    for entry in os.listdir("/proc"):  # noqa: PTH208 - see above
        if entry.isdigit() and int(entry) not in {1, own}:
            yield int(entry)


def _is_ours(pid: int, footprint: Footprint) -> bool:
    if start_time(pid) is None:
        return False
    state = str(footprint.state)
    environment = _read(pid, "environ").split("\0")
    if f"{MARK}={state}" in environment:
        return True
    command = _read(pid, "comm").strip()
    named = {program[:_COMM_LENGTH] for program in (*programs(), *footprint.binaries)}
    monitoring = command.startswith(tuple(monitor.name for monitor in monitors()))
    # processes that a shim starts have neither our environment nor our files in their mount namespace
    of_shims = tuple(filter(None, map(shims.beginning, footprint.binaries)))
    if command in named or monitoring or of_shims:
        words = _read(pid, "cmdline")
        called = Path(words.partition("\0")[0]).name
        if state in words and (command in named or monitoring or called.startswith(of_shims)):
            return True
    return _lives_in(pid, footprint)


def _lives_in(pid: int, footprint: Footprint) -> bool:
    """Return whether a process has its own mount namespace, with a root file system from our directories."""
    try:
        # as above
        if os.stat(f"/proc/{pid}/ns/mnt").st_ino == os.stat("/proc/self/ns/mnt").st_ino:  # noqa: PTH116 - see above
            return False
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return False
    ours = (f"{footprint.state}/", f"{footprint.root}/")
    return any(
        point == "/" and any(path in f"{root}/ {rest}" for path in ours)
        for root, point, rest in mount_table(pid)
    )


def _read(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""


def _command(pid: int) -> str:
    return _read(pid, "cmdline").replace("\0", " ").strip() or _read(pid, "comm").strip()


def _thaw(pid: int) -> None:
    """Thaw the cgroup of a process (version 1): a frozen process does not handle even SIGKILL."""
    for cgroup in memberships(pid):
        if "freezer" in cgroup.controllers and cgroup.path != "/":
            for hierarchy in cgroup_hierarchies():
                state = cgroup.below(hierarchy) / "freezer.state"
                with contextlib.suppress(OSError):
                    if state.read_text(encoding="ascii").strip() != "THAWED":
                        state.write_text("THAWED", encoding="ascii")


def _kill_in(cgroup: Path) -> None:
    """Kill what `kill_processes` does not find: a process whose first thread was killed by a seccomp filter
    is a zombie without a command line, and its other threads stay.
    """
    for parent, _, _ in os.walk(cgroup):
        with contextlib.suppress(OSError):
            for pid in map(int, Path(parent, "cgroup.procs").read_text(encoding="ascii").split()):
                if pid:  # 0 stands for a process of another PID namespace, cgroups(7)
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)


def _rmdir_tree(cgroup: Path) -> bool:
    for parent, _, _ in os.walk(cgroup, topdown=False):
        try:
            Path(parent).rmdir()
        except FileNotFoundError:
            continue
        except OSError:
            return False
    return not cgroup.exists()
