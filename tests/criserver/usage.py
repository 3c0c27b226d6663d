"""Statistics of containers and sandboxes, as far as plain processes have them, and a few metrics."""

import time
from collections.abc import Iterator

import psutil

from critests.api import api_pb2 as cri
from tests.criserver.sandboxes import selects
from tests.criserver.state import Container, Sandbox, Store

DESCRIPTORS = [
    cri.MetricDescriptor(
        name="container_cpu_usage_seconds_total", help="CPU time used", label_keys=["id", "name"]
    ),
    cri.MetricDescriptor(
        name="container_memory_working_set_bytes", help="memory in use", label_keys=["id", "name"]
    ),
]
RECEIVED = cri.MetricDescriptor(
    name="container_network_receive_bytes_total",
    help="bytes received",
    label_keys=["id", "name", "interface"],
)
"""For pods only."""


def _number(value: int) -> cri.UInt64Value:
    return cri.UInt64Value(value=value)


def container_stats(container: Container) -> cri.ContainerStats:
    """Return the ContainerStats of one container."""
    now = time.time_ns()
    cpu, resident = _usage(container)
    return cri.ContainerStats(
        attributes=cri.ContainerAttributes(
            id=container.id,
            metadata=container.config.metadata,
            labels=container.config.labels,
            annotations=container.config.annotations,
        ),
        cpu=cri.CpuUsage(timestamp=now, usage_core_nano_seconds=_number(cpu), usage_nano_cores=_number(0)),
        memory=cri.MemoryUsage(
            timestamp=now,
            working_set_bytes=_number(resident),
            usage_bytes=_number(resident),
            rss_bytes=_number(resident),
            page_faults=_number(0),
            major_page_faults=_number(0),
        ),
        writable_layer=cri.FilesystemUsage(
            timestamp=now,
            fs_id=cri.FilesystemIdentifier(mountpoint="/var/lib"),
            used_bytes=_number(4096),
            inodes_used=_number(1),
        ),
    )


def _usage(container: Container) -> tuple[int, int]:
    """Return a container's CPU time (ns) and resident memory (bytes); zero if it does not run."""
    process = container.process.process
    if container.state != cri.CONTAINER_RUNNING or process is None:
        return 0, 0
    try:
        usage = psutil.Process(process.pid)
        times = usage.cpu_times()
        return int((times.user + times.system) * 10**9), int(usage.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0, 0


class Statistics:
    """The stats and metrics RPCs."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def containers(self, wanted: cri.ContainerStatsFilter) -> Iterator[cri.ContainerStats]:
        """Yield the stats of the running containers that match a filter."""
        with self.store.lock:
            containers = list(self.store.containers.values())
        for container in containers:
            if container.state != cri.CONTAINER_RUNNING or not container.id.startswith(wanted.id):
                continue
            if wanted.pod_sandbox_id in {"", container.sandbox_id} and selects(
                wanted.label_selector, container.config.labels
            ):
                yield container_stats(container)

    def sandbox(self, sandbox: Sandbox) -> cri.PodSandboxStats:
        """Return the PodSandboxStats of one sandbox."""
        now = time.time_ns()
        containers = list(self.containers(cri.ContainerStatsFilter(pod_sandbox_id=sandbox.id)))
        resident = sum(container.memory.working_set_bytes.value for container in containers)
        interface = cri.NetworkInterfaceUsage(name="eth0", rx_bytes=_number(0), tx_bytes=_number(0))
        return cri.PodSandboxStats(
            attributes=cri.PodSandboxAttributes(
                id=sandbox.id,
                metadata=sandbox.config.metadata,
                labels=sandbox.config.labels,
                annotations=sandbox.config.annotations,
            ),
            linux=cri.LinuxPodSandboxStats(
                cpu=cri.CpuUsage(
                    timestamp=now,
                    usage_core_nano_seconds=_number(
                        sum(container.cpu.usage_core_nano_seconds.value for container in containers)
                    ),
                ),
                memory=cri.MemoryUsage(
                    timestamp=now, working_set_bytes=_number(resident), usage_bytes=_number(resident)
                ),
                network=cri.NetworkUsage(timestamp=now, default_interface=interface),
                process=cri.ProcessUsage(timestamp=now, process_count=_number(1 + len(containers))),
                containers=containers,
            ),
        )

    def sandboxes(self, wanted: cri.PodSandboxStatsFilter) -> Iterator[cri.PodSandboxStats]:
        """Yield the stats of the ready sandboxes that match a filter."""
        with self.store.lock:
            sandboxes = list(self.store.sandboxes.values())
        for sandbox in sandboxes:
            if sandbox.state != cri.SANDBOX_READY or not sandbox.id.startswith(wanted.id):
                continue
            if selects(wanted.label_selector, sandbox.config.labels):
                yield self.sandbox(sandbox)

    def metrics(self) -> Iterator[cri.PodSandboxMetrics]:
        """Yield the metrics of every ready sandbox and its running containers."""
        for stats in self.sandboxes(cri.PodSandboxStatsFilter()):
            yield cri.PodSandboxMetrics(
                pod_sandbox_id=stats.attributes.id,
                metrics=[
                    *_metrics(
                        stats.attributes.id,
                        stats.attributes.metadata.name,
                        stats.linux.cpu,
                        stats.linux.memory,
                    ),
                    _received(stats),
                ],
                container_metrics=[
                    cri.ContainerMetrics(
                        container_id=one.attributes.id,
                        metrics=_metrics(
                            one.attributes.id, one.attributes.metadata.name, one.cpu, one.memory
                        ),
                    )
                    for one in stats.linux.containers
                ],
            )


def _metrics(owner: str, name: str, cpu: cri.CpuUsage, memory: cri.MemoryUsage) -> list[cri.Metric]:
    values = [
        (cri.COUNTER, cpu.usage_core_nano_seconds.value // 10**9),
        (cri.GAUGE, memory.working_set_bytes.value),
    ]
    return [
        cri.Metric(
            name=described.name,
            timestamp=cpu.timestamp,
            metric_type=kind,
            label_values=[owner, name],
            value=_number(value),
        )
        for described, (kind, value) in zip(DESCRIPTORS, values, strict=True)
    ]


def _received(stats: cri.PodSandboxStats) -> cri.Metric:
    """Return the bytes that a pod received on the interface that every machine has."""
    return cri.Metric(
        name=RECEIVED.name,
        timestamp=stats.linux.cpu.timestamp,
        metric_type=cri.COUNTER,
        label_values=[stats.attributes.id, stats.attributes.metadata.name, "lo"],
        value=_number(0),
    )
