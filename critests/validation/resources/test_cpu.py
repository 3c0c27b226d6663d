"""RES: CPU weight, quota and sets, as the kernel got them."""

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.lifecycle.containers import Container
from critests.lifecycle.process import ProcessStatus
from critests.run.marks import requirement, requires
from critests.run.outcomes import blocked
from critests.validation.resources.cpus import another_cpu, impossible_cpu, impossible_node
from critests.validation.resources.limits import Limits

BUSY = """
busy() { timeout -s KILL 1 sh -c 'while :; do :; done'; }
before=$(cut -d' ' -f1 /proc/uptime)
busy & busy & wait
echo elapsed $before $(cut -d' ' -f1 /proc/uptime)
grep -hs nr_throttled /sys/fs/cgroup/cpu.stat /sys/fs/cgroup/cpu/cpu.stat
times
"""
"""Keeps two processors busy for a second, and prints how long that took and how much of them it got."""


def seconds_in(text: str) -> float:
    """Return the seconds in what `times` prints: `0m1.250s`."""
    minutes, _, seconds = text.rstrip("s").partition("m")
    return int(minutes) * 60 + float(seconds)


@requirement("RES-01")
@pytest.mark.parametrize("shares", [2, 512, 4096])
def test_cpu_shares_become_the_weight_of_the_cgroup(limits: Limits, shares: int) -> None:
    """The CPU shares of a container MUST be those of its cgroup; with version 2 its weight is what one of the
    known conversions makes of them.

    Source: LinuxContainerResources.cpu_shares.
    """
    limits.need("cpu")

    limited = limits.running(resources=cri.LinuxContainerResources(cpu_shares=shares))

    assert limited.shows(lambda cgroup: (cgroup.has_shares(shares), cgroup.cpu_weight)) == {
        (True, limited.inside().cpu_weight)
    }


@requirement("RES-02")
@pytest.mark.parametrize(("quota", "seen"), [(30_000, 30_000), (-1, None)], ids=["some", "negative"])
def test_cpu_quota_and_period_are_those_of_the_cgroup(limits: Limits, quota: int, seen: int | None) -> None:
    """The CPU quota and the period of a container MUST be those of its cgroup, and a negative quota MUST mean
    no limit.

    Source: LinuxContainerResources.cpu_quota and cpu_period.
    """
    limits.need("cpu")

    limited = limits.running(resources=cri.LinuxContainerResources(cpu_quota=quota, cpu_period=60_000))

    assert limited.shows(lambda cgroup: (cgroup.cpu_quota, cgroup.cpu_period)) == {(seen, 60_000)}


@requirement("RES-03")
def test_cpu_quota_throttles(containers: Containers, limits: Limits) -> None:
    """Processes that want more CPU time than the quota MUST be held to it.

    Source: LinuxContainerResources.cpu_quota; two busy processes and a twentieth of a CPU, which they get on
    a busy machine too, measured by the kernel's own clock of processes.
    """
    limits.need("cpu")
    quota = cri.LinuxContainerResources(cpu_quota=5_000, cpu_period=100_000, cpu_shares=1024)

    container = containers.running(script=BUSY, resources=quota)

    clock, periods, *_, children = [line.split() for line in container.final_log_lines("stdout")]
    elapsed, throttled = float(clock[2]) - float(clock[1]), int(periods[1])
    used = sum(seconds_in(text) for text in children)
    # a process may run on until the next tick of the kernel's clock, on each of two CPUs
    assert used <= 0.08 * elapsed + 0.05
    if not throttled and used < 0.04 * elapsed:
        blocked("this machine is too busy to give a container the twentieth of a CPU that it may use")
    assert throttled > 0


@requirement("RES-14")
@requires(Capability.SAME_HOST)
def test_cpu_and_memory_sets_restrict(limits: Limits) -> None:
    """A container MUST run only on the CPUs that were chosen, and use memory only of the nodes that were
    chosen.

    Source: LinuxContainerResources.cpuset_cpus and cpuset_mems.
    """
    limits.need("cpuset")
    chosen = another_cpu()

    limited = limits.running(resources=cri.LinuxContainerResources(cpuset_cpus=str(chosen), cpuset_mems="0"))

    assert limited.shows(lambda cgroup: (cgroup.cpus, cgroup.mems)) == {(frozenset({chosen}), frozenset({0}))}
    first = first_process(limited.container)
    assert (first.fields["Cpus_allowed_list"], first.fields["Mems_allowed_list"]) == (str(chosen), "0")


@requirement("RES-15")
@requires(Capability.SAME_HOST)
@pytest.mark.parametrize("what", ["CPU", "memory node"])
def test_what_the_machine_cannot_have_is_refused(limits: Limits, containers: Containers, what: str) -> None:
    """A container for a CPU or a memory node that the machine cannot have SHOULD be refused when it is
    created or started.

    Source: LinuxContainerResources.cpuset_cpus and cpuset_mems; not stated by the CRI, and on any other the
    choice would be broken.
    """
    limits.need("cpuset")
    resources = cri.LinuxContainerResources(cpuset_cpus=str(impossible_cpu()))
    if what == "memory node":
        resources = cri.LinuxContainerResources(cpuset_mems=str(impossible_node()))

    containers.refusal(containers.config(resources=resources))


def first_process(container: Container) -> ProcessStatus:
    """Return what the kernel says of a container's first process."""
    return container.process_status("first process")
