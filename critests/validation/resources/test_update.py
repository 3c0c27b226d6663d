"""UPD: UpdateContainerResources on containers in every state, verified in the cgroup and the status."""

from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.node.cgroups.container_cgroup import same_weight
from critests.testing import (
    Capability,
    CgroupValues,
    Containers,
    OwnRuntime,
    RecordVariant,
    Runtime,
    disruptive,
    refused_with,
    requirement,
    requires,
)
from critests.validation.resources.cpus import another_cpu
from critests.validation.resources.limits import MIB, Limits

# no swap: memory and swap together have the limit of memory alone
BEFORE = cri.LinuxContainerResources(
    cpu_shares=256,
    cpu_quota=40_000,
    cpu_period=100_000,
    memory_limit_in_bytes=64 * MIB,
    memory_swap_limit_in_bytes=64 * MIB,
)
"""The limits with which these tests create containers."""


def main_limits(cgroup: CgroupValues) -> tuple[bool, int | None, int, int | None]:
    """Return whether the weight is still that of `BEFORE`, and the cgroup's values for its other limits."""
    return (
        cgroup.has_shares(BEFORE.cpu_shares),
        cgroup.cpu_quota,
        cgroup.cpu_period,
        cgroup.memory,
    )


UNCHANGED = (True, 40_000, 100_000, 64 * MIB)


@requirement("UPD-01")
def test_update_of_cpu_limits_takes_effect(runtime: Runtime, limits: Limits) -> None:
    """UpdateContainerResources MUST apply new CPU shares, quota and period before it returns.

    Source: UpdateContainerResources.
    """
    limits.require("cpu")
    limited = limits.running(resources=BEFORE)

    runtime.stub.UpdateContainerResources(
        limited.update(cpu_shares=1024, cpu_quota=90_000, cpu_period=200_000)
    )

    assert limited.observed(
        lambda cgroup: (cgroup.has_shares(1024), cgroup.cpu_quota, cgroup.cpu_period)
    ) == {(True, 90_000, 200_000)}


@requirement("UPD-02")
@pytest.mark.parametrize("mebibytes", [128, 40], ids=["raised", "lowered"])
def test_update_of_the_memory_limit_takes_effect(runtime: Runtime, limits: Limits, mebibytes: int) -> None:
    """UpdateContainerResources MUST apply a raised or lowered memory limit before it returns.

    Source: UpdateContainerResources, LinuxContainerResources.memory_limit_in_bytes.
    """
    limits.require("memory")
    limited = limits.running(resources=BEFORE)

    runtime.stub.UpdateContainerResources(
        limited.update(memory_limit_in_bytes=mebibytes * MIB, memory_swap_limit_in_bytes=mebibytes * MIB)
    )

    assert limited.observed(lambda cgroup: cgroup.memory) == {mebibytes * MIB}


@requirement("UPD-02")
def test_update_of_the_memory_limit_alone_takes_effect(runtime: Runtime, limits: Limits) -> None:
    """UpdateContainerResources MUST apply a raised memory limit, even without a swap limit in the request.

    Source: LinuxContainerResources.memory_limit_in_bytes; cgroup v1 rejects a memory limit above the limit of
    memory and swap.
    """
    limits.require("memory")
    limited = limits.running(resources=cri.LinuxContainerResources(memory_limit_in_bytes=64 * MIB))

    runtime.stub.UpdateContainerResources(limited.update(memory_limit_in_bytes=128 * MIB))

    assert limited.observed(lambda cgroup: cgroup.memory) == {128 * MIB}


@requirement("UPD-01")
def test_update_adds_the_smallest_cpu_limits_to_a_container_without_limits(
    runtime: Runtime, limits: Limits
) -> None:
    """UpdateContainerResources MUST apply CPU shares, quota and period to a container created without
    limits, also the smallest ones that the kubelet requests.

    Source: UpdateContainerResources; a resize of a best-effort container's pod in Kubernetes.
    """
    limits.require("cpu")
    limited = limits.running()

    # 1 millicpu of request and 10 of limit
    runtime.stub.UpdateContainerResources(limited.update(cpu_shares=2, cpu_quota=1_000, cpu_period=100_000))

    assert limited.observed(lambda cgroup: (cgroup.has_shares(2), cgroup.cpu_quota, cgroup.cpu_period)) == {
        (True, 1_000, 100_000)
    }


@requirement("UPD-01")
def test_update_lifts_the_cpu_quota(runtime: Runtime, limits: Limits) -> None:
    """UpdateContainerResources MUST remove the CPU quota if `cpu_quota` is negative.

    Source: LinuxContainerResources.cpu_quota; the kubelet does so for containers with exclusive CPUs.
    """
    limits.require("cpu")
    limited = limits.running(resources=BEFORE)

    runtime.stub.UpdateContainerResources(limited.update(cpu_quota=-1, cpu_period=100_000))

    assert limited.observed(lambda cgroup: cgroup.cpu_quota) == {None}


