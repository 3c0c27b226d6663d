"""CTA: the settings in ContainerStatus: mounts, log path, limits, user."""

from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Container,
    Containers,
    RecordVariant,
    Runtime,
    may_be_refused,
    requirement,
    requires,
    setting_up,
    unsupported,
)
from critests.validation.resources.cpus import usable_cpu

LOST_IN_WEIGHTS = 0.1
"""Relative error of CPU shares that a runtime reads back from cgroup v2, which stores them as a weight: one
step of cpu.weight is 26 shares.
"""


def expected_shares(shares: int, runtime: Runtime) -> object:
    """Return the CPU shares that ContainerStatus may report: exactly these with cgroup v1."""
    same_kernel = runtime.has(Capability.SAME_HOST) and runtime.has(Capability.SHARED_KERNEL)
    exact = same_kernel and not runtime.has(Capability.CGROUP_V2)
    return pytest.approx(shares, rel=0 if exact else LOST_IN_WEIGHTS)


def mount_in(status: cri.ContainerStatus, path: str) -> cri.Mount:
    """Return the mount at a path of the container."""
    mounts = [mount for mount in status.mounts if mount.container_path == path]
    assert len(mounts) == 1, (
        f"{len(mounts)} mounts at {path}, among {[mount.container_path for mount in status.mounts]}"
    )
    return mounts[0]


@requirement("CTA-09/required")
@pytest.mark.parametrize("readonly", [False, True], ids=["writable", "read-only"])
@requires(Capability.SAME_HOST)
def test_status_reports_the_requested_mounts(
    containers: Containers, host_folder: Path, *, readonly: bool
) -> None:
    """ContainerStatus MUST report every requested mount with `container_path`, `host_path` and `readonly`.

    Source: ContainerStatus.mounts.
    """
    container = containers.created(
        mounts=[cri.Mount(container_path="/mounted", host_path=str(host_folder), readonly=readonly)]
    )

    reported = mount_in(container.status(), "/mounted")

    assert (reported.host_path, reported.readonly) == (str(host_folder), readonly)


@requirement("CTA-09/recommended")
@requires(Capability.SAME_HOST)
def test_status_reports_that_a_mount_is_relabelled(containers: Containers, host_folder: Path) -> None:
    """ContainerStatus SHOULD report `selinux_relabel` and `propagation` of a mount.

    Source: Mount.selinux_relabel and propagation.
    """
    mounts = [
        cri.Mount(container_path="/relabelled", host_path=str(host_folder), selinux_relabel=True),
        # a second mount shows that the runtime does not report the same for all
        cri.Mount(container_path="/unchanged", host_path=str(host_folder)),
    ]
    container = containers.created(mounts=mounts)

    status = container.status()

    reported = [mount_in(status, mount.container_path) for mount in mounts]
    assert [mount.selinux_relabel for mount in reported] == [True, False]
    assert [mount.propagation for mount in reported] == [cri.PROPAGATION_PRIVATE, cri.PROPAGATION_PRIVATE]


@requirement("CTA-09/recommended")
@requires(Capability.SAME_HOST, Capability.RECURSIVE_READ_ONLY_MOUNTS)
def test_status_reports_recursive_read_only_mounts(containers: Containers, host_folder: Path) -> None:
    """ContainerStatus SHOULD report `recursive_read_only` of a mount.

    Source: Mount.recursive_read_only.
    """
    container = containers.created(
        mounts=[
            cri.Mount(
                container_path="/mounted", host_path=str(host_folder), readonly=True, recursive_read_only=True
            )
        ]
    )

    reported = mount_in(container.status(), "/mounted")

    assert (reported.readonly, reported.recursive_read_only) == (True, True)


@requirement("CTA-09/recorded")
@requires(Capability.SAME_HOST)
def test_which_other_mounts_status_reports(
    containers: Containers, host_folder: Path, record_variant: RecordVariant
) -> None:
    """ContainerStatus MAY report mounts that the request does not have.

    Source: ContainerStatus.mounts; the CRI does not state whether they include files that the runtime itself
    mounts.
    """
    container = containers.created(mounts=[cri.Mount(container_path="/mounted", host_path=str(host_folder))])

    reported = sorted(mount.container_path for mount in container.status().mounts)

    assert "/mounted" in reported
    record_variant(f"other mounts: {', '.join(path for path in reported if path != '/mounted') or 'none'}")


@requirement("CTA-10")
def test_log_path_is_the_sandboxs_directory_and_the_containers_path(containers: Containers) -> None:
    """`log_path` in ContainerStatus MUST be the sandbox's `log_directory` joined with the container's
    `log_path`.

    Source: ContainerStatus.log_path, PodSandboxConfig.log_directory, ContainerConfig.log_path.
    """
    container = containers.created()

    reported = container.status().log_path

    assert Path(reported) == container.sandbox.log_directory / container.config.log_path


@requirement("CTA-11")
def test_status_reports_the_requested_limits(runtime: Runtime, containers: Containers) -> None:
    """ContainerStatus MUST report the limits of the create request.

    Source: ContainerStatus.resources. CPU shares may be those that the weight of cgroup v2 is equal to.
    """
    # half a core, and a quarter of the default of 1,024 shares
    limits = cri.LinuxContainerResources(
        cpu_period=100_000, cpu_quota=50_000, cpu_shares=256, memory_limit_in_bytes=64 << 20
    )
    container = containers.created(resources=limits)

    reported = container.status().resources.linux

    assert (reported.cpu_period, reported.cpu_quota) == (100_000, 50_000)
    assert reported.cpu_shares == expected_shares(256, runtime)
    assert reported.memory_limit_in_bytes == 64 << 20


