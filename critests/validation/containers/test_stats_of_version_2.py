"""STA: stats that need cgroup v2: pressure, and swap separate from memory."""

from collections.abc import Callable

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Container,
    Containers,
    Runtime,
    blocked,
    requirement,
    requires,
    slow,
    unsupported,
)
from critests.validation.containers.pressure import Pressure, parse, psi_errors

MIB = 1 << 20
STATS_SECONDS = 30.0
"""Runtimes measure only every ten seconds or so."""
TENTH_OF_A_CPU = cri.LinuxContainerResources(cpu_period=100_000, cpu_quota=10_000)
# more than the quota allows, so that processes wait for CPU time, which is what pressure counts
BUSY = "(while :; do :; done) & (while :; do :; done) &"
"""Two loops that would use a whole core each."""
# the second limit includes the first: 16 MiB of swap
SWAPPING = cri.LinuxContainerResources(memory_limit_in_bytes=32 * MIB, memory_swap_limit_in_bytes=48 * MIB)

pytestmark = [requires(Capability.CGROUP_V2), slow]

ReadStats = Callable[[], cri.ContainerStats]
ReadPressure = Callable[[], Pressure]


@pytest.fixture
def throttled_container(containers: Containers) -> Container:
    """A container whose CPU limit is far below the CPU time that it would use."""
    return containers.running(first=BUSY, resources=TENTH_OF_A_CPU)


@pytest.fixture
def read_stats(runtime: Runtime, throttled_container: Container) -> ReadStats:
    """Calls ContainerStats for the throttled container."""
    request = cri.ContainerStatsRequest(container_id=throttled_container.id)
    return lambda: runtime.stub.ContainerStats(request).stats


@pytest.fixture
def read_pressure(throttled_container: Container) -> ReadPressure:
    """Reads the CPU pressure of the throttled container from the kernel."""

    def read() -> Pressure:
        # in its cgroup namespace, a container finds its own cgroup there
        response = throttled_container.exec("cat", "/sys/fs/cgroup/cpu.pressure")
        lines = parse(response.stdout.decode())
        if "some" not in lines:
            blocked("the kernel counts no pressure: a container cannot read cpu.pressure")
        return lines["some"]

    return read


@requirement("STA-10")
def test_pressure_is_reported(runtime: Runtime, read_pressure: ReadPressure, read_stats: ReadStats) -> None:
    """ContainerStats SHOULD report `psi` of CPU, memory and I/O if the kernel counts pressure.

    Source: CpuUsage.psi, MemoryUsage.psi, IoUsage.psi.
    """
    assert read_pressure().microseconds >= 0

    stats = runtime.eventually(
        "memory in the stats", read_stats, STATS_SECONDS, lambda stats: stats.HasField("memory")
    )

    reported = [stats.cpu.HasField("psi"), stats.memory.HasField("psi"), stats.io.HasField("psi")]
    if not any(reported):
        unsupported("pressure: ContainerStats reports none")
    assert all(reported)


@requirement("STA-11")
def test_pressure_is_in_nanoseconds_and_percent(
    runtime: Runtime, read_pressure: ReadPressure, read_stats: ReadStats
) -> None:
    """PsiData MUST be the pressure that the kernel has counted, with the total in nanoseconds and the
    averages in percent.

    Source: PsiData.
    """
    if not read_stats().cpu.HasField("psi"):
        unsupported("pressure: ContainerStats reports none")
    before = runtime.eventually(
        "a tenth of a second of pressure",
        read_pressure,
        holds=lambda pressure: pressure.microseconds > 100_000,
    )

    reported = runtime.eventually(
        f"{before.microseconds} microseconds of pressure in the stats",
        lambda: read_stats().cpu.psi.Some,
        STATS_SECONDS,
        lambda psi: psi.Total >= before.nanoseconds,
    )

    assert list(psi_errors(reported, before, read_pressure())) == []


@requirement("STA-08")
@requires(Capability.SWAP_ACCOUNTING)
def test_swap_in_stats_is_that_of_the_kernel(runtime: Runtime, containers: Containers) -> None:
    """`swap_usage_bytes` SHOULD equal memory.swap.current, and `swap_available_bytes` memory.swap.max minus
    memory.swap.current.

    Source: SwapUsage.
    """
    container = containers.running(resources=SWAPPING)
    files = [f"/sys/fs/cgroup/memory.swap.{name}" for name in ("current", "max")]
    request = cri.ContainerStatsRequest(container_id=container.id)
    if not runtime.stub.ContainerStats(request).stats.HasField("swap"):
        unsupported("swap: ContainerStats reports none")

    def differences() -> tuple[int, int]:
        used, most = map(int, container.output("cat", *files).split())
        swap = runtime.stub.ContainerStats(request).stats.swap
        return swap.swap_usage_bytes.value - used, swap.swap_available_bytes.value - (most - used)

    runtime.eventually("the kernel's swap usage", differences, STATS_SECONDS, lambda pair: pair == (0, 0))
