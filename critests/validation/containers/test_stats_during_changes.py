"""STA: stats of containers, compared with the kernel's counters, while other containers are created and
removed, and after a restart.
"""

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from critests.api import api_pb2 as cri
from critests.node.cgroups import container_cgroup
from critests.testing import (
    Capability,
    CgroupValues,
    Container,
    Containers,
    OwnRuntime,
    Runtime,
    Sandbox,
    Sandboxes,
    disruptive,
    first_process,
    requirement,
    requires,
    setting_up,
    single,
    slow,
    with_user_namespace,
)

MIB = 1 << 20
STATS_SECONDS = 30.0
"""Runtimes measure only every ten seconds or so."""
USE_CPU = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
ALLOCATE = f"(dd if=/dev/zero bs={64 * MIB} count=1 | sleep 3600) </dev/null >/dev/null 2>&1 &"
"""Leaves a process that holds a full buffer of 64 MiB: `dd` waits, as `sleep` does not read the pipe."""
MANY_FILES = "mkdir /many; cd /many; seq 1 5000 | xargs touch; echo written"
LIST_SECONDS = 2.0
"""Limit for ListContainerStats, before scaling; a runtime that first reads every file of every layer exceeds
it.
"""
TEMPORARY = 8
"""How many containers are created and removed while others stay."""


@dataclass(frozen=True)
class MeasuredContainer:
    """A container that has used CPU time and memory, and now waits.

    Attributes:
        container: the container.
        mark: word in the command line of its first process, unique on the host.
    """

    container: Container
    mark: str

    def stats(self) -> cri.ContainerStats:
        """Return its stats, from ContainerStats."""
        request = cri.ContainerStatsRequest(container_id=self.container.id)
        return self.container.connection.runtime.ContainerStats(request).stats

    def cgroup_values(self) -> CgroupValues:
        """Return the counters of its cgroup, from this host."""
        # the cgroup of the container is below that of the pod
        parent = self.container.sandbox.config.linux.cgroup_parent
        return container_cgroup.of_process(first_process(self.mark), parent)


@pytest.fixture
def measured(containers: Containers) -> MeasuredContainer:
    """A container that has used CPU time and memory."""
    mark = f"mark-{secrets.token_hex(8)}"
    # `:` ignores its arguments, so the mark is only visible in the command line
    first = f": {mark}; {USE_CPU}; {ALLOCATE} echo done"
    return MeasuredContainer(containers.running(first=first, wait_for_log="done"), mark)


@requirement("STA-12")
@requires(Capability.SHARED_KERNEL, Capability.SAME_HOST, Capability.ROOT)
@slow
def test_cpu_time_in_stats_is_that_of_the_kernel(runtime: Runtime, measured: MeasuredContainer) -> None:
    """`usage_core_nano_seconds` SHOULD be the CPU time that the kernel has counted for the container's
    cgroup.

    Source: CpuUsage.usage_core_nano_seconds.
    """
    # a lower bound before the call and an upper one after it, as the counter only grows
    least = measured.cgroup_values().cpu_used

    reported = runtime.eventually(
        f"at least {least} ns of CPU time",
        lambda: measured.stats().cpu.usage_core_nano_seconds.value,
        STATS_SECONDS,
        lambda used: used >= least,
    )

    assert reported <= measured.cgroup_values().cpu_used


@requirement("STA-12")
@requires(Capability.SHARED_KERNEL, Capability.SAME_HOST, Capability.ROOT)
@slow
def test_memory_in_stats_is_that_of_the_kernel(runtime: Runtime, measured: MeasuredContainer) -> None:
    """`usage_bytes` SHOULD be the memory that the kernel has counted for the container's cgroup.

    Source: MemoryUsage.usage_bytes. The margin is a quarter of what the container has allocated, as the two
    values are not read at the same moment.
    """
    runtime.eventually(
        "the memory usage that the kernel counts",
        lambda: measured.stats().memory.usage_bytes.value - measured.cgroup_values().memory_used,
        STATS_SECONDS,
        lambda difference: abs(difference) < 16 * MIB,
    )