@requirement("CTA-11")
def test_status_reports_no_more_hugepage_limits_than_requested(containers: Containers) -> None:
    """ContainerStatus MUST NOT report more `hugepage_limits` than the create request has, nor any without
    `page_size`.

    Source: ContainerStatus.resources, HugepageLimit.page_size; the kubelet requests a limit for every page
    size of the kernel.
    """
    # the kubelet requests 0 for a page size that the pod does not use
    resources = cri.LinuxContainerResources(hugepage_limits=[cri.HugepageLimit(page_size="2MB", limit=0)])
    container = None
    with may_be_refused():
        container = containers.attempt(containers.config(resources=resources))
    if container is None:
        unsupported("limits of huge pages: the runtime rejects a container with one")

    reported = container.status().resources.linux.hugepage_limits

    assert len(reported) <= 1
    assert [limit for limit in reported if not limit.page_size] == []


@requirement("CTA-32")
@requires(Capability.SWAP_ACCOUNTING)
def test_status_reports_the_other_requested_resources(containers: Containers) -> None:
    """ContainerStatus SHOULD report `memory_swap_limit_in_bytes`, `cpuset_cpus`, `cpuset_mems` and
    `oom_score_adj` of the create request.

    Source: ContainerStatus.resources. Not stated by the CRI; the message has these fields, and nothing says
    that a status leaves some of them out.
    """
    requested = cri.LinuxContainerResources(
        memory_limit_in_bytes=64 << 20,
        memory_swap_limit_in_bytes=64 << 20,
        cpuset_cpus=str(usable_cpu()),
        cpuset_mems="0",
        oom_score_adj=789,
    )
    container = containers.created(resources=requested)

    reported = container.status().resources.linux

    assert reported.memory_swap_limit_in_bytes == requested.memory_swap_limit_in_bytes
    assert (reported.cpuset_cpus, reported.cpuset_mems) == (requested.cpuset_cpus, requested.cpuset_mems)
    assert reported.oom_score_adj == requested.oom_score_adj


@requirement("CTA-32")
@requires(Capability.SWAP_ACCOUNTING)
def test_status_reports_other_resources_after_an_update(runtime: Runtime, containers: Containers) -> None:
    """ContainerStatus SHOULD report `cpuset_cpus` and `cpuset_mems` of UpdateContainerResources, and as
    `memory_swap_limit_in_bytes` that of the update or, if the runtime does not update it, that of the create
    request.

    Source: ContainerStatus.resources, UpdateContainerResources. Not stated by the CRI; see above.
    """
    container = containers.running(
        resources=cri.LinuxContainerResources(
            memory_limit_in_bytes=64 << 20, memory_swap_limit_in_bytes=64 << 20
        )
    )
    update = cri.LinuxContainerResources(
        memory_limit_in_bytes=64 << 20,
        memory_swap_limit_in_bytes=96 << 20,
        cpuset_cpus=str(usable_cpu()),
        cpuset_mems="0",
    )
    with setting_up():
        runtime.stub.UpdateContainerResources(
            cri.UpdateContainerResourcesRequest(container_id=container.id, linux=update)
        )

    reported = container.status().resources.linux

    # an update of the swap limit is optional
    assert reported.memory_swap_limit_in_bytes in {64 << 20, 96 << 20}
    assert (reported.cpuset_cpus, reported.cpuset_mems) == (update.cpuset_cpus, update.cpuset_mems)


@requirement("CTA-11")
def test_status_reports_the_limits_after_an_update(runtime: Runtime, containers: Containers) -> None:
    """ContainerStatus MUST report the limits of UpdateContainerResources.

    Source: ContainerStatus.resources, UpdateContainerResources. CPU shares may be those that the weight of
    cgroup v2 is equal to.
    """
    container = containers.running(
        resources=cri.LinuxContainerResources(cpu_period=100_000, cpu_quota=50_000, cpu_shares=256)
    )
    update = cri.LinuxContainerResources(cpu_period=100_000, cpu_quota=70_000, cpu_shares=512)
    with setting_up():
        runtime.stub.UpdateContainerResources(
            cri.UpdateContainerResourcesRequest(container_id=container.id, linux=update)
        )

    reported = container.status().resources.linux

    assert (reported.cpu_period, reported.cpu_quota) == (100_000, 70_000)
    assert reported.cpu_shares == expected_shares(512, runtime)


@requirement("CTA-12")
def test_status_reports_no_limits_where_there_are_none(running_container: Container) -> None:
    """ContainerStatus SHOULD NOT report a memory limit or a CPU quota for a container that has none.

    Source: ContainerStatus.resources; not stated by the CRI, the kubelet would show such a limit to the user.
    """
    reported = running_container.status().resources.linux

    # cgroups represent no limit as -1 or `max`, which runtimes report as -1 or omit
    assert reported.memory_limit_in_bytes in {0, -1}
    assert reported.cpu_quota in {0, -1}


@requirement("CTA-13")
@requires(Capability.SUPPLEMENTAL_GROUPS_POLICY)
def test_status_reports_the_identity_of_the_first_process(containers: Containers) -> None:
    """ContainerStatus MUST report the user, the group and the supplementary groups of the container's first
    process.

    Source: ContainerStatus.user; /proc shows those of the process.
    """
    identity = cri.LinuxContainerSecurityContext(
        run_as_user=cri.Int64Value(value=1000),
        run_as_group=cri.Int64Value(value=2001),
        supplemental_groups=[2002, 4000],
    )
    container = containers.running(security_context=identity)
    process = container.process_status("first process")

    reported = container.status().user.linux

    assert (reported.uid, reported.gid) == (process.uids[0], process.gids[0])
    assert set(reported.supplemental_groups) == process.groups
