"""RES: limits of memory and swap, as the cgroup has and enforces them."""

from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Containers,
    ProcessStatus,
    RecordVariant,
    Runtime,
    Streams,
    blocked,
    refused_with,
    requirement,
    requires,
)
from critests.validation.resources.limits import MIB, Limits

GREEDY = ("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=96M", "count=1")
"""Allocates a buffer of 96 MiB."""
# no swap: memory and swap together have the limit of memory alone
SMALL = cri.LinuxContainerResources(memory_limit_in_bytes=32 * MIB, memory_swap_limit_in_bytes=32 * MIB)


def free_swap() -> int:
    """Return how many bytes of swap the machine has free."""
    lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("SwapFree:"))


@requirement("RES-04")
def test_memory_limit_is_that_of_the_cgroup(limits: Limits) -> None:
    """The cgroup of a container MUST have the requested memory limit.

    Source: LinuxContainerResources.memory_limit_in_bytes.
    """
    limits.require("memory")

    limited = limits.running(resources=cri.LinuxContainerResources(memory_limit_in_bytes=48 * MIB))

    assert limited.observed(lambda cgroup: cgroup.memory) == {48 * MIB}


@requirement("RES-04")
def test_exceeding_the_memory_limit_kills_in_that_container_only(
    limits: Limits, containers: Containers
) -> None:
    """A process that exceeds the memory limit of its container MUST be killed, and other containers of the
    pod MUST continue to run.

    Source: LinuxContainerResources.memory_limit_in_bytes.
    """
    limits.require("memory")
    neighbour = limits.running()

    greedy = containers.running(command=GREEDY, resources=SMALL)

    # 137 is 128 plus the number of SIGKILL
    assert greedy.exited().exit_code == 137
    assert neighbour.container.state() == cri.CONTAINER_RUNNING
    assert neighbour.inside().oom_kills == 0


@requirement("RES-05")
def test_unset_fields_set_no_limits(limits: Limits, containers: Containers) -> None:
    """A container without requested limits MUST NOT have a limit of memory, swap or CPU time.

    Source: LinuxContainerResources, where zero means unset.
    """
    limits.require("memory", "cpu")
    config = containers.config()
    config.linux.resources.Clear()

    limited = limits.running(config)

    assert limited.observed(lambda cgroup: (cgroup.memory, cgroup.cpu_quota)) == {(None, None)}


@requirement("RES-05")
@requires(Capability.SAME_HOST)
def test_all_cpus_may_be_used_by_default(runtime: Runtime, limits: Limits, containers: Containers) -> None:
    """A container without `cpuset_cpus` and `cpuset_mems` MUST be able to use all that its pod can.

    Source: LinuxContainerResources.cpuset_cpus and cpuset_mems, where empty means unset.
    """
    limits.require("cpuset")
    config = containers.config()
    config.linux.resources.Clear()

    first = limits.running(config).container.process_status("first process")

    # the daemon may be restricted to some of the CPUs, and its containers inherit that
    pids = {1, runtime.context.daemon_pid or 1}
    others = [ProcessStatus.parse(Path(f"/proc/{pid}/status").read_text(encoding="utf-8")) for pid in pids]
    for name in ("Cpus_allowed_list", "Mems_allowed_list"):
        assert first.fields[name] in {other.fields[name] for other in others}


@requirement("RES-06")
def test_too_low_memory_limit_is_refused(limits: Limits, containers: Containers) -> None:
    """CreateContainer or StartContainer SHOULD reject a memory limit that is too low for any process.

    Source: LinuxContainerResources.memory_limit_in_bytes; not stated by the CRI, and the container would be
    killed for no visible reason.
    """
    limits.require("memory")
    # a single page
    config = containers.config(resources=cri.LinuxContainerResources(memory_limit_in_bytes=4096))

    containers.refusal(config)


@requirement("RES-07")
def test_form_of_a_negative_memory_limit(
    limits: Limits, containers: Containers, record_variant: RecordVariant
) -> None:
    """A memory limit of -1 MAY mean no limit, or be rejected.

    Source: LinuxContainerResources.memory_limit_in_bytes; runtimes differ.
    """
    limits.require("memory")
    unlimited = cri.LinuxContainerResources(memory_limit_in_bytes=-1)

    try:
        containers.attempt(containers.config(resources=unlimited))
    except grpc.RpcError as error:
        record_variant(f"refused with {refused_with(error).name}")
        limited = limits.running()
    else:
        record_variant("no limit")
        limited = limits.running(resources=unlimited)
    assert limited.observed(lambda cgroup: cgroup.memory) == {None}


