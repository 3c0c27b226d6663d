"""Facts of the machine that influence timing, in addition to those of every run: processor, disk, load,
limits.

Each fact is what the kernel reports at the time; one that it does not report is None or an empty text, never
missing.
"""

import os
from pathlib import Path

from critests.lifecycle.process_cgroups import Membership, memberships
from critests.node.host.mount_table import mount_of, mount_table
from critests.node.observing.machine_facts import text_of

_CPU = Path("/sys/devices/system/cpu")


def machine_facts(
    path: Path = Path("/var/lib"), *, load: "tuple[float, float, float] | None" = None
) -> dict[str, object]:
    """Return the facts as JSON values.

    Args:
        path: where the runtime stores its files; need not exist.
        load: the load average before the start; read now by default.

    Returns:
        `governor` (each in use), `turbo`, `smt` (whether on, None if the kernel does not report it),
        `mitigations` (vulnerability to its mitigation), `numa_nodes`, `disk` (see `disk_of`),
        `load_average` (1, 5, 15 minutes), `cgroup_limits` (see `cgroup_limits`), `clock_source`,
        `swap_in_use`.
    """
    return {
        "governor": governors(),
        "turbo": turbo(),
        "smt": smt(),
        "mitigations": {file.name: text_of(file) for file in sorted((_CPU / "vulnerabilities").glob("*"))},
        "numa_nodes": len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or None,
        "disk": disk_of(path),
        "load_average": [round(value, 2) for value in load or os.getloadavg()],
        "cgroup_limits": cgroup_limits(),
        "clock_source": text_of(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        "swap_in_use": len(text_of(Path("/proc/swaps")).splitlines()) > 1,
    }


def governors(cpu: Path = _CPU) -> list[str]:
    """Return the frequency governors in use; none if the frequency is not configurable, as on most virtual
    machines.
    """
    return sorted(
        {text for file in cpu.glob("cpu[0-9]*/cpufreq/scaling_governor") if (text := text_of(file))}
    )


def turbo(cpu: Path = _CPU) -> bool | None:
    """Return whether cores may exceed their nominal frequency; None if the kernel does not report it."""
    off = text_of(cpu / "intel_pstate/no_turbo")
    if off:
        return off == "0"
    boost = text_of(cpu / "cpufreq/boost")
    return boost == "1" if boost else None


def smt(cpu: Path = _CPU) -> bool | None:
    """Return whether hardware threads share cores; None if the kernel does not report it."""
    active = text_of(cpu / "smt/active")
    return active == "1" if active else None


def disk_of(path: Path) -> dict[str, object]:
    """Return file system and disk of a path.

    Returns:
        `filesystem` and its `options`, and the `device` of its disk, whether it is `rotational`, its `model`
        and `scheduler`, if the kernel reports them; a tmpfs or an overlay has no device.
    """
    existing = next((folder for folder in (path, *path.parents) if folder.exists()), Path("/"))
    _, mount = mount_of(existing)
    options, *_ = mount.split(maxsplit=1) or [""]
    filesystem, *_ = mount.partition(" - ")[2].split() or [""]
    number = existing.stat().st_dev
    device = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}")
    whole = _whole_disk(device)
    scheduler = text_of(whole / "queue/scheduler") if whole else ""
    rotational = text_of(whole / "queue/rotational") if whole else ""
    return {
        "filesystem": filesystem,
        "options": options,
        "device": whole.name if whole else "",
        "rotational": rotational == "1" if rotational else None,
        "model": text_of(whole / "device/model") if whole else "",
        "scheduler": scheduler.partition("[")[2].partition("]")[0] or scheduler,
    }


def cgroup_limits(
    pid: int | str = "self", *, mounts: "list[tuple[str, str, str]] | None" = None
) -> dict[str, float | None]:
    """Return the limits of a process's cgroup and of the cgroups above it.

    Args:
        pid: the process; this one by default.
        mounts: the mount table; this process's by default.

    Returns:
        `cpus` (number of CPUs, None for no limit) and `memory_bytes`, each the smallest of all these cgroups.
    """
    folders: list[Path] = []
    for _, point, rest in mount_table() if mounts is None else mounts:
        kind, *_, options = rest.partition(" - ")[2].split()
        for cgroup in memberships(pid):
            if (kind == "cgroup2" and not cgroup.controllers) or (
                kind == "cgroup" and set(cgroup.controllers) & set(options.split(","))
            ):
                folders += _upwards(Path(point), cgroup)
    cpus = [limit for folder in folders for limit in _cpu_limit(folder)]
    memories = [limit for folder in folders for limit in _memory_limit(folder)]
    return {"cpus": min(cpus, default=None), "memory_bytes": min(memories, default=None)}


def _upwards(mount: Path, cgroup: Membership) -> list[Path]:
    folder = cgroup.below(mount)
    return [folder, *(parent for parent in folder.parents if parent == mount or mount in parent.parents)]


def _cpu_limit(folder: Path) -> list[float]:
    quota, _, period = text_of(folder / "cpu.max").partition(" ")
    if not quota:
        quota, period = text_of(folder / "cpu.cfs_quota_us"), text_of(folder / "cpu.cfs_period_us")
    return [int(quota) / int(period)] if quota.isdigit() and period.isdigit() and int(period) else []


def _memory_limit(folder: Path) -> list[float]:
    texts = (text_of(folder / "memory.max"), text_of(folder / "memory.limit_in_bytes"))
    numbers = [int(text) for text in texts if text.isdigit()]
    return [
        float(number) for number in numbers if number < 1 << 60
    ]  # cgroup v1 reports a huge number for no limit


def _whole_disk(device: Path) -> Path | None:
    """Return the directory of a disk in /sys, also for one of its partitions."""
    if not device.exists():
        return None
    real = device.resolve()
    return real.parent if (real / "partition").exists() else real
