"""RES: huge pages, and files of cgroup v2 that a request sets by name."""

import grpc

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Containers,
    RecordVariant,
    Runtime,
    blocked,
    may_be_refused,
    refused_with,
    requirement,
    requires,
    unsupported,
)
from critests.validation.resources.limits import MIB, Limits


@requirement("RES-16")
@requires(Capability.HUGE_PAGES)
def test_limits_of_huge_pages_are_those_of_the_cgroup(limits: Limits) -> None:
    """The cgroup of a container MUST have the requested limit of each huge page size.

    Source: LinuxContainerResources.hugepage_limits.
    """
    sizes = sorted(limits.running().inside().hugepages)
    # multiples of every page size up to 1 GiB
    requested = {size: number * 1024 * MIB for number, size in enumerate(sizes, 1)}

    limited = limits.running(
        resources=cri.LinuxContainerResources(
            hugepage_limits=[
                cri.HugepageLimit(page_size=size, limit=limit) for size, limit in requested.items()
            ]
        )
    )

    assert limited.inside().hugepages == requested
    assert limited.observed(lambda cgroup: tuple(sorted(cgroup.hugepages.items()))) == {
        tuple(sorted(requested.items()))
    }


@requirement("RES-17")
@requires(Capability.HUGE_PAGES)
def test_invalid_huge_page_size_is_refused(containers: Containers) -> None:
    """CreateContainer or StartContainer SHOULD reject an invalid `page_size`.

    Source: HugepageLimit.page_size; not stated by the CRI.
    """
    limit = cri.HugepageLimit(page_size="some", limit=2 * MIB)
    config = containers.config(resources=cri.LinuxContainerResources(hugepage_limits=[limit]))

    containers.refusal(config)


@requirement("RES-18")
def test_huge_page_limits_are_accepted_without_a_controller(runtime: Runtime, containers: Containers) -> None:
    """A runtime that tolerates hosts without huge page limits MUST run a container that requests them.

    Source: LinuxContainerResources.hugepage_limits, which the kubelet sends for every page size.
    """
    if runtime.has(Capability.HUGE_PAGES):
        unsupported("huge pages without a controller: this machine has the controller")
    # what the kubelet sends for a container that requests no huge pages
    limit = cri.HugepageLimit(page_size="2MB", limit=0)
    config = containers.config(resources=cri.LinuxContainerResources(hugepage_limits=[limit]))

    container = None
    with may_be_refused():
        container = containers.attempt(config)
    if container is None:
        unsupported("huge pages without a controller: a container with limits of them is rejected")

    assert container.state() == cri.CONTAINER_RUNNING


@requirement("RES-19")
@requires(Capability.CGROUP_V2)
def test_unified_values_are_written(limits: Limits) -> None:
    """The files of cgroup v2 MUST have the `unified` values of the request.

    Source: LinuxContainerResources.unified.
    """
    limits.require("memory", "pids")
    files = {"memory.high": str(40 * MIB), "memory.low": str(8 * MIB), "pids.max": "77"}

    limited = limits.running(resources=cri.LinuxContainerResources(unified=files))

    assert limited.observed(lambda cgroup: tuple(cgroup.text(name) for name in files)) == {
        tuple(files.values())
    }


@requirement("RES-20")
def test_form_of_unified_values_on_cgroup_v1(
    runtime: Runtime, containers: Containers, record_variant: RecordVariant
) -> None:
    """A request with `unified` values MAY be rejected, or the values ignored, on a machine with cgroup v1.

    Source: LinuxContainerResources.unified; runtimes differ.
    """
    if runtime.has(Capability.CGROUP_V2):
        blocked("needs a machine with cgroup version 1")
    config = containers.config(resources=cri.LinuxContainerResources(unified={"memory.high": str(40 * MIB)}))

    try:
        container = containers.attempt(config)
    except grpc.RpcError as error:
        record_variant(f"refused with {refused_with(error).name}")
        container = containers.running()
    else:
        record_variant("ignored")
    assert container.state() == cri.CONTAINER_RUNNING


@requirement("RES-21")
@requires(Capability.CGROUP_V2)
def test_unknown_unified_file_is_refused(containers: Containers) -> None:
    """CreateContainer or StartContainer SHOULD reject a `unified` file that cgroups do not have.

    Source: LinuxContainerResources.unified; not stated by the CRI.
    """
    config = containers.config(resources=cri.LinuxContainerResources(unified={"memory.critests": "1"}))

    containers.refusal(config)


@requirement("RES-29")
@requires(Capability.CGROUP_V2)
def test_memory_oom_group_kills_the_whole_container(
    runtime: Runtime, limits: Limits, containers: Containers
) -> None:
    """A container with memory.oom.group SHOULD exit with the reason OOMKilled when the kernel kills one
    process for its memory limit.

    Source: LinuxContainerResources.unified with memory.oom.group.
    """
    limits.require("memory")
    together = cri.LinuxContainerResources(
        memory_limit_in_bytes=32 * MIB,
        memory_swap_limit_in_bytes=32 * MIB,
        unified={"memory.oom.group": "1"},
    )

    # the kernel kills `dd`, and the shell would go on without memory.oom.group
    container = containers.running(
        script="dd if=/dev/zero of=/dev/null bs=96M count=1; sleep 3600", resources=together
    )

    # 137 is 128 plus the number of SIGKILL
    assert container.exited().exit_code == 137
    # the kernel's notification of the OOM kill may reach the daemon after the exit of the process
    runtime.eventually(
        "the reason", lambda: container.status().reason, holds=lambda reason: reason == "OOMKilled"
    )
