"""STA: stats of containers, held against the kernel's own figures, beside others that come and go, and over a
restart.
"""

import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.runtime import Runtime
from critests.fixtures.sandboxes import Sandboxes
from critests.lifecycle.containers import Container
from critests.lifecycle.evidence import first_process
from critests.lifecycle.sandboxes import Sandbox
from critests.lifecycle.told import the_one
from critests.lifecycle.user_namespaces import with_user_namespace
from critests.node import container_cgroup
from critests.node.container_cgroup import CgroupValues
from critests.run.marks import disruptive, requirement, requires, slow
from critests.run.outcomes import setting_up

MIB = 1 << 20
STATS_SECONDS = 30.0
"""Runtimes look every ten seconds or so."""
BURN = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
TAKE = f"(dd if=/dev/zero bs={64 * MIB} count=1 | sleep 3600) </dev/null >/dev/null 2>&1 &"
"""Leaves a program behind that holds so much memory."""
MANY_FILES = "mkdir /many; cd /many; seq 1 5000 | xargs touch; echo written"
LIST_SECONDS = 2.0
"""For a list of statistics, before scaling; whoever looks at each file of each layer first is late."""
COMING = 8
"""How many containers come and go beside those that stay."""


@dataclass(frozen=True)
class Worked:
    """A container that has used CPU time and memory and does nothing any more.

    Attributes:
        container: in hand.
        mark: what its first process has in its command line, and nothing else on the machine.
    """

    container: Container
    mark: str

    def stats(self) -> cri.ContainerStats:
        """Ask for its stats."""
        request = cri.ContainerStatsRequest(container_id=self.container.id)
        return self.container.connection.runtime.ContainerStats(request).stats

    def kernel(self) -> CgroupValues:
        """Read its cgroup from this machine."""
        parent = self.container.sandbox.config.linux.cgroup_parent
        return container_cgroup.of_process(first_process(self.mark), parent)


@pytest.fixture
def worked(containers: Containers) -> Worked:
    """A container that has worked."""
    mark = f"mark-{secrets.token_hex(8)}"
    first = f": {mark}; {BURN}; {TAKE} echo done"
    return Worked(containers.running(first=first, wait_for_log="done"), mark)


@requirement("STA-12")
@requires(Capability.SHARED_KERNEL, Capability.SAME_HOST, Capability.ROOT)
@slow
def test_cpu_time_in_stats_is_the_kernels(runtime: Runtime, worked: Worked) -> None:
    """The CPU time in ContainerStats SHOULD be what the kernel has counted for the container's cgroup.

    Source: CpuUsage.usage_core_nano_seconds.
    """
    least = worked.kernel().cpu_used

    told = runtime.eventually(
        f"at least {least} ns of CPU time",
        lambda: worked.stats().cpu.usage_core_nano_seconds.value,
        STATS_SECONDS,
        lambda used: used >= least,
    )

    assert told <= worked.kernel().cpu_used


@requirement("STA-12")
@requires(Capability.SHARED_KERNEL, Capability.SAME_HOST, Capability.ROOT)
@slow
def test_memory_in_stats_is_the_kernels(runtime: Runtime, worked: Worked) -> None:
    """The memory in ContainerStats SHOULD be what the kernel has counted for the container's cgroup.

    Source: MemoryUsage.usage_bytes. A difference that is small beside what the container has taken is left,
    as both are not read at the same moment.
    """
    runtime.eventually(
        "the memory that the kernel counts",
        lambda: worked.stats().memory.usage_bytes.value - worked.kernel().memory_used,
        STATS_SECONDS,
        lambda difference: abs(difference) < 16 * MIB,
    )


def selection(pod: Sandbox) -> cri.ListContainerStatsRequest:
    """Return the request for the stats of a pod's containers."""
    return cri.ListContainerStatsRequest(filter=cri.ContainerStatsFilter(pod_sandbox_id=pod.id))


def coming_and_going(containers: Containers, pod: Sandbox) -> Callable[[], None]:
    """Return what makes and removes containers of a pod, which is set-up."""

    def come_and_go() -> None:
        with setting_up():
            for _ in range(COMING):
                containers.running(in_sandbox=pod).discard()

    return come_and_go


@requirement("STA-17")
def test_stats_are_listed_while_containers_come_and_go(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """ListContainerStats MUST not fail while containers are made and removed, and MUST tell of those that
    stay.

    Source: ListContainerStats, which tells of all containers that run.
    """
    staying = {containers.running(in_sandbox=own_sandbox).id for _ in range(2)}

    lacking = []
    with ThreadPoolExecutor(1) as beside:
        churn = beside.submit(coming_and_going(containers, own_sandbox))
        while not churn.done():
            stats = runtime.stub.ListContainerStats(selection(own_sandbox)).stats
            lacking += [staying - {each.attributes.id for each in stats}]
        churn.result()

    assert not any(lacking)


@requirement("STA-29/restart")
@disruptive
def test_cpu_time_in_stats_goes_on_over_a_restart(own_runtime: OwnRuntime) -> None:
    """After a restart of the daemon ContainerStats and ListContainerStats MUST tell of a container that went
    on meanwhile, and its CPU time MUST NOT have fallen.

    Source: ContainerStats, CpuUsage.usage_core_nano_seconds.
    """
    container = own_runtime.container(first=f"{BURN}; echo done", wait_for_log="done")
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
    """A list of stats SHOULD be answered soon also where containers have very many files.

    Source: ListContainerStats. Not stated by the CRI; the kubelet asks every ten seconds.
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
    """CPU time and memory SHOULD be told of a container also where its pod has a user namespace.

    Source: ContainerStats, UserNamespace.
    """
    pod = sandboxes.ready(namespaces=with_user_namespace())
    containers.running(in_sandbox=pod, first=f"{BURN}; {TAKE} echo done", wait_for_log="done")

    def used() -> tuple[int, int]:
        stats = the_one("its stats", runtime.stub.ListContainerStats(selection(pod)).stats)
        return stats.cpu.usage_core_nano_seconds.value, stats.memory.working_set_bytes.value

    runtime.eventually(
        "CPU time, and the memory that was taken",
        used,
        STATS_SECONDS,
        lambda seen: seen[0] > 0 and seen[1] > 32 * MIB,
    )
