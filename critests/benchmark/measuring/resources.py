"""What a runtime used between two points in time, what memory it holds, and the gauges that show a leak.

Processor time comes from the cgroup of the daemon where it has one that it shares with its shims only: that
counts every process to its end. Elsewhere, and for shims outside that cgroup, it is summed over /proc. There
the short life of an OCI runtime or CNI plugin is counted by the parent that waited for it; what a shim used
between the last snapshot and its own end is not, nor is a shim that began and ended between two of them, and
a container's first process is counted where its shim has reaped it. Bytes are those of /proc/PID/io, reaped
children included. Context switches are those of threads that live at the later snapshot.
"""

import contextlib
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from critests.benchmark.measuring import accounting_cgroup
from critests.benchmark.measuring.runtime_processes import (
    Role,
    RuntimeHidden,
    RuntimeProcess,
    runtime_processes,
)
from critests.node.cgroups.cgroup_mounts import cgroup_hierarchies
from critests.node.host.mount_table import mount_table

CGROUP: Final = "cgroup"
PROCESSES: Final = "processes"
_KIBIBYTE: Final = 1024


@dataclass(frozen=True)
class ProcessUsage:
    """What one process has used since it began.

    Attributes:
        process: whose it is.
        in_cgroup: whether its processor time is in that of the daemon's cgroup.
        read_bytes: from storage, with reaped children.
        write_bytes: to storage, with reaped children.
        switches: living thread to its context switches, because it waited and because its time was up.
    """

    process: RuntimeProcess
    in_cgroup: bool
    read_bytes: int
    write_bytes: int
    switches: dict[int, tuple[int, int]]


@dataclass(frozen=True)
class UsedResources:
    """What a runtime used between two snapshots; see the module for what is not counted.

    Attributes:
        cpu_seconds: processor time of daemon, shims and what they started; containers excluded.
        daemon_cpu_seconds: of the daemon's own threads.
        read_bytes: from storage.
        write_bytes: to storage.
        voluntary: context switches because a thread waited.
        involuntary: context switches because its time was up.
        source: `cgroup` or `processes`, where the processor time is from.
    """

    cpu_seconds: float
    daemon_cpu_seconds: float
    read_bytes: int
    write_bytes: int
    voluntary: int
    involuntary: int
    source: str


@dataclass(frozen=True)
class Usage:
    """What the living processes of a runtime have used since they began.

    Attributes:
        processes: by process.
        cgroup_cpu_seconds: what the daemon's cgroup has used, or None where it has none of its own.
    """

    processes: dict[tuple[int, int], ProcessUsage]
    cgroup_cpu_seconds: float | None

    def since(self, earlier: "Usage") -> UsedResources:
        """Return what was used since an earlier snapshot of the same runtime."""
        by_cgroup = self.cgroup_cpu_seconds is not None and earlier.cgroup_cpu_seconds is not None
        cpu = self._difference(earlier, _cpu, leave_out=lambda usage: by_cgroup and usage.in_cgroup)
        if self.cgroup_cpu_seconds is not None and earlier.cgroup_cpu_seconds is not None:
            cpu += self.cgroup_cpu_seconds - earlier.cgroup_cpu_seconds
        daemons = [(key, usage) for key, usage in self.processes.items() if usage.process.role is Role.DAEMON]
        own = sum(
            usage.process.own_cpu_seconds
            - (earlier.processes[key].process.own_cpu_seconds if key in earlier.processes else 0)
            for key, usage in daemons
        )
        return UsedResources(
            cpu_seconds=max(0.0, cpu),
            daemon_cpu_seconds=own,
            read_bytes=max(0, int(self._difference(earlier, lambda usage: usage.read_bytes))),
            write_bytes=max(0, int(self._difference(earlier, lambda usage: usage.write_bytes))),
            voluntary=self._switches(earlier, 0),
            involuntary=self._switches(earlier, 1),
            source=CGROUP if by_cgroup else PROCESSES,
        )

    def _difference(
        self,
        earlier: "Usage",
        value: Callable[[ProcessUsage], float],
        leave_out: Callable[[ProcessUsage], bool] = lambda _: False,
    ) -> float:
        """Return what was used, where a parent's value takes over that of the children which it has waited
        for.

        So of a process that ended in between, what it had used before is in its parent's value now, and has
        to be taken off, unless nobody counted its end.
        """
        parents = {key[0]: key for key in earlier.processes}
        total = sum(
            value(usage)
            for usage in self.processes.values()
            if not usage.process.role.is_workload and not leave_out(usage)
        )
        for key, usage in earlier.processes.items():
            ended, taken_over = key not in self.processes, parents.get(usage.process.parent) in self.processes
            if (
                leave_out(usage)
                or (ended and not taken_over)
                or (not ended and usage.process.role.is_workload)
            ):
                continue
            total -= value(usage)
        return total

    def _switches(self, earlier: "Usage", kind: int) -> int:
        """Return how often threads that live now were switched; those that ended take theirs with them."""
        total = 0
        for key, usage in self.processes.items():
            before = earlier.processes[key].switches if key in earlier.processes else {}
            if not usage.process.role.is_workload:
                total += sum(
                    counts[kind] - before.get(thread, (0, 0))[kind]
                    for thread, counts in usage.switches.items()
                )
        return max(0, total)


def snapshot(daemon_pid: int) -> Usage:
    """Read what a runtime's processes have used so far: about 50 us for each process, and 15 us for each
    other on the machine.

    Args:
        daemon_pid: of the daemon.

    Raises:
        RuntimeHidden: the daemon has gone or may not be looked at (needs root).
    """
    found = runtime_processes(daemon_pid)
    cgroup = accounting_cgroup.of_runtime(daemon_pid, {process.pid for process in found})
    members = accounting_cgroup.members(cgroup) if cgroup else set()
    usages = {process.key: _usage(process, in_cgroup=process.pid in members) for process in found}
    return Usage(usages, accounting_cgroup.cpu_seconds(cgroup) if cgroup else None)


