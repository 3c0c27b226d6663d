"""The metrics of containers and pods that the kubelet has exposed from cAdvisor, and what the kernel says.

Names and label keys are those of cAdvisor's `docs/storage/prometheus.md`, as far as the CRI's metrics are to
replace them (KEP-2371).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from critests.lifecycle.process_cgroups import memberships
from critests.node.cgroups import container_cgroup
from critests.testing import mount_table, open_files

IDENTITY = ("container", "pod", "namespace")
"""Label keys of each metric, which the kubelet added to those of cAdvisor."""
MIB = 1 << 20
USER_HZ = 100
"""Ticks in a second in cpuacct.stat, time(7)."""


@dataclass(frozen=True)
class KernelValue:
    """Where the kernel counts the value of a metric.

    Attributes:
        v1: file of cgroup version 1, with `:key` for one line of it; empty if there is none.
        v2: the same for version 2.
        unit: number that the value is divided by: 1e9 for nanoseconds; one for each version.
        tolerance: by which the metric may differ.
        labels: of the samples that have this value; empty for all.
    """

    v1: str
    v2: str
    unit: tuple[float, float] = (1, 1)
    tolerance: float = 0
    labels: Mapping[str, str] | None = None


@dataclass(frozen=True)
class CadvisorMetric:
    """A metric of cAdvisor.

    Attributes:
        name: of the metric.
        kind: the group of metrics that it belongs to.
        label_keys: besides those of every metric.
        kernel: where its values come from, one for each combination of labels; empty if another test
            compares them.
    """

    name: str
    kind: str
    label_keys: tuple[str, ...] = ()
    kernel: tuple[KernelValue, ...] = ()


def _memory(suffix: str, v1: str, v2: str) -> CadvisorMetric:
    # the kernel charges memory in batches of 64 pages for each CPU, and a process allocates meanwhile
    value = KernelValue(v1, v2, tolerance=2 * MIB)
    return CadvisorMetric(f"container_memory_{suffix}", "memory", kernel=(value,))


def _page_faults(name: str) -> KernelValue:
    # a few faults occur between the two readings
    return KernelValue(
        f"memory.stat:total_{name}",
        f"memory.stat:{name}",
        tolerance=100,
        labels={
            "failure_type": name,
        },
    )


def _seconds(suffix: str, v1: str, v2: str, ticks: float) -> CadvisorMetric:
    # metrics are whole seconds, and their sum over CPUs may lose one for each
    value = KernelValue(v1, v2, (ticks, 1e6), tolerance=2)
    return CadvisorMetric(f"container_cpu_{suffix}_seconds_total", "cpu", kernel=(value,))


def _periods(suffix: str, key: str) -> CadvisorMetric:
    value = KernelValue(f"cpu.stat:{key}", f"cpu.stat:{key}", tolerance=2)
    return CadvisorMetric(f"container_cpu_cfs_{suffix}", "cpu", kernel=(value,))


def _disk(name: str, operation: str, file: str) -> CadvisorMetric:
    keys = {"Read": "r", "Write": "w"}[operation] + {"io_service_bytes": "bytes", "io_serviced": "ios"}[file]
    value = KernelValue(f"blkio.throttle.{file}_recursive:{operation}", f"io.stat:{keys}")
    return CadvisorMetric(name, "disk I/O", ("device",), (value,))


def _pressure(resource: str, suffix: str, line: str) -> CadvisorMetric:
    value = KernelValue("", f"{resource}.pressure:{line}", (1, 1e6), tolerance=2)
    return CadvisorMetric(
        f"container_pressure_{resource}_{suffix}_seconds_total", "pressure", kernel=(value,)
    )


METRICS: Sequence[CadvisorMetric] = (
    CadvisorMetric(
        "container_cpu_usage_seconds_total",
        "cpu",
        ("cpu",),
        (KernelValue("cpuacct.usage", "cpu.stat:usage_usec", (1e9, 1e6), tolerance=2),),
    ),
    _seconds("user", "cpuacct.stat:user", "cpu.stat:user_usec", USER_HZ),
    _seconds("system", "cpuacct.stat:system", "cpu.stat:system_usec", USER_HZ),
    _periods("periods_total", "nr_periods"),
    _periods("throttled_periods_total", "nr_throttled"),
    _seconds("cfs_throttled", "cpu.stat:throttled_time", "cpu.stat:throttled_usec", 1e9),
    _memory("usage_bytes", "memory.usage_in_bytes", "memory.current"),
    _memory("max_usage_bytes", "memory.max_usage_in_bytes", "memory.peak"),
    _memory("rss", "memory.stat:total_rss", "memory.stat:anon"),
    _memory("cache", "memory.stat:total_cache", "memory.stat:file"),
    _memory("mapped_file", "memory.stat:total_mapped_file", "memory.stat:file_mapped"),
    _memory("swap", "memory.stat:total_swap", "memory.swap.current"),
    _memory("kernel_usage", "memory.kmem.usage_in_bytes", ""),
    # of cgroup version 1 only
    CadvisorMetric("container_memory_failcnt", "memory", kernel=(KernelValue("memory.failcnt", ""),)),
    # compared with ContainerStats
    CadvisorMetric("container_memory_working_set_bytes", "memory"),
    CadvisorMetric(
        "container_memory_failures_total",
        "memory",
        ("failure_type", "scope"),
        (_page_faults("pgfault"), _page_faults("pgmajfault")),
    ),
    CadvisorMetric("container_oom_events_total", "memory"),
    *(
        CadvisorMetric(f"container_network_{name}_total", "network", ("interface",))
        for name in (
            "receive_bytes",
            "receive_packets",
            "receive_packets_dropped",
            "receive_errors",
            "transmit_bytes",
            "transmit_packets",
            "transmit_packets_dropped",
            "transmit_errors",
        )
    ),
    *(
        CadvisorMetric(f"container_fs_{name}", "file system", ("device",))
        for name in ("usage_bytes", "limit_bytes", "inodes_total", "inodes_free")
    ),
    _disk("container_fs_reads_bytes_total", "Read", "io_service_bytes"),
    _disk("container_fs_writes_bytes_total", "Write", "io_service_bytes"),
    _disk("container_fs_reads_total", "Read", "io_serviced"),
    _disk("container_fs_writes_total", "Write", "io_serviced"),
    CadvisorMetric(
        "container_blkio_device_usage_total", "disk I/O", ("device", "major", "minor", "operation")
    ),
    *(
        CadvisorMetric(f"container_{name}", "processes")
        for name in ("processes", "threads", "threads_max", "file_descriptors", "sockets")
    ),
    CadvisorMetric("container_ulimits_soft", "processes", ("ulimit",)),
    *(
        CadvisorMetric(f"container_spec_{name}", "settings")
        for name in (
            "cpu_period",
            "cpu_quota",
            "cpu_shares",
            "memory_limit_bytes",
            "memory_reservation_limit_bytes",
            "memory_swap_limit_bytes",
        )
    ),
    CadvisorMetric("container_start_time_seconds", "times"),
    CadvisorMetric("container_last_seen", "times"),
    *(
        CadvisorMetric(f"container_hugetlb_{name}_bytes", "huge pages", ("pagesize",))
        for name in ("usage", "max_usage")
    ),
    *(
        _pressure(resource, suffix, line)
        for resource in ("cpu", "memory", "io")
        for suffix, line in (("stalled", "full"), ("waiting", "some"))
    ),
)
KINDS = tuple(dict.fromkeys(metric.kind for metric in METRICS))


def of_kind(kind: str) -> Iterator[CadvisorMetric]:
    """Yield the metrics of a kind."""
    return (metric for metric in METRICS if metric.kind == kind)


@dataclass(frozen=True)
class KernelCounters:
    """What the kernel counts for a container.

    Attributes:
        pid: of its first process on this machine.
        parent: the cgroup of its pod, as in the request.
    """

    pid: int
    parent: str

    @cached_property
    def place(self) -> tuple[int, list[Path]]:
        """The cgroup version, and the folders of the container's cgroup."""
        return container_cgroup.folders_of(memberships(self.pid), mount_table(), self.parent)

    @property
    def version(self) -> int:
        """The cgroup version."""
        return self.place[0]

    def value(self, source: KernelValue) -> float | None:
        """Return a value in the unit of the metric; None if the kernel does not count it."""
        name, _, key = (source.v1 if self.version == 1 else source.v2).partition(":")
        text = self.text(name) if name else None
        number = None if text is None else self._number(name, key, text)
        return None if number is None else number / source.unit[self.version - 1]

    def counted(self, source: KernelValue) -> float:
        """Return a value that the kernel counts."""
        return self.value(source) or 0

    def text(self, name: str) -> str | None:
        """Return a file of the cgroup; None if it does not exist."""
        paths = [folder / name for folder in self.place[1] if (folder / name).is_file()]
        return paths[0].read_text(encoding="ascii") if paths else None

    def _number(self, name: str, key: str, text: str) -> float | None:
        if not key:
            return float(text)
        lines = [line.split() for line in text.splitlines()]
        if name.endswith(".pressure"):
            totals = [line[-1].removeprefix("total=") for line in lines if line[0] == key]
        elif name == "io.stat":
            totals = [part.partition("=")[2] for line in lines for part in line if part.startswith(f"{key}=")]
        elif name.startswith("blkio."):
            totals = [line[2] for line in lines if line[1:2] == [key]]
        else:
            totals = [line[1] for line in lines if line[0] == key]
        return sum(map(float, totals)) if totals else None

    def pids(self) -> list[int]:
        """Return the processes of the container."""
        text = self.text("cgroup.procs") or ""
        return [int(line) for line in text.split()]

    def processes(self) -> Mapping[str, float]:
        """Return the values of the metrics of processes."""
        files = [target for pid in self.pids() for target in open_files(pid)]
        most = (self.text("pids.max") or "max").strip()
        return {
            "container_processes": len(self.pids()),
            "container_threads": float(self.text("pids.current") or 0),
            # 0 is no limit, by the help text
            "container_threads_max": 0 if most == "max" else float(most),
            "container_file_descriptors": len(files),
            "container_sockets": sum(target.startswith("socket:") for target in files),
        }
