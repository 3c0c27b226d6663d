"""RES: the cgroup of a container: its place, its view in the container, and limits above it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    CgroupDriver,
    CgroupParents,
    Containers,
    RecordVariant,
    Runtime,
    Sandbox,
    Sandboxes,
    blocked,
    folders_of_process,
    process_of_sandbox,
    refused_with,
    requirement,
    requires,
)
from critests.validation.resources.limits import MIB, Limited, Limits

FORKS = "for i in $(seq 60); do sleep 30 > /dev/null 2>&1 & done; echo started"
"""Starts 60 processes that do not hold its output open; the shell exits at the first fork that fails."""
POD_MEMORY = (
    ("memory.limit_in_bytes", str(64 * MIB)),
    ("memory.memsw.limit_in_bytes", str(64 * MIB)),
    ("memory.max", str(64 * MIB)),
    ("memory.swap.max", "0"),
)
OTHER_DRIVER = {
    CgroupDriver.CGROUPFS: CgroupDriver.SYSTEMD,
    CgroupDriver.SYSTEMD: CgroupDriver.CGROUPFS,
}


def parent_of(sandbox: Sandbox) -> str:
    """Return the cgroup parent of a sandbox; the test is blocked if the request does not name one."""
    parent = sandbox.config.linux.cgroup_parent
    if not parent:
        blocked("the cgroup driver of the runtime is unknown, so the requests of pods name no cgroup")
    return parent


def limit_memory_of_the_pod(limited: Limited) -> None:
    """Set the memory limit of a container's pod to 64 MiB, without swap."""
    for pod in pod_folders(limited.pid(), Path(parent_of(limited.container.sandbox)).name):
        # with cgroup v1, memsw (memory and swap) may not be below memory; v2 limits swap separately
        for file, limit in POD_MEMORY:
            if (pod / file).exists():
                (pod / file).write_text(limit, encoding="ascii")


@requirement("RES-22")
@requires(Capability.SAME_HOST, Capability.ROOT)
def test_pids_limit_of_the_pod_applies_to_its_containers(
    runtime: Runtime, limits: Limits, own_sandbox: Sandbox
) -> None:
    """A limit of processes on the cgroup of a pod SHOULD apply to its containers.

    Source: LinuxPodSandboxConfig.cgroup_parent; the test writes the limit to the pod's cgroup, as the kubelet
    does.
    """
    limits.require("pids")
    name = Path(parent_of(own_sandbox)).name
    limited = limits.running(in_sandbox=own_sandbox)
    limited.pid()
    for pod in pod_folders(limited.pid(), name):
        if (pod / "pids.max").exists():
            # half of what FORKS starts, and more than the pod has now
            (pod / "pids.max").write_text("30", encoding="ascii")

    response = runtime.stub.ExecSync(limited.container.script_request(FORKS))

    assert b"started" not in response.stdout
    assert limited.container.state() == cri.CONTAINER_RUNNING


@requirement("CTR-24")
@requires(Capability.SAME_HOST, Capability.SHARED_KERNEL, Capability.ROOT)
def test_oom_kill_for_the_memory_limit_of_the_pod_is_reported(
    runtime: Runtime, limits: Limits, own_sandbox: Sandbox
) -> None:
    """ContainerStatus MUST report the reason OOMKilled and exit code 137 for a container without a limit
    whose first process the kernel kills for the memory limit of its pod.

    Source: ContainerStatus.reason, whose value for this case the CRI fixes;
    LinuxPodSandboxConfig.cgroup_parent, to which the test writes the limit, as the kubelet does.
    """
    limits.require("memory")
    limited = limits.running(
        # three times the limit of the pod, once that is set
        script="until [ -e /go ]; do sleep 0.1; done; exec dd if=/dev/zero of=/dev/null bs=200M",
        in_sandbox=own_sandbox,
    )
    limit_memory_of_the_pod(limited)

    limited.container.output("touch", "/go")

    # 137 is 128 plus the number of SIGKILL
    assert limited.container.exited().exit_code == 137
    # the kernel's OOM event may reach the daemon after the exit of the process
    runtime.eventually(
        "the reason OOMKilled", limited.container.status, 10, lambda status: status.reason == "OOMKilled"
    )