@dataclass(frozen=True)
class Holding:
    """What some processes of a runtime hold.

    Attributes:
        memory_bytes: proportional set size, what is shared counted by its share.
        descriptors: open files.
        threads: living ones.
    """

    memory_bytes: int
    descriptors: int
    threads: int


PARTS: Final = {
    "daemon": (Role.DAEMON, Role.DAEMON_HELPER),
    "shims": (Role.SHIM, Role.SHIM_HELPER),
    "pauses": (Role.PAUSE,),
    "containers": (Role.CONTAINER,),
}
"""Parts of a runtime and its pods: the daemon with what it has started; shims (or monitors) with what they
have started outside the containers; the sandboxes' own processes; all other processes in containers.
"""


def holdings(daemon_pid: int) -> dict[str, Holding]:
    """Read what the processes of each of the `PARTS` hold; the kernel's own for them is not part of it.

    Args:
        daemon_pid: of the daemon.

    Raises:
        RuntimeHidden: the daemon has gone or may not be looked at (needs root).
    """
    found = [process for process in runtime_processes(daemon_pid) if not process.zombie]
    held = {}
    for part, roles in PARTS.items():
        pids = [process.pid for process in found if process.role in roles]
        held[part] = Holding(
            memory_bytes=sum(map(_proportional_bytes, pids)),
            descriptors=sum(len(_entries(pid, "fd")) for pid in pids),
            threads=sum(len(_entries(pid, "task")) for pid in pids),
        )
    return held


def gauges(daemon_pid: int, directories: Collection[Path] = ()) -> dict[str, float]:
    """Read what should stay the same when as much is removed as was made.

    Args:
        daemon_pid: of the daemon.
        directories: of the runtime; only mounts below them count then, and what their files take on disk is
            added up as `disk_bytes`. Without them every mount counts that the daemon sees, which is every one
            of the machine.

    Returns:
        `fds`, `threads` and `pss_bytes` of the daemon; `shims`, `zombies` (ended children that it has not
        reaped); `mounts`, and `netns`, network namespaces kept by a mount; `cgroups`, directories of all
        hierarchies of the machine.

    Raises:
        RuntimeHidden: the daemon has gone or may not be looked at (needs root).
    """
    found = runtime_processes(daemon_pid)
    roots = [str(directory) for directory in directories] or ["/"]
    mounts = [mount for mount in mount_table(daemon_pid) if any(_is_below(mount[1], root) for root in roots)]
    read = {
        "fds": len(_entries(daemon_pid, "fd")),
        "threads": len(_entries(daemon_pid, "task")),
        "pss_bytes": _proportional_bytes(daemon_pid),
        "shims": sum(process.role is Role.SHIM for process in found),
        "zombies": sum(process.zombie for process in found),
        "mounts": len(mounts),
        "netns": len({root for root, _, _ in mounts if root.startswith("net:[")}),
        "cgroups": sum(1 for hierarchy in cgroup_hierarchies() for _ in os.walk(hierarchy)),
    }
    if directories:
        read["disk_bytes"] = sum(_disk_bytes(directory) for directory in directories)
    return {name: float(value) for name, value in read.items()}


def _cpu(usage: ProcessUsage) -> float:
    return usage.process.own_cpu_seconds + usage.process.children_cpu_seconds


def _usage(process: RuntimeProcess, *, in_cgroup: bool) -> ProcessUsage:
    io = _fields(f"/proc/{process.pid}/io")
    threads = {
        int(thread): _fields(f"/proc/{process.pid}/task/{thread}/status")
        for thread in _entries(process.pid, "task")
    }
    switches = {
        thread: (fields.get("voluntary_ctxt_switches", 0), fields.get("nonvoluntary_ctxt_switches", 0))
        for thread, fields in threads.items()
    }
    return ProcessUsage(process, in_cgroup, io.get("read_bytes", 0), io.get("write_bytes", 0), switches)


def _fields(path: str) -> dict[str, int]:
    """Return the lines `name: number` of a file of /proc; empty where its process has gone."""
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    except PermissionError as error:
        raise RuntimeHidden(f"{path} may not be read: run as root") from error
    pairs = (line.partition(":")[::2] for line in lines)
    return {
        name: int(value.split()[0])
        for name, value in pairs
        if value.split()[:1] and value.split()[0].isdigit()
    }


def _proportional_bytes(pid: int) -> int:
    return _fields(f"/proc/{pid}/smaps_rollup").get("Pss", 0) * _KIBIBYTE


def _entries(pid: int, folder: str) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/{folder}")  # noqa: PTH208 - only the names, and many
    except (FileNotFoundError, ProcessLookupError):
        return []
    except PermissionError as error:
        raise RuntimeHidden(f"/proc/{pid}/{folder} may not be read: run as root") from error


def _is_below(point: str, root: str) -> bool:
    return root in {"/", point} or point.startswith(f"{root}/")


def _disk_bytes(directory: Path) -> int:
    """Return what the files below a directory take on its own file system; files that vanish meanwhile do not
    count.
    """
    device, total = directory.stat().st_dev, 0
    for parent, folders, files in os.walk(directory):
        for name in files:
            with contextlib.suppress(OSError):
                total += (
                    os.lstat(f"{parent}/{name}").st_blocks * 512
                )  # in units of 512 bytes whatever the file system, stat(2)
        folders[:] = [name for name in folders if _device(f"{parent}/{name}") == device]
    return total


def _device(path: str) -> int:
    try:
        return os.lstat(path).st_dev
    except OSError:
        return -1
