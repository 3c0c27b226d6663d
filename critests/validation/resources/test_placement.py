"""RES: the cgroup of a container: where it is, what it shows, and what is set above it."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime, refused_with
from critests.fixtures.sandbox_process import process_of_sandbox
from critests.fixtures.sandboxes import Sandboxes
from critests.fixtures.session import Observe
from critests.lifecycle.cgroup_parents import CgroupDriver, CgroupParents
from critests.lifecycle.sandboxes import Sandbox
from critests.node.container_cgroup import folders_of_process
from critests.run.marks import requirement, requires
from critests.run.outcomes import blocked
from critests.validation.resources.limits import MIB, Limited, Limits

FORKS = "for i in $(seq 60); do sleep 30 > /dev/null 2>&1 & done; echo started"
"""Starts 60 processes that do not hold its output; the shell gives up at the first that it cannot start."""
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
    """Return the cgroup that a sandbox was made in; ends the test as blocked where the runtime chose it."""
    parent = sandbox.config.linux.cgroup_parent
    if not parent:
        blocked("the cgroup driver of the runtime could not be found out, so that pods name no cgroup")
    return parent


def limit_memory_of_the_pod(limited: Limited) -> None:
    """Set the limit of a container's pod to 64 MiB, none of them in swap."""
    for pod in pod_folders(limited.pid(), Path(parent_of(limited.container.sandbox)).name):
        # of version 1 the sum with swap may not be lower than the memory; of version 2 swap counts apart
        for file, most in POD_MEMORY:
            if (pod / file).exists():
                (pod / file).write_text(most, encoding="ascii")


@requirement("RES-22")
@requires(Capability.SAME_HOST, Capability.ROOT)
def test_a_limit_of_processes_of_the_pod_holds(
    runtime: Runtime, limits: Limits, own_sandbox: Sandbox
) -> None:
    """A limit of processes that the kubelet sets on the cgroup of a pod SHOULD hold for its containers.

    Source: LinuxPodSandboxConfig.cgroup_parent; the limit is written to the pod's cgroup as by the
    kubelet.
    """
    limits.need("pids")
    name = Path(parent_of(own_sandbox)).name
    limited = limits.running(in_sandbox=own_sandbox)
    limited.pid()
    for pod in pod_folders(limited.pid(), name):
        if (pod / "pids.max").exists():
            (pod / "pids.max").write_text("30", encoding="ascii")

    answer = runtime.stub.ExecSync(limited.container.script_request(FORKS))

    assert b"started" not in answer.stdout
    assert limited.container.state() == cri.CONTAINER_RUNNING


@requirement("CTR-24")
@requires(Capability.SAME_HOST, Capability.SHARED_KERNEL, Capability.ROOT)
def test_a_container_killed_for_the_memory_of_its_pod_says_so(
    runtime: Runtime, limits: Limits, own_sandbox: Sandbox
) -> None:
    """A container without a limit of its own, whose first process the kernel kills for the memory of its pod,
    MUST be reported with the reason OOMKilled and the code 137.

    Source: ContainerStatus.reason, whose text for this case the CRI fixes;
    LinuxPodSandboxConfig.cgroup_parent, to which the limit is written as by the kubelet.
    """
    limits.need("memory")
    limited = limits.running(
        script="until [ -e /go ]; do sleep 0.1; done; exec dd if=/dev/zero of=/dev/null bs=200M",
        in_sandbox=own_sandbox,
    )
    limit_memory_of_the_pod(limited)

    limited.container.output("touch", "/go")

    assert limited.container.exited().exit_code == 137
    # the kernel's word of the kill may reach the daemon after the end of the process
    runtime.eventually(
        "the reason OOMKilled", limited.container.status, 10, lambda status: status.reason == "OOMKilled"
    )


@requirement("RES-23/container")
@requires(Capability.SAME_HOST, Capability.ROOT)
def test_a_container_lives_below_the_cgroup_of_its_pod(limits: Limits) -> None:
    """The processes of a container MUST be in a cgroup of its own below the one that its pod names,
    with every controller.

    Source: LinuxPodSandboxConfig.cgroup_parent.
    """
    first, second = limits.running(), limits.running()
    name = Path(parent_of(first.container.sandbox)).name

    places = [folders_of_process(limited.pid()) for limited in (first, second)]

    assert [folder for place in places for folder in place if name not in folder.parts[:-1]] == []
    assert not set(places[0]) & set(places[1])


@requirement("RES-23/sandbox")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.SAME_HOST, Capability.ROOT)
def test_the_process_of_a_sandbox_lives_below_the_cgroup_of_its_pod(
    runtime: Runtime, sandboxes: Sandboxes
) -> None:
    """The process that a runtime keeps for a sandbox SHOULD be in a cgroup below the one that the pod names,
    with every controller.

    Source: LinuxPodSandboxConfig.cgroup_parent; what a pod uses is counted and limited there.
    """
    config = sandboxes.config()

    answer = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    sandbox = sandboxes.adopt(answer.pod_sandbox_id, config)
    name, pid = Path(parent_of(sandbox)).name, process_of_sandbox(sandbox)
    assert [folder for folder in folders_of_process(pid) if name not in folder.parts[:-1]] == []