@requirement("UPD-02")
def test_update_adds_a_memory_limit_to_a_container_without_limits(runtime: Runtime, limits: Limits) -> None:
    """UpdateContainerResources MUST apply a memory limit to a container that was created without limits.

    Source: UpdateContainerResources; a resize of a best-effort container's pod in Kubernetes.
    """
    limits.require("memory")
    limited = limits.running()

    runtime.stub.UpdateContainerResources(limited.update(memory_limit_in_bytes=64 * MIB))

    assert limited.observed(lambda cgroup: cgroup.memory) == {64 * MIB}


@requirement("UPD-03")
def test_a_memory_limit_below_the_usage_is_refused(
    runtime: Runtime, limits: Limits, containers: Containers
) -> None:
    """UpdateContainerResources SHOULD be rejected for a memory limit below the container's usage; the old
    limit SHOULD stay in force, and the container SHOULD continue to run.

    Source: UpdateContainerResources; not stated by the CRI, the kubelet resizes containers in this way.
    """
    limits.require("memory")
    # 38 MiB, about twice the new limit
    allocate = "held=$(head -c 40000000 /dev/zero | tr '\\0' x); echo ready"
    # several times what is allocated, as the shell copies what it reads
    ample = cri.LinuxContainerResources(memory_limit_in_bytes=256 * MIB)
    container = containers.running(first=allocate, wait_for_log="ready", resources=ample)
    below = cri.LinuxContainerResources(memory_limit_in_bytes=20 * MIB, memory_swap_limit_in_bytes=20 * MIB)

    runtime.refusal(
        runtime.stub.UpdateContainerResources,
        cri.UpdateContainerResourcesRequest(container_id=container.id, linux=below),
    )

    assert limits.inside(container).memory == 256 * MIB


@requirement("UPD-04")
def test_update_of_a_created_container_is_in_force_when_it_starts(runtime: Runtime, limits: Limits) -> None:
    """UpdateContainerResources on a created container MUST be in force when the container runs.

    Source: UpdateContainerResources.
    """
    limits.require("memory", "cpu")
    limited = limits.created(resources=BEFORE)

    runtime.stub.UpdateContainerResources(
        limited.update(
            cpu_quota=90_000,
            cpu_period=100_000,
            memory_limit_in_bytes=128 * MIB,
            memory_swap_limit_in_bytes=128 * MIB,
        )
    )

    runtime.stub.StartContainer(cri.StartContainerRequest(container_id=limited.container.id))
    assert limited.observed(lambda cgroup: (cgroup.cpu_quota, cgroup.memory)) == {(90_000, 128 * MIB)}


@requirement("UPD-05")
def test_update_of_an_exited_container(
    runtime: Runtime, containers: Containers, record_variant: RecordVariant
) -> None:
    """UpdateContainerResources on an exited container MAY be rejected or do nothing; its status stays.

    Source: UpdateContainerResources; runtimes differ.
    """
    container = containers.exited(script="exit 3", resources=BEFORE)
    update = cri.UpdateContainerResourcesRequest(
        container_id=container.id, linux=cri.LinuxContainerResources(cpu_shares=512)
    )

    try:
        runtime.stub.UpdateContainerResources(update)
        record_variant("does nothing")
    except grpc.RpcError as error:
        record_variant(f"is refused with {refused_with(error).name}")

    status = container.status()
    assert (status.state, status.exit_code) == (cri.CONTAINER_EXITED, 3)


ONE_AT_A_TIME = {
    "shares": {"cpu_shares": 512},
    "quota": {"cpu_quota": 90_000, "cpu_period": 100_000},
    "memory": {"memory_limit_in_bytes": 96 * MIB, "memory_swap_limit_in_bytes": 96 * MIB},
}


@requirement("UPD-07")
@pytest.mark.parametrize("what", ONE_AT_A_TIME)
def test_update_of_one_limit_leaves_the_others(runtime: Runtime, limits: Limits, what: str) -> None:
    """UpdateContainerResources MUST NOT change limits that the request does not set.

    Source: LinuxContainerResources, where zero means unset; the kubelet sends CPU or memory alone.
    """
    limits.require("memory", "cpu")
    limited = limits.running(resources=BEFORE)

    runtime.stub.UpdateContainerResources(limited.update(**ONE_AT_A_TIME[what]))

    shares, quota, period, memory = UNCHANGED
    expected = {
        "shares": (False, quota, period, memory),
        "quota": (shares, 90_000, period, memory),
        "memory": (shares, quota, period, 96 * MIB),
    }
    assert limited.observed(main_limits) == {expected[what]}


