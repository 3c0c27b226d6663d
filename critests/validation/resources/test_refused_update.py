"""UPD: updates that are refused, and what they leave."""

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.runtime import Runtime
from critests.fixtures.session import Observe
from critests.run.marks import requirement, requires
from critests.validation.resources.cpus import impossible_cpu, impossible_node
from critests.validation.resources.limits import MIB, Limited, Limits


@pytest.fixture
def limited(limits: Limits) -> Limited:
    """A running container with limits of memory and CPU time."""
    limits.need("memory", "cpu", "cpuset")
    return limits.running(
        resources=cri.LinuxContainerResources(
            cpu_quota=40_000,
            cpu_period=100_000,
            memory_limit_in_bytes=64 * MIB,
            memory_swap_limit_in_bytes=64 * MIB,
        )
    )


def partly_invalid(limited: Limited) -> cri.UpdateContainerResourcesRequest:
    """Return an update of which one item cannot be: a CPU that the machine cannot have."""
    return limited.update(
        cpu_quota=80_000,
        cpu_period=100_000,
        memory_limit_in_bytes=96 * MIB,
        memory_swap_limit_in_bytes=96 * MIB,
        cpuset_cpus=str(impossible_cpu()),
    )


@requirement("UPD-08/error")
@requires(Capability.SAME_HOST)
def test_an_update_with_one_invalid_item_is_refused(runtime: Runtime, limited: Limited) -> None:
    """An update of which one item cannot be MUST be refused; the status MUST keep the old limits, and the
    container MUST run on.

    Source: UpdateContainerResources, which is one change of all that it names.
    """
    runtime.refusal(runtime.stub.UpdateContainerResources, partly_invalid(limited))

    told = limited.container.status().resources.linux
    assert (told.cpu_quota, told.memory_limit_in_bytes) == (40_000, 64 * MIB)


@requirement("UPD-08/error")
@requires(Capability.SAME_HOST)
def test_an_update_to_a_memory_node_that_cannot_be_is_refused(runtime: Runtime, limited: Limited) -> None:
    """An update that names a memory node which the machine cannot have MUST be refused, and the container
    MUST run on.

    Source: UpdateContainerResources, LinuxContainerResources.cpuset_mems.
    """
    update = limited.update(cpuset_mems=str(impossible_node()))

    runtime.refusal(runtime.stub.UpdateContainerResources, update)

    assert limited.shows(lambda cgroup: (cgroup.cpu_quota, cgroup.memory)) == {(40_000, 64 * MIB)}


@requirement("UPD-08/rollback")
@requires(Capability.SAME_HOST)
def test_what_a_refused_update_leaves_in_the_cgroup(
    runtime: Runtime, limited: Limited, observe: Observe
) -> None:
    """The valid items of an update that was refused MAY be in force or taken back.

    Source: UpdateContainerResources; runtimes differ.
    """
    runtime.refusal(runtime.stub.UpdateContainerResources, partly_invalid(limited))

    cgroup = limited.inside()
    changed = [
        name
        for name, now in (
            ("the quota", cgroup.cpu_quota == 80_000),
            ("the memory limit", cgroup.memory == 96 * MIB),
        )
        if now
    ]
    assert cgroup.memory in {64 * MIB, 96 * MIB}
    assert cgroup.cpu_quota in {40_000, 80_000}
    observe(f"in force: {', '.join(changed) or 'none of the items'}")


@requirement("UPD-21")
@requires(Capability.SAME_HOST)
def test_after_a_refused_update_a_valid_one_succeeds(runtime: Runtime, limited: Limited) -> None:
    """After an update that was refused the container MUST run on, and the next valid update MUST be in force.

    Source: UpdateContainerResources; the kubelet tries a resize again.
    """
    runtime.refusal(runtime.stub.UpdateContainerResources, partly_invalid(limited))
    assert limited.container.state() == cri.CONTAINER_RUNNING

    runtime.stub.UpdateContainerResources(limited.update(cpu_quota=70_000, cpu_period=100_000))

    assert limited.shows(lambda cgroup: cgroup.cpu_quota) == {70_000}
    assert limited.container.status().resources.linux.cpu_quota == 70_000