@requirement("RES-08")
@requires(Capability.SWAP_ACCOUNTING)
@pytest.mark.parametrize("swap", [0, 16 * MIB], ids=["no swap", "16 MiB of swap"])
def test_swap_limit_is_that_of_the_cgroup(limits: Limits, swap: int) -> None:
    """The cgroup MUST allow as much swap as `memory_swap_limit_in_bytes` exceeds the memory limit.

    Source: LinuxContainerResources.memory_swap_limit_in_bytes.
    """
    limited = limits.running(
        resources=cri.LinuxContainerResources(
            memory_limit_in_bytes=32 * MIB, memory_swap_limit_in_bytes=32 * MIB + swap
        )
    )

    assert limited.observed(lambda cgroup: (cgroup.memory, cgroup.swap)) == {(32 * MIB, swap)}


@requirement("RES-08")
@requires(Capability.SWAP_ACCOUNTING)
def test_container_swaps_within_its_limit(limits: Limits) -> None:
    """A container MUST be able to use more memory than its memory limit, if `memory_swap_limit_in_bytes`
    allows it.

    Source: LinuxContainerResources.memory_swap_limit_in_bytes.
    """
    if free_swap() < 256 * MIB:
        blocked("needs a machine with 256 MiB of free swap")
    limited = limits.running(
        resources=cri.LinuxContainerResources(
            memory_limit_in_bytes=32 * MIB, memory_swap_limit_in_bytes=256 * MIB
        )
    )

    response = limited.container.exec(*GREEDY)

    assert response.exit_code == 0
    assert limited.inside().oom_kills == 0


@requirement("RES-32")
@requires(Capability.SWAP_ACCOUNTING)
def test_swap_limit_of_a_container_is_lifted(limits: Limits) -> None:
    """A container with a memory limit and a `memory_swap_limit_in_bytes` of -1 SHOULD have no limit of swap.

    Source: LinuxContainerResources.memory_swap_limit_in_bytes; not stated by the CRI, -1 is no limit in the
    OCI runtime specification.
    """
    limited = limits.running(
        resources=cri.LinuxContainerResources(memory_limit_in_bytes=32 * MIB, memory_swap_limit_in_bytes=-1)
    )

    assert limited.observed(lambda cgroup: (cgroup.memory, cgroup.swap)) == {(32 * MIB, None)}


@requirement("RES-09")
@requires(Capability.SWAP_ACCOUNTING)
def test_a_memory_limit_alone_allows_no_swap(limits: Limits) -> None:
    """A container with a memory limit and no swap limit SHOULD NOT be able to swap.

    Source: not stated by the CRI; otherwise the container could exceed its memory limit by swapping.
    """
    limited = limits.running(resources=cri.LinuxContainerResources(memory_limit_in_bytes=32 * MIB))

    assert limited.observed(lambda cgroup: cgroup.swap) == {0}


@requirement("RES-10")
@requires(Capability.SWAP_ACCOUNTING)
def test_swap_below_memory_is_refused(containers: Containers) -> None:
    """CreateContainer or StartContainer SHOULD reject a `memory_swap_limit_in_bytes` below the memory limit.

    Source: LinuxContainerResources.memory_swap_limit_in_bytes; not stated by the CRI, and the kernel cannot
    enforce it.
    """
    config = containers.config(
        resources=cri.LinuxContainerResources(
            memory_limit_in_bytes=32 * MIB, memory_swap_limit_in_bytes=16 * MIB
        )
    )

    containers.refusal(config)


@requirement("RES-11")
def test_swap_limit_is_accepted_without_swap_accounting(limits: Limits, containers: Containers) -> None:
    """A container with limits of memory and swap SHOULD run, and have its memory limit, even if the machine
    cannot limit swap.

    Source: LinuxContainerResources.memory_swap_limit_in_bytes.
    """
    limits.require("memory")

    container = containers.attempt(containers.config(resources=SMALL))

    assert limits.inside(container).memory == 32 * MIB


@requirement("RES-28")
def test_memory_limit_applies_to_exec_sync(runtime: Runtime, limits: Limits) -> None:
    """A command run with ExecSync MUST be subject to the memory limit of its container.

    Source: ExecSync, LinuxContainerResources.memory_limit_in_bytes.
    """
    limits.require("memory")
    limited = limits.running(resources=SMALL)

    response = runtime.stub.ExecSync(limited.container.exec_request(*GREEDY))

    # 128 plus the number of SIGKILL
    assert response.exit_code == 137
    assert limited.container.state() == cri.CONTAINER_RUNNING


@requirement("RES-28")
def test_memory_limit_applies_to_streaming_exec(runtime: Runtime, limits: Limits, streams: Streams) -> None:
    """A command run with Exec MUST be subject to the memory limit of its container.

    Source: Exec, LinuxContainerResources.memory_limit_in_bytes.
    """
    limits.require("memory")
    limited = limits.running(resources=SMALL)
    request = cri.ExecRequest(container_id=limited.container.id, cmd=GREEDY, stdout=True, stderr=True)

    finished = streams.open(runtime.stub.Exec, request).finish()

    assert finished.status is not None
    # 128 plus the number of SIGKILL
    assert finished.status.exit_code == 137
    assert limited.inside().oom_kills > 0