@requirement("UPD-07")
@requires(Capability.SAME_HOST)
def test_update_of_the_cpus_leaves_the_other_limits(runtime: Runtime, limits: Limits) -> None:
    """UpdateContainerResources with `cpuset_cpus` alone, as the kubelet's CPU manager sends it, MUST NOT
    change other limits.

    Source: LinuxContainerResources.cpuset_cpus.
    """
    limits.require("memory", "cpu", "cpuset")
    cpu = another_cpu()
    limited = limits.running(resources=BEFORE)

    runtime.stub.UpdateContainerResources(limited.update(cpuset_cpus=str(cpu)))

    assert limited.observed(main_limits) == {UNCHANGED}
    assert limited.observed(lambda cgroup: cgroup.cpus) == {frozenset({cpu})}


@requirement("UPD-10")
@requires(Capability.SAME_HOST)
def test_update_of_the_cpus_moves_running_processes(runtime: Runtime, limits: Limits) -> None:
    """UpdateContainerResources MUST bind running processes to the CPUs and memory nodes of the request.

    Source: UpdateContainerResources, LinuxContainerResources.cpuset_cpus and cpuset_mems.
    """
    limits.require("cpuset")
    cpu = another_cpu()
    limited = limits.running()

    runtime.stub.UpdateContainerResources(limited.update(cpuset_cpus=str(cpu), cpuset_mems="0"))

    first = limited.container.process_status("first process")
    assert (first.fields["Cpus_allowed_list"], first.fields["Mems_allowed_list"]) == (str(cpu), "0")


@requirement("UPD-11/unified")
@requires(Capability.CGROUP_V2)
def test_update_of_unified_values_takes_effect(runtime: Runtime, limits: Limits) -> None:
    """UpdateContainerResources SHOULD write the `unified` values to their files of cgroup v2.

    Source: LinuxContainerResources.unified.
    """
    limits.require("memory")
    limited = limits.running(resources=cri.LinuxContainerResources(unified={"memory.high": str(40 * MIB)}))

    runtime.stub.UpdateContainerResources(limited.update(unified={"memory.high": str(80 * MIB)}))

    assert limited.observed(lambda cgroup: cgroup.limit("memory.high")) == {80 * MIB}

    runtime.stub.UpdateContainerResources(limited.update(unified={"memory.high": "max"}))

    assert limited.observed(lambda cgroup: cgroup.limit("memory.high")) == {None}


@requirement("UPD-11/hugepages")
@requires(Capability.HUGE_PAGES)
def test_update_of_huge_pages(runtime: Runtime, limits: Limits, record_variant: RecordVariant) -> None:
    """UpdateContainerResources with `hugepage_limits` MAY apply or ignore them.

    Source: LinuxContainerResources.hugepage_limits; runtimes differ.
    """
    limited = limits.running()
    size = min(limited.inside().hugepages)
    # a multiple of every page size up to 1 GiB
    requested = cri.HugepageLimit(page_size=size, limit=1024 * MIB)

    runtime.stub.UpdateContainerResources(limited.update(hugepage_limits=[requested]))

    assert limited.container.state() == cri.CONTAINER_RUNNING
    record_variant("is applied" if limited.inside().hugepages[size] == requested.limit else "is ignored")


@requirement("UPD-09")
@requires(Capability.SWAP_ACCOUNTING)
def test_update_of_the_swap_limit(runtime: Runtime, limits: Limits, record_variant: RecordVariant) -> None:
    """UpdateContainerResources with a swap limit MAY apply it, or ignore it and allow no swap at all.

    Source: LinuxContainerResources.memory_swap_limit_in_bytes; runtimes differ.
    """
    limited = limits.running(resources=BEFORE)

    runtime.stub.UpdateContainerResources(
        limited.update(memory_limit_in_bytes=96 * MIB, memory_swap_limit_in_bytes=160 * MIB)
    )

    cgroup = limited.inside()
    assert cgroup.memory == 96 * MIB
    assert cgroup.swap in {0, 64 * MIB}
    record_variant("is applied" if cgroup.swap else "is ignored: no swap")


@requirement("UPD-22")
@requires(Capability.SWAP_ACCOUNTING)
def test_update_lifts_the_swap_limit(runtime: Runtime, limits: Limits) -> None:
    """UpdateContainerResources with a `memory_swap_limit_in_bytes` of -1 SHOULD remove the limit of swap, and
    MUST NOT change the memory limit.

    Source: LinuxContainerResources.memory_swap_limit_in_bytes; not stated by the CRI, -1 is no limit in the
    OCI runtime specification.
    """
    limited = limits.running(resources=BEFORE)

    runtime.stub.UpdateContainerResources(
        limited.update(memory_limit_in_bytes=64 * MIB, memory_swap_limit_in_bytes=-1)
    )

    assert limited.observed(lambda cgroup: (cgroup.memory, cgroup.swap)) == {(64 * MIB, None)}