@requirement("RES-24/matching")
@requires(Capability.RUNTIME_CONFIG)
def test_a_cgroup_in_the_form_of_the_driver_works(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """A pod whose cgroup is written in the form of the driver that RuntimeConfig names MUST start, and so
    MUST its containers.

    Source: LinuxPodSandboxConfig.cgroup_parent, LinuxRuntimeConfiguration.cgroup_driver.
    """
    config = sandboxes.config()
    named = runtime.stub.RuntimeConfig(cri.RuntimeConfigRequest()).linux.cgroup_driver
    form = CgroupDriver.SYSTEMD if named == cri.SYSTEMD else CgroupDriver.CGROUPFS
    config.linux.cgroup_parent = CgroupParents(runtime.requests.run, form).of_pod(config.metadata.uid)

    answer = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    home = sandboxes.adopt(answer.pod_sandbox_id, config)
    assert containers.running(in_sandbox=home).state() == cri.CONTAINER_RUNNING


@requirement("RES-24/mismatched")
def test_a_cgroup_in_the_form_of_the_other_driver(
    runtime: Runtime, sandboxes: Sandboxes, observe: Observe
) -> None:
    """A pod whose cgroup is written in the form of the other driver MAY be refused.

    Source: LinuxPodSandboxConfig.cgroup_parent; runtimes differ.
    """
    driver = runtime.requests.cgroups.driver
    if driver not in OTHER_DRIVER:
        blocked("the cgroup driver of the runtime could not be found out")
    config = sandboxes.config()
    # below the run's own cgroup, where it is found again
    own = str(Path(config.linux.cgroup_parent).parent) if driver is CgroupDriver.CGROUPFS else ""
    other = CgroupParents(runtime.requests.run, OTHER_DRIVER[driver]).of_pod(config.metadata.uid)
    config.linux.cgroup_parent = f"{own}/{other}" if own else other

    try:
        answer = runtime.stub.RunPodSandbox(sandboxes.creation(config))
    except grpc.RpcError as error:
        observe(f"refused with {refused_with(error).name}")
    else:
        assert sandboxes.adopt(answer.pod_sandbox_id, config).state() == cri.SANDBOX_READY
        observe("accepted")


@requirement("RES-25")
def test_resources_of_the_pod_are_accepted(sandboxes: Sandboxes, runtime: Runtime, limits: Limits) -> None:
    """A pod MUST start with an overhead and with the sum of its containers' resources, and these MUST NOT be
    limits of a container.

    Source: LinuxPodSandboxConfig.overhead and resources, which tell what the pod will take.
    """
    config = sandboxes.config()
    config.linux.overhead.CopyFrom(
        cri.LinuxContainerResources(cpu_shares=102, memory_limit_in_bytes=64 * MIB)
    )
    config.linux.resources.CopyFrom(
        cri.LinuxContainerResources(
            cpu_shares=512, cpu_quota=50_000, cpu_period=100_000, memory_limit_in_bytes=96 * MIB
        )
    )

    answer = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    home = sandboxes.adopt(answer.pod_sandbox_id, config)
    limited = limits.running(in_sandbox=home)
    assert limited.shows(lambda cgroup: (cgroup.memory, cgroup.cpu_quota)) == {(None, None)}


@requirement("RES-26")
@requires(Capability.CGROUP_V2)
def test_a_container_sees_its_cgroup_as_the_root(limits: Limits) -> None:
    """An unprivileged container SHOULD have a cgroup namespace of its own where cgroups are of version 2.

    Source: not stated by the CRI; the Kubernetes enhancement on cgroup v2 asks for it.
    """
    limited = limits.running()

    assert limited.container.output("cat", "/proc/1/cgroup") == "0::/"


@requirement("RES-27")
def test_a_container_sees_only_its_own_cgroup(runtime: Runtime, limits: Limits) -> None:
    """An unprivileged container SHOULD see only its own part of the hierarchies of cgroup v1, read-only.

    Source: not stated by the CRI; more would show it other pods of the node.
    """
    if runtime.has(Capability.CGROUP_V2):
        blocked("needs a machine with cgroup version 1")
    limits.need("pids")
    limited = limits.running(resources=cri.LinuxContainerResources(memory_limit_in_bytes=49 * MIB))

    # processes of other containers are shown as 0, since they have no number in this one
    processes = limited.container.output("cat", "/sys/fs/cgroup/pids/cgroup.procs").split()
    written = limited.container.exec("mkdir", "/sys/fs/cgroup/pids/written")

    assert "1" in processes
    assert "0" not in processes
    assert limited.inside().memory == 49 * MIB
    assert written.exit_code != 0


@requirement("RES-30")
def test_limits_are_not_mixed_up_under_load(limits: Limits) -> None:
    """Containers that are made at the same time SHOULD each get their own limits.

    Source: judgement; the kubelet makes containers of several pods at once.
    """
    limits.need("memory", "cpu")
    wanted = [
        cri.LinuxContainerResources(
            memory_limit_in_bytes=(32 + number) * MIB, cpu_quota=20_000 + number * 1_000, cpu_period=100_000
        )
        for number in range(8)
    ]

    with ThreadPoolExecutor(len(wanted)) as threads:
        made = list(threads.map(lambda resources: limits.running(resources=resources), wanted))

    assert [(seen.memory, seen.cpu_quota) for seen in (limited.inside() for limited in made)] == [
        (resources.memory_limit_in_bytes, resources.cpu_quota) for resources in wanted
    ]


def pod_folders(pid: int, name: str) -> list[Path]:
    """Return the folders of a pod's cgroup, above those of a container's process."""
    return [
        Path(*folder.parts[: folder.parts.index(name) + 1])
        for folder in folders_of_process(pid)
        if name in folder.parts
    ]
