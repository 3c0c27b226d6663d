"""The resources that a runtime uses between two snapshots, its memory, and gauges that show a leak.

CPU time comes from the daemon's cgroup if only the daemon and its shims are in it: the cgroup counts every
process until it exits. Otherwise, and for shims outside that cgroup, CPU time is summed over /proc. There the
parent that waits for a short-lived OCI runtime or CNI plugin counts its time. Not counted are the time of a
shim between the last snapshot and its exit, and shims that start and exit between two snapshots; a
container's first process counts if its shim has reaped it. Bytes are those of /proc/PID/io, reaped children
included. Context switches are those of threads that are alive at the later snapshot.
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
    RuntimeNotVisible,
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
    """What one process has used since it started.

    Attributes:
        process: the process.
        in_cgroup: whether the daemon's cgroup counts its CPU time.
        read_bytes: from storage, reaped children included.
        write_bytes: to storage, reaped children included.
        switches: living thread to its voluntary and involuntary context switches.
    """

    process: RuntimeProcess
    in_cgroup: bool
    read_bytes: int
    write_bytes: int
    switches: dict[int, tuple[int, int]]


@dataclass(frozen=True)
class UsedResources:
    """What a runtime used between two snapshots; the module docstring names what is not counted.

    Attributes:
        cpu_seconds: CPU time of daemon, shims and the processes that they started; without containers.
        daemon_cpu_seconds: of the daemon's own threads.
        read_bytes: from storage.
        write_bytes: to storage.
        voluntary: voluntary context switches.
        involuntary: involuntary context switches.
        source: `cgroup` or `processes`, the source of the CPU time.
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
    """What the living processes of a runtime have used since they started.

    Attributes:
        processes: by process.
        cgroup_cpu_seconds: CPU time of the daemon's cgroup, or None if it has no cgroup of its own.
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
        """Return the usage between the snapshots. A parent's value includes the children that it waited for.

        So the earlier usage of a process that exited in between is now part of its parent's value and has to
        be subtracted, unless no parent counted it.
        """
        parents = {key[0]: key for key in earlier.processes}
        total = sum(
            value(usage)
            for usage in self.processes.values()
            if not usage.process.role.is_workload and not leave_out(usage)
        )
        for key, usage in earlier.processes.items():
            exited, in_parent = key not in self.processes, parents.get(usage.process.parent) in self.processes
            if (
                leave_out(usage)
                or (exited and not in_parent)
                or (not exited and usage.process.role.is_workload)
            ):
                continue
            total -= value(usage)
        return total

    def _switches(self, earlier: "Usage", kind: int) -> int:
        """Return the context switches of the living threads; the counts of exited threads are lost."""
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
    """Read what a runtime's processes have used so far: takes about 50 us for each of them, and 15 us for
    each other process on the machine.

    Args:
        daemon_pid: PID of the daemon.

    Raises:
        RuntimeNotVisible: the daemon has exited, or its processes cannot be read (needs root).
    """
    processes = runtime_processes(daemon_pid)
    cgroup = accounting_cgroup.of_runtime(daemon_pid, {process.pid for process in processes})
    members = accounting_cgroup.members(cgroup) if cgroup else set()
    usages = {process.key: _usage(process, in_cgroup=process.pid in members) for process in processes}
    return Usage(usages, accounting_cgroup.cpu_seconds(cgroup) if cgroup else None)


@dataclass(frozen=True)
class ProcessFootprint:
    """Memory, file descriptors and threads of some processes of a runtime.

    Attributes:
        memory_bytes: proportional set size, in bytes.
        descriptors: number of open file descriptors.
        threads: number of threads.
    """

    memory_bytes: int
    descriptors: int
    threads: int


DAEMON: Final = "daemon"
PARTS: Final = {
    DAEMON: (Role.DAEMON, Role.DAEMON_HELPER),
    "shims": (Role.SHIM, Role.SHIM_HELPER),
    "pauses": (Role.PAUSE,),
    "containers": (Role.CONTAINER,),
}
"""Parts of a runtime and its pods: the daemon with its child processes; shims (or monitors) with their child
processes outside the containers; the processes of the sandboxes; all other processes in containers.
"""


def footprints(daemon_pid: int) -> dict[str, ProcessFootprint]:
    """Read the footprint of each of the `PARTS`, without the kernel memory of the processes.

    Args:
        daemon_pid: PID of the daemon.

    Raises:
        RuntimeNotVisible: the daemon has exited, or its processes cannot be read (needs root).
    """
    processes = [process for process in runtime_processes(daemon_pid) if not process.zombie]
    by_part = {}
    for part, roles in PARTS.items():
        pids = [process.pid for process in processes if process.role in roles]
        by_part[part] = ProcessFootprint(
            memory_bytes=sum(map(_proportional_bytes, pids)),
            descriptors=sum(len(_entries(pid, "fd")) for pid in pids),
            threads=sum(len(_entries(pid, "task")) for pid in pids),
        )
    return by_part


def gauges(daemon_pid: int, directories: Collection[Path] = ()) -> dict[str, float]:
    """Read the gauges that must return to their values when all created objects are removed.

    Args:
        daemon_pid: PID of the daemon.
        directories: of the runtime; if given, only mounts below them count, and `disk_bytes` is the disk
            usage of their files. Otherwise all mounts in the daemon's mount namespace count, which are all of
            the machine.

    Returns:
        `fds`, `threads` and `pss_bytes` of the daemon; `shims`, `zombies` (exited children that it has not
        reaped); `mounts`, and `netns`, the network namespaces that are bind-mounted; `cgroups`, the
        directories of all hierarchies of the machine.

    Raises:
        RuntimeNotVisible: the daemon has exited, or its processes cannot be read (needs root).
    """
    processes = runtime_processes(daemon_pid)
    roots = [str(directory) for directory in directories] or ["/"]
    mounts = [mount for mount in mount_table(daemon_pid) if any(_is_below(mount[1], root) for root in roots)]
    read = {
        "fds": len(_entries(daemon_pid, "fd")),
        "threads": len(_entries(daemon_pid, "task")),
        "pss_bytes": _proportional_bytes(daemon_pid),
        "shims": sum(process.role is Role.SHIM for process in processes),
        "zombies": sum(process.zombie for process in processes),
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
    """Return the lines `name: number` of a file in /proc; empty if its process has exited."""
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return {}
    except PermissionError as error:
        raise RuntimeNotVisible(f"permission to read {path} is denied: run as root") from error
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
        raise RuntimeNotVisible(f"permission to read /proc/{pid}/{folder} is denied: run as root") from error


def _is_below(point: str, root: str) -> bool:
    return root in {"/", point} or point.startswith(f"{root}/")


def _disk_bytes(directory: Path) -> int:
    """Return the disk usage of the files below a directory on the same file system; files that vanish
    meanwhile do not count.
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
