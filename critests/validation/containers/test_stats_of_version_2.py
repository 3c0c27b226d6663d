"""STA: what only cgroup v2 counts: pressure, and swap apart from memory."""

from collections.abc import Callable

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime
from critests.lifecycle.containers import Container
from critests.run.marks import requirement, requires, slow
from critests.run.outcomes import blocked, unsupported
from critests.validation.containers.pressure import Pressure, parse, psi_errors

MIB = 1 << 20
STATS_SECONDS = 30.0
"""Runtimes look every ten seconds or so."""
A_TENTH = cri.LinuxContainerResources(cpu_period=100_000, cpu_quota=10_000)
BUSY = "(while :; do :; done) & (while :; do :; done) &"
"""Two that want a whole core each."""
SWAPPING = cri.LinuxContainerResources(memory_limit_in_bytes=32 * MIB, memory_swap_limit_in_bytes=48 * MIB)

pytestmark = [requires(Capability.CGROUP_V2), slow]

Look = Callable[[], cri.ContainerStats]
Kernel = Callable[[], Pressure]


@pytest.fixture
def pressed(containers: Containers) -> Container:
    """A container that gets a small part of the time that it wants."""
    return containers.running(first=BUSY, resources=A_TENTH)


@pytest.fixture
def look(runtime: Runtime, pressed: Container) -> Look:
    """Return what asks for its stats."""
    request = cri.ContainerStatsRequest(container_id=pressed.id)
    return lambda: runtime.stub.ContainerStats(request).stats


@pytest.fixture
def kernel(pressed: Container) -> Kernel:
    """Return what reads the pressure on its CPU time from the kernel."""

    def read() -> Pressure:
        answer = pressed.exec("cat", "/sys/fs/cgroup/cpu.pressure")
        lines = parse(answer.stdout.decode())
        if "some" not in lines:
            blocked("the kernel counts no pressure: cpu.pressure cannot be read in a container")
        return lines["some"]

    return read


@requirement("STA-10")
def test_pressure_is_reported(runtime: Runtime, kernel: Kernel, look: Look) -> None:
    """Where the kernel counts pressure, ContainerStats SHOULD tell it of CPU time, memory and input and
    output.

    Source: CpuUsage.psi, MemoryUsage.psi, IoUsage.psi.
    """
    assert kernel().microseconds >= 0

    stats = runtime.eventually(
        "memory in the stats", look, STATS_SECONDS, lambda seen: seen.HasField("memory")
    )

    told = [stats.cpu.HasField("psi"), stats.memory.HasField("psi"), stats.io.HasField("psi")]
    if not any(told):
        unsupported("pressure: ContainerStats tells none")
    assert all(told)


@requirement("STA-11")
def test_pressure_is_in_nanoseconds_and_percent(runtime: Runtime, kernel: Kernel, look: Look) -> None:
    """Pressure that is told MUST be what the kernel has counted: its time in nanoseconds, its averages in
    percent.

    Source: PsiData.
    """
    if not look().cpu.HasField("psi"):
        unsupported("pressure: ContainerStats tells none")
    before = runtime.eventually(
        "time that was waited", kernel, holds=lambda seen: seen.microseconds > 100_000
    )

    told = runtime.eventually(
        f"{before.microseconds} microseconds of pressure in the stats",
        lambda: look().cpu.psi.Some,
        STATS_SECONDS,
        lambda seen: seen.Total >= before.nanoseconds,
    )

    assert list(psi_errors(told, before, kernel())) == []


@requirement("STA-08")
@requires(Capability.SWAP_ACCOUNTING)
def test_swap_in_stats_is_the_kernels(runtime: Runtime, containers: Containers) -> None:
    """Swap that is told SHOULD be what the kernel counts for the container, and what it may still have what
    is left of its limit.

    Source: SwapUsage.
    """
    container = containers.running(resources=SWAPPING)
    files = [f"/sys/fs/cgroup/memory.swap.{name}" for name in ("current", "max")]
    request = cri.ContainerStatsRequest(container_id=container.id)
    if not runtime.stub.ContainerStats(request).stats.HasField("swap"):
        unsupported("swap: ContainerStats tells none")

    def differences() -> tuple[int, int]:
        used, most = map(int, container.output("cat", *files).split())
        swap = runtime.stub.ContainerStats(request).stats.swap
        return swap.swap_usage_bytes.value - used, swap.swap_available_bytes.value - (most - used)

    runtime.eventually("the figures of the kernel", differences, STATS_SECONDS, lambda seen: seen == (0, 0))