@requirement("UPD-12")
def test_update_of_the_oom_score(runtime: Runtime, limits: Limits, record_variant: RecordVariant) -> None:
    """UpdateContainerResources with an `oom_score_adj` MAY apply or ignore it, without an error.

    Source: LinuxContainerResources.oom_score_adj; the kubelet includes it in updates.
    """
    limited = limits.running(resources=cri.LinuxContainerResources(oom_score_adj=789))
    limited.container.until_its_command_runs()

    # a higher score, as lowering it needs CAP_SYS_RESOURCE, proc(5)
    runtime.stub.UpdateContainerResources(limited.update(cpu_shares=512, oom_score_adj=890))

    score = limited.container.output("cat", "/proc/1/oom_score_adj")
    assert score in {"789", "890"}
    record_variant("is applied" if score == "890" else "is ignored")


@requirement("UPD-13")
@pytest.mark.parametrize("state", [cri.CONTAINER_CREATED, cri.CONTAINER_RUNNING], ids=["created", "running"])
def test_status_reports_the_new_limits_when_the_update_returns(
    runtime: Runtime, limits: Limits, state: "cri.ContainerState"
) -> None:
    """ContainerStatus MUST report the new limits as soon as an update has returned.

    Source: ContainerStatus.resources. A runtime may report CPU shares that it converts from the weight of
    cgroup v2.
    """
    create = limits.created if state == cri.CONTAINER_CREATED else limits.running
    limited = create(resources=BEFORE)

    runtime.stub.UpdateContainerResources(
        limited.update(
            cpu_shares=512,
            cpu_quota=90_000,
            cpu_period=200_000,
            memory_limit_in_bytes=96 * MIB,
            memory_swap_limit_in_bytes=96 * MIB,
        )
    )

    reported = limited.container.status().resources.linux
    assert (reported.cpu_quota, reported.cpu_period, reported.memory_limit_in_bytes) == (
        90_000,
        200_000,
        96 * MIB,
    )
    assert same_weight(reported.cpu_shares, 512)


@requirement("UPD-14")
def test_concurrent_updates_take_effect(runtime: Runtime, limits: Limits) -> None:
    """Containers that are updated many times concurrently SHOULD each have the limits of their last update.

    Source: not stated by the CRI; a node agent may resize all containers of a node at once.
    """
    limits.require("memory", "cpu")
    several = [limits.running(resources=BEFORE) for _ in range(3)]

    def update(number: int) -> None:
        # ten updates; the last ones of two containers differ
        for step in range(1, 11):
            size = (64 + number + step) * MIB
            runtime.stub.UpdateContainerResources(
                several[number].update(
                    cpu_quota=10_000 * step + number * 1_000,
                    memory_limit_in_bytes=size,
                    memory_swap_limit_in_bytes=size,
                )
            )

    with ThreadPoolExecutor(len(several)) as threads:
        list(threads.map(update, range(len(several))))

    assert [limited.observed(lambda cgroup: (cgroup.cpu_quota, cgroup.memory)) for limited in several] == [
        {(100_000 + number * 1_000, (74 + number) * MIB)} for number in range(len(several))
    ]


@requirement("UPD-15")
def test_annotations_of_an_update_have_no_effect(runtime: Runtime, limits: Limits) -> None:
    """UpdateContainerResources SHOULD accept annotations, which SHOULD NOT change the limits or the
    container's own annotations.

    Source: UpdateContainerResourcesRequest.annotations, which only some runtimes define.
    """
    limits.require("memory", "cpu")
    limited = limits.running(resources=BEFORE, annotations={"critests.example/own": "unchanged"})
    update = limited.update(cpu_shares=BEFORE.cpu_shares)
    update.annotations["critests.example/update"] = "unknown"

    runtime.stub.UpdateContainerResources(update)

    assert limited.observed(main_limits) == {UNCHANGED}
    assert limited.container.status().annotations["critests.example/own"] == "unchanged"


@requirement("UPD-16")
@disruptive
def test_form_of_an_update_without_limits(own_runtime: OwnRuntime, record_variant: RecordVariant) -> None:
    """UpdateContainerResources without limits MAY be rejected, or do nothing; the daemon does not crash.

    Source: UpdateContainerResourcesRequest.linux; runtimes differ.
    """
    container = own_runtime.container()

    try:
        own_runtime.stub.UpdateContainerResources(
            cri.UpdateContainerResourcesRequest(container_id=container.id)
        )
        record_variant("does nothing")
    except grpc.RpcError as error:
        # UNAVAILABLE means that the daemon crashed, which the next line asserts
        record_variant(f"is refused with {refused_with(error, grpc.StatusCode.UNAVAILABLE).name}")

    assert not own_runtime.damage()
    assert container.state() == cri.CONTAINER_RUNNING
