"""Figures of stats and metrics: counters never fall, and nothing exceeds what the machine has."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from critests.api import api_pb2 as cri
from critests.responses.object_history import KnownObject
from critests.responses.requested_settings import metadata_findings
from critests.responses.rules import Difference, Finding, Response

Reported = Any
CLOCK_SECONDS = 2.0
"""Tolerated difference between the clocks of the client, the runtime and the kernel's CPU accounting."""
OVERSHOOT = 2
"""A rate over a short interval exceeds the number of CPUs, as kernel and runtime read their clocks apart."""


@dataclass(frozen=True)
class MachineSize:
    """CPUs and memory of the runtime's machine.

    Attributes:
        cpus: number of CPUs.
        memory_bytes: of RAM.
    """

    cpus: int
    memory_bytes: int

    @classmethod
    def this_one(cls) -> "MachineSize":
        """Return this machine, for a runtime that runs on it."""
        return cls(os.cpu_count() or 1, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))


def stats_findings(
    known: KnownObject, stats: Reported, of: Response, machine: MachineSize | None
) -> Iterator[Finding]:
    """Yield what is impossible in the stats of a container, given its earlier ones."""
    identity = stats.attributes.id
    if known.config is not None:
        yield from metadata_findings(
            known.config, stats.attributes, identity, metadata="STA-01", labels="STA-01", annotations="STA-01"
        )
    cpu, memory = stats.cpu, stats.memory
    counters = {
        ("STA-02/set", "CpuUsage.timestamp"): cpu.timestamp,
        ("STA-03", "CpuUsage.usage_core_nano_seconds"): cpu.usage_core_nano_seconds.value,
        ("STA-02/set", "MemoryUsage.timestamp"): memory.timestamp,
        ("STA-07", "MemoryUsage.page_faults"): memory.page_faults.value,
        ("STA-07", "MemoryUsage.major_page_faults"): memory.major_page_faults.value,
    }
    for (aspect, name), value in counters.items():
        yield from _never_falls(known, aspect, name, value, of, identity)
    if machine is None:
        return
    for name in ("usage_bytes", "working_set_bytes", "rss_bytes"):
        if getattr(memory, name).value > machine.memory_bytes:
            limit = f"<= {machine.memory_bytes}, the memory of the machine"
            yield (
                "STA-07",
                f"MemoryUsage.{name}",
                Difference(name, limit, getattr(memory, name).value, identity),
            )
    if cpu.usage_nano_cores.value > OVERSHOOT * machine.cpus * 10**9:
        limit = f"<= {OVERSHOOT} * {machine.cpus} CPUs"
        yield (
            "STA-04",
            "CpuUsage.usage_nano_cores",
            Difference("usage_nano_cores", limit, cpu.usage_nano_cores.value, identity),
        )
    if known.created_at:
        age = max(0.0, of.ended - known.created_at / 1e9) + CLOCK_SECONDS
        most = int(machine.cpus * age * 1e9)
        if cpu.usage_core_nano_seconds.value > most:
            yield (
                "STA-03",
                "CpuUsage.usage_core_nano_seconds",
                Difference(
                    "usage_core_nano_seconds",
                    f"<= {most}, {machine.cpus} CPUs since its creation",
                    cpu.usage_core_nano_seconds.value,
                    identity,
                ),
            )


def sandbox_stats_findings(known: KnownObject, stats: Reported, of: Response) -> Iterator[Finding]:
    """Yield what is impossible in the stats of a sandbox, given its configuration and earlier ones."""
    if known.config is not None:
        yield from metadata_findings(
            known.config,
            stats.attributes,
            stats.attributes.id,
            metadata="STA-30",
            labels="STA-30",
            annotations="STA-30",
        )
    network = stats.linux.network
    interfaces = [*network.interfaces]
    if network.HasField("default_interface"):
        interfaces.append(network.default_interface)
    for interface in interfaces:
        for name in ("rx_bytes", "rx_errors", "tx_bytes", "tx_errors"):
            yield from _never_falls(
                known,
                "STA-20/default",
                f"NetworkInterfaceUsage.{name}",
                getattr(interface, name).value,
                of,
                stats.attributes.id,
                interface.name,
            )


def metric_findings(
    known: KnownObject,
    metrics: Reported,
    of: Response,
    descriptors: dict[str, int],
) -> Iterator[Finding]:
    """Yield which counters of a sandbox or container fell, and which metrics their descriptor contradicts.

    Args:
        known: the sandbox or container.
        metrics: PodSandboxMetrics or ContainerMetrics.
        of: the response.
        descriptors: name to the number of label keys; empty if not known.
    """
    identity = str(getattr(metrics, "pod_sandbox_id", "") or getattr(metrics, "container_id", ""))
    for metric in metrics.metrics:
        if descriptors and descriptors.get(metric.name) != len(metric.label_values):
            keys = descriptors.get(metric.name)
            expected = "a described metric" if keys is None else f"{keys} label values"
            yield (
                "MET-03",
                "Metric.label_values",
                Difference(metric.name, expected, list(metric.label_values), identity),
            )
        if metric.metric_type == cri.COUNTER:
            labels = "|".join(metric.label_values)
            yield from _never_falls(
                known,
                "MET-06/counters",
                "Metric.value",
                metric.value.value,
                of,
                identity,
                metric.name,
                labels,
            )


def _never_falls(
    known: KnownObject, aspect: str, name: str, value: int, of: Response, identity: str, *which: str
) -> Iterator[Finding]:
    """Compare a counter with its highest value of a response that came before this call; 0 is no sample."""
    key = "|".join((name, *which))
    highest, at = known.counters.get(key, (0, 0.0))
    if 0 < value < highest and of.started >= at:
        short = " ".join((name.partition(".")[2], *which))
        yield aspect, name, Difference(short, f">= {highest}, as before", value, identity)
    if value > highest:
        known.counters[key] = (value, of.ended)