def selection(pod: Sandbox) -> cri.ListContainerStatsRequest:
    """Return the ListContainerStats request for the containers of a pod."""
    return cri.ListContainerStatsRequest(filter=cri.ContainerStatsFilter(pod_sandbox_id=pod.id))


def creating_and_removing(containers: Containers, pod: Sandbox) -> Callable[[], None]:
    """Return a function that creates and removes containers of a pod; its failures block the test."""

    def create_and_remove() -> None:
        with setting_up():
            for _ in range(TEMPORARY):
                containers.running(in_sandbox=pod).discard()

    return create_and_remove


@requirement("STA-17")
def test_stats_are_listed_during_creation_and_removal(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """ListContainerStats MUST NOT fail while containers are created and removed, and MUST return those that
    stay.

    Source: ListContainerStats, which returns all running containers.
    """
    staying = {containers.running(in_sandbox=own_sandbox).id for _ in range(2)}

    missing = []
    with ThreadPoolExecutor(1) as executor:
        churn = executor.submit(creating_and_removing(containers, own_sandbox))
        while not churn.done():
            stats = runtime.stub.ListContainerStats(selection(own_sandbox)).stats
            missing += [staying - {each.attributes.id for each in stats}]
        churn.result()

    assert not any(missing)


@requirement("STA-29/restart")
@disruptive
def test_cpu_time_in_stats_continues_after_a_restart(own_runtime: OwnRuntime) -> None:
    """ContainerStats and ListContainerStats MUST report a container that continued to run during a restart of
    the daemon, and its CPU time MUST NOT decrease.

    Source: ContainerStats, CpuUsage.usage_core_nano_seconds.
    """
    container = own_runtime.container(first=f"{USE_CPU}; echo done", wait_for_log="done")
    request = cri.ContainerStatsRequest(container_id=container.id)
    before = own_runtime.stub.ContainerStats(request).stats.cpu.usage_core_nano_seconds.value

    own_runtime.restart()

    after = own_runtime.stub.ContainerStats(request).stats
    listed = own_runtime.stub.ListContainerStats(selection(container.sandbox)).stats
    assert after.attributes.id == container.id
    assert after.cpu.usage_core_nano_seconds.value >= before
    assert [each.attributes.id for each in listed] == [container.id]


@requirement("STA-27")
@slow
def test_stats_do_not_wait_for_large_layers(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """ListContainerStats SHOULD return soon even if containers have very many files.

    Source: ListContainerStats. Not stated by the CRI; the kubelet calls it every ten seconds.
    """
    pod = sandboxes.ready()
    for _ in range(3):
        containers.running(in_sandbox=pod, first=MANY_FILES, wait_for_log="written")

    listed = runtime.timed(runtime.stub.ListContainerStats, selection(pod))

    assert len(listed.response.stats) == 3
    assert listed.seconds < LIST_SECONDS * runtime.scale


@requirement("STA-28")
@requires(Capability.USER_NAMESPACES)
@slow
def test_stats_are_reported_for_a_pod_with_a_user_namespace(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """ListContainerStats SHOULD report CPU time and memory of a container also if its pod has a user
    namespace.

    Source: ContainerStats, UserNamespace.
    """
    pod = sandboxes.ready(namespaces=with_user_namespace())
    containers.running(in_sandbox=pod, first=f"{USE_CPU}; {ALLOCATE} echo done", wait_for_log="done")

    def used() -> tuple[int, int]:
        stats = single("its stats", runtime.stub.ListContainerStats(selection(pod)).stats)
        return stats.cpu.usage_core_nano_seconds.value, stats.memory.working_set_bytes.value

    runtime.eventually(
        "CPU time, and half of the allocated memory",
        used,
        STATS_SECONDS,
        lambda usage: usage[0] > 0 and usage[1] > 32 * MIB,
    )
