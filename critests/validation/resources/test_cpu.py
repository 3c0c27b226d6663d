"""RES: CPU weight, quota and sets, as the cgroup has them."""

import pytest

from critests.api import api_pb2 as cri
from critests.testing import Capability, Container, Containers, ProcessStatus, blocked, requirement, requires
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
"""Keeps two processors busy for a second; prints the elapsed time, the throttled periods and the CPU time."""


def seconds_in(text: str) -> float:
    """Return the seconds of a time that `times` prints: `0m1.250s`."""
    minutes, _, seconds = text.rstrip("s").partition("m")
    return int(minutes) * 60 + float(seconds)


@requirement("RES-01")
# 2 is the kernel's minimum, and what the kubelet sends without a request; 1024 is the default
@pytest.mark.parametrize("shares", [2, 512, 4096])
def test_cpu_shares_are_the_weight_of_the_cgroup(limits: Limits, shares: int) -> None:
    """The cgroup of a container MUST have the requested `cpu_shares`, or with cgroup v2 the weight that one
    of the known conversions yields.

    Source: LinuxContainerResources.cpu_shares.
    """
    limits.require("cpu")

    limited = limits.running(resources=cri.LinuxContainerResources(cpu_shares=shares))

    assert limited.observed(lambda cgroup: (cgroup.has_shares(shares), cgroup.cpu_weight)) == {
        (True, limited.inside().cpu_weight)
    }


@requirement("RES-02")
# the period below is not the default either, which is 100,000
@pytest.mark.parametrize(("quota", "expected"), [(30_000, 30_000), (-1, None)], ids=["some", "negative"])
def test_cpu_quota_and_period_are_those_of_the_cgroup(
    limits: Limits, quota: int, expected: int | None
) -> None:
    """The cgroup of a container MUST have the requested CPU quota and period; a negative quota is no limit.

    Source: LinuxContainerResources.cpu_quota and cpu_period.
    """
    limits.require("cpu")

    limited = limits.running(resources=cri.LinuxContainerResources(cpu_quota=quota, cpu_period=60_000))

    assert limited.observed(lambda cgroup: (cgroup.cpu_quota, cgroup.cpu_period)) == {(expected, 60_000)}


@requirement("RES-03")
def test_cpu_quota_throttles(containers: Containers, limits: Limits) -> None:
    """The processes of a container MUST NOT use more CPU time than its quota.

    Source: LinuxContainerResources.cpu_quota. Two busy processes have a twentieth of a CPU, which they get on
    a busy machine too; the kernel's accounting of CPU time measures it.
    """
    limits.require("cpu")
    quota = cri.LinuxContainerResources(cpu_quota=5_000, cpu_period=100_000, cpu_shares=1024)

    container = containers.running(script=BUSY, resources=quota)

    clock, periods, *_, children = [line.split() for line in container.final_log_lines("stdout")]
    elapsed, throttled = float(clock[2]) - float(clock[1]), int(periods[1])
    used = sum(seconds_in(text) for text in children)
    # a process may run until the next tick of the scheduler, on each of two CPUs
    assert used <= 0.08 * elapsed + 0.05
    # without competition, the processes use up their 5 % and are throttled
    if not throttled and used < 0.04 * elapsed:
        blocked("this machine is too busy to give a container the twentieth of a CPU of its quota")
    assert throttled > 0


@requirement("RES-14")
@requires(Capability.SAME_HOST)
def test_cpu_and_memory_sets_restrict(limits: Limits) -> None:
    """A container MUST run only on the CPUs of `cpuset_cpus`, with memory of the nodes of `cpuset_mems`.

    Source: LinuxContainerResources.cpuset_cpus and cpuset_mems.
    """
    limits.require("cpuset")
    cpu = another_cpu()

    # every machine has memory in node 0
    limited = limits.running(resources=cri.LinuxContainerResources(cpuset_cpus=str(cpu), cpuset_mems="0"))

    assert limited.observed(lambda cgroup: (cgroup.cpus, cgroup.mems)) == {(frozenset({cpu}), frozenset({0}))}
    first = first_process(limited.container)
    assert (first.fields["Cpus_allowed_list"], first.fields["Mems_allowed_list"]) == (str(cpu), "0")


@requirement("RES-15")
@requires(Capability.SAME_HOST)
@pytest.mark.parametrize("what", ["CPU", "memory node"])
def test_impossible_cpu_or_memory_node_is_refused(limits: Limits, containers: Containers, what: str) -> None:
    """CreateContainer or StartContainer SHOULD reject a CPU or a memory node that the machine cannot have.

    Source: LinuxContainerResources.cpuset_cpus and cpuset_mems; not stated by the CRI, and any other CPU or
    node would violate the request.
    """
    limits.require("cpuset")
    resources = cri.LinuxContainerResources(cpuset_cpus=str(impossible_cpu()))
    if what == "memory node":
        resources = cri.LinuxContainerResources(cpuset_mems=str(impossible_node()))

    containers.refusal(containers.config(resources=resources))


def first_process(container: Container) -> ProcessStatus:
    """Return /proc/PID/status of a container's first process."""
    return container.process_status("first process")
