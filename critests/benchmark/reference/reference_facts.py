"""What of the machine bears on timing, beside the facts of every run's fingerprint: processor, disk, load,
limits.

Each is what the kernel says at the time; a fact that it does not tell is None or an empty text, never
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
    """Return the facts as values that JSON can hold.

    Args:
        path: where the runtime keeps its files, existing or to be made.
        load: the load average before the start; read now by default.

    Returns:
        `governor` (each in use), `turbo`, `smt` (whether on, None where the kernel does not tell),
        `mitigations` (vulnerability to what is done about it), `numa_nodes`, `disk` (see `disk_of`),
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
    """Return the frequency governors in use; none where the machine lets nobody choose a frequency, as most
    virtual ones.
    """
    return sorted(
        {text for file in cpu.glob("cpu[0-9]*/cpufreq/scaling_governor") if (text := text_of(file))}
    )


def turbo(cpu: Path = _CPU) -> bool | None:
    """Tell whether cores may run faster than their nominal frequency; None where the kernel does not tell."""
    off = text_of(cpu / "intel_pstate/no_turbo")
    if off:
        return off == "0"
    boost = text_of(cpu / "cpufreq/boost")
    return boost == "1" if boost else None


def smt(cpu: Path = _CPU) -> bool | None:
    """Tell whether threads share cores; None where the kernel does not tell."""
    active = text_of(cpu / "smt/active")
    return active == "1" if active else None


def disk_of(path: Path) -> dict[str, object]:
    """Return what a path lies on.

    Returns:
        `filesystem` and its `options`, and of the disk below it the `device`, whether it is `rotational`, its
        `model` and `scheduler`, as far as the kernel tells; a file system in memory or over others has no
        device.
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
    """Return how much a process may use by its own cgroup and those above it.

    Args:
        pid: the process; this one by default.
        mounts: the mount table; this process's by default.

    Returns:
        `cpus` (cores' worth of time, None for no limit) and `memory_bytes`, each the smallest on the way up.
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
    ]  # version 1 writes a huge number for no limit


def _whole_disk(device: Path) -> Path | None:
    """Return the directory of a disk in /sys, also for one of its partitions."""
    if not device.exists():
        return None
    real = device.resolve()
    return real.parent if (real / "partition").exists() else real