@requirement("RES-23/container")
@requires(Capability.SAME_HOST, Capability.ROOT)
def test_a_container_is_below_the_cgroup_of_its_pod(limits: Limits) -> None:
    """The processes of a container MUST be in a cgroup of their own below the pod's `cgroup_parent`, in every
    controller.

    Source: LinuxPodSandboxConfig.cgroup_parent.
    """
    first, second = limits.running(), limits.running()
    name = Path(parent_of(first.container.sandbox)).name

    cgroups = [folders_of_process(limited.pid()) for limited in (first, second)]

    assert [folder for cgroup in cgroups for folder in cgroup if name not in folder.parts[:-1]] == []
    assert not set(cgroups[0]) & set(cgroups[1])


@requirement("RES-23/sandbox")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.SAME_HOST, Capability.ROOT)
def test_the_process_of_a_sandbox_is_below_the_cgroup_of_its_pod(
    runtime: Runtime, sandboxes: Sandboxes
) -> None:
    """The process of a sandbox SHOULD be in a cgroup below the pod's `cgroup_parent`, in every controller.

    Source: LinuxPodSandboxConfig.cgroup_parent, where the resources of the pod are accounted and limited.
    """
    config = sandboxes.config()

    response = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    sandbox = sandboxes.adopt(response.pod_sandbox_id, config)
    name, pid = Path(parent_of(sandbox)).name, process_of_sandbox(sandbox)
    assert [folder for folder in folders_of_process(pid) if name not in folder.parts[:-1]] == []


