"""UPD: rejected updates, and what they leave."""

import pytest

from critests.api import api_pb2 as cri
from critests.testing import Capability, RecordVariant, Runtime, requirement, requires
from critests.validation.resources.cpus import impossible_cpu, impossible_node
from critests.validation.resources.limits import MIB, Limited, Limits


@pytest.fixture
def limited(limits: Limits) -> Limited:
    """A running container with limits of memory and CPU time."""
    limits.require("memory", "cpu", "cpuset")
    return limits.running(
        resources=cri.LinuxContainerResources(
            cpu_quota=40_000,
            cpu_period=100_000,
            memory_limit_in_bytes=64 * MIB,
            memory_swap_limit_in_bytes=64 * MIB,
        )
    )


def partly_invalid(limited: Limited) -> cri.UpdateContainerResourcesRequest:
    """Return an update with one invalid field: a CPU that the machine cannot have."""
    return limited.update(
        cpu_quota=80_000,
        cpu_period=100_000,
        memory_limit_in_bytes=96 * MIB,
        memory_swap_limit_in_bytes=96 * MIB,
        cpuset_cpus=str(impossible_cpu()),
    )


@requirement("UPD-08/error")
@requires(Capability.SAME_HOST)
def test_an_update_with_one_invalid_field_is_refused(runtime: Runtime, limited: Limited) -> None:
    """UpdateContainerResources MUST be rejected as a whole when one field is invalid: ContainerStatus MUST
    report the old limits, and the container MUST continue to run.

    Source: UpdateContainerResources, one change of all fields that it sets.
    """
    runtime.refusal(runtime.stub.UpdateContainerResources, partly_invalid(limited))

    reported = limited.container.status().resources.linux
    assert (reported.cpu_quota, reported.memory_limit_in_bytes) == (40_000, 64 * MIB)


@requirement("UPD-08/error")
@requires(Capability.SAME_HOST)
def test_an_update_to_an_impossible_memory_node_is_refused(runtime: Runtime, limited: Limited) -> None:
    """UpdateContainerResources with a memory node that the machine cannot have MUST be rejected, and the
    container MUST continue to run.

    Source: UpdateContainerResources, LinuxContainerResources.cpuset_mems.
    """
    update = limited.update(cpuset_mems=str(impossible_node()))

    runtime.refusal(runtime.stub.UpdateContainerResources, update)

    assert limited.observed(lambda cgroup: (cgroup.cpu_quota, cgroup.memory)) == {(40_000, 64 * MIB)}


@requirement("UPD-08/rollback")
@requires(Capability.SAME_HOST)
def test_form_of_the_cgroup_after_a_refused_update(
    runtime: Runtime, limited: Limited, record_variant: RecordVariant
) -> None:
    """The valid fields of a rejected UpdateContainerResources MAY be in force or rolled back.

    Source: UpdateContainerResources; runtimes differ.
    """
    runtime.refusal(runtime.stub.UpdateContainerResources, partly_invalid(limited))

    cgroup = limited.inside()
    changed = [
        name
        for name, is_changed in (
            ("the quota", cgroup.cpu_quota == 80_000),
            ("the memory limit", cgroup.memory == 96 * MIB),
        )
        if is_changed
    ]
    assert cgroup.memory in {64 * MIB, 96 * MIB}
    assert cgroup.cpu_quota in {40_000, 80_000}
    record_variant(f"in force: {', '.join(changed) or 'none of the items'}")


@requirement("UPD-21")
@requires(Capability.SAME_HOST)
def test_after_a_refused_update_a_valid_one_succeeds(runtime: Runtime, limited: Limited) -> None:
    """UpdateContainerResources MUST succeed and take effect after one that was rejected, and the container
    MUST continue to run in between.

    Source: UpdateContainerResources; the kubelet retries a resize.
    """
    runtime.refusal(runtime.stub.UpdateContainerResources, partly_invalid(limited))
    assert limited.container.state() == cri.CONTAINER_RUNNING

    runtime.stub.UpdateContainerResources(limited.update(cpu_quota=70_000, cpu_period=100_000))

    assert limited.observed(lambda cgroup: cgroup.cpu_quota) == {70_000}
    assert limited.container.status().resources.linux.cpu_quota == 70_000