@requirement("RES-24/matching")
@requires(Capability.RUNTIME_CONFIG)
def test_cgroup_parent_in_the_form_of_the_driver_is_accepted(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """A pod whose `cgroup_parent` has the form of the cgroup driver that RuntimeConfig reports MUST start,
    and so MUST its containers.

    Source: LinuxPodSandboxConfig.cgroup_parent, LinuxRuntimeConfiguration.cgroup_driver.
    """
    config = sandboxes.config()
    reported_driver = runtime.stub.RuntimeConfig(cri.RuntimeConfigRequest()).linux.cgroup_driver
    form = CgroupDriver.SYSTEMD if reported_driver == cri.SYSTEMD else CgroupDriver.CGROUPFS
    config.linux.cgroup_parent = CgroupParents(runtime.requests.run, form).of_pod(config.metadata.uid)

    response = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    sandbox = sandboxes.adopt(response.pod_sandbox_id, config)
    assert containers.running(in_sandbox=sandbox).state() == cri.CONTAINER_RUNNING


@requirement("RES-24/mismatched")
def test_form_of_a_cgroup_parent_of_the_other_driver(
    runtime: Runtime, sandboxes: Sandboxes, record_variant: RecordVariant
) -> None:
    """A pod whose `cgroup_parent` has the form of the other cgroup driver MAY be rejected.

    Source: LinuxPodSandboxConfig.cgroup_parent; runtimes differ.
    """
    driver = runtime.requests.cgroups.driver
    if driver not in OTHER_DRIVER:
        blocked("the cgroup driver of the runtime is unknown")
    config = sandboxes.config()
    # below the cgroup of this run, where the run finds it again
    own = str(Path(config.linux.cgroup_parent).parent) if driver is CgroupDriver.CGROUPFS else ""
    other = CgroupParents(runtime.requests.run, OTHER_DRIVER[driver]).of_pod(config.metadata.uid)
    config.linux.cgroup_parent = f"{own}/{other}" if own else other

    try:
        response = runtime.stub.RunPodSandbox(sandboxes.creation(config))
    except grpc.RpcError as error:
        record_variant(f"refused with {refused_with(error).name}")
    else:
        assert sandboxes.adopt(response.pod_sandbox_id, config).state() == cri.SANDBOX_READY
        record_variant("accepted")


@requirement("RES-25")
def test_resources_of_the_pod_are_accepted(sandboxes: Sandboxes, runtime: Runtime, limits: Limits) -> None:
    """RunPodSandbox MUST accept an overhead and the sum of the containers' resources, and these MUST NOT
    become limits of a container.

    Source: LinuxPodSandboxConfig.overhead and resources, which announce the pod's consumption.
    """
    config = sandboxes.config()
    config.linux.overhead.CopyFrom(
        # 102 shares are a tenth of a CPU: the kubelet computes 100 * 1024 // 1000
        cri.LinuxContainerResources(cpu_shares=102, memory_limit_in_bytes=64 * MIB)
    )
    config.linux.resources.CopyFrom(
        cri.LinuxContainerResources(
            cpu_shares=512, cpu_quota=50_000, cpu_period=100_000, memory_limit_in_bytes=96 * MIB
        )
    )

    response = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    sandbox = sandboxes.adopt(response.pod_sandbox_id, config)
    limited = limits.running(in_sandbox=sandbox)
    assert limited.observed(lambda cgroup: (cgroup.memory, cgroup.cpu_quota)) == {(None, None)}


@requirement("RES-26")
@requires(Capability.CGROUP_V2)
def test_a_container_sees_its_cgroup_as_the_root(limits: Limits) -> None:
    """An unprivileged container SHOULD have a cgroup namespace of its own with cgroup v2.

    Source: not stated by the CRI; the Kubernetes enhancement on cgroup v2 requires it.
    """
    limited = limits.running()

    # hierarchy 0 is cgroup v2, the path is relative to the root of the namespace
    assert limited.container.output("cat", "/proc/1/cgroup") == "0::/"


@requirement("RES-27")
def test_a_container_sees_only_its_own_cgroup(runtime: Runtime, limits: Limits) -> None:
    """An unprivileged container SHOULD find only its own part of the cgroup v1 hierarchies, read-only.

    Source: not stated by the CRI; otherwise it would see other pods of the node.
    """
    if runtime.has(Capability.CGROUP_V2):
        blocked("needs a machine with cgroup version 1")
    limits.require("pids")
    # an unusual limit: a cgroup that has it is the container's
    limited = limits.running(resources=cri.LinuxContainerResources(memory_limit_in_bytes=49 * MIB))

    # the kernel prints 0 for processes of other containers, which have no PID in this namespace
    processes = limited.container.output("cat", "/sys/fs/cgroup/pids/cgroup.procs").split()
    written = limited.container.exec("mkdir", "/sys/fs/cgroup/pids/written")

    assert "1" in processes
    assert "0" not in processes
    assert limited.inside().memory == 49 * MIB
    assert written.exit_code != 0


@requirement("RES-30")
def test_containers_created_concurrently_have_their_own_limits(limits: Limits) -> None:
    """Containers that are created at the same time SHOULD each get their own limits.

    Source: judgement; the kubelet creates containers of several pods at once.
    """
    limits.require("memory", "cpu")
    requested = [
        cri.LinuxContainerResources(
            # every container has other limits, so that an exchange shows
            memory_limit_in_bytes=(32 + number) * MIB,
            cpu_quota=20_000 + number * 1_000,
            cpu_period=100_000,
        )
        for number in range(8)
    ]

    with ThreadPoolExecutor(len(requested)) as threads:
        several = list(threads.map(lambda resources: limits.running(resources=resources), requested))

    assert [(cgroup.memory, cgroup.cpu_quota) for cgroup in (limited.inside() for limited in several)] == [
        (resources.memory_limit_in_bytes, resources.cpu_quota) for resources in requested
    ]


def pod_folders(pid: int, name: str) -> list[Path]:
    """Return the directories of a pod's cgroup, above those of a container's process."""
    return [
        Path(*folder.parts[: folder.parts.index(name) + 1])
        for folder in folders_of_process(pid)
        if name in folder.parts
    ]
