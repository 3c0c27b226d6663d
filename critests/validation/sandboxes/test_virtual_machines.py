"""RCL: handlers whose sandboxes have their own kernel, as virtual machines do."""

import pytest

from critests.api import api_pb2 as cri
from critests.testing import Capability, Containers, Runtime, Sandboxes, requirement, requires, unsupported

BOOT_ID = "/proc/sys/kernel/random/boot_id"
"""A kernel generates a random id when it boots, random(4)."""
# 256 shares are a quarter of a CPU
OVERHEAD = cri.LinuxContainerResources(cpu_shares=256, memory_limit_in_bytes=160 << 20)
"""What the kubelet sends if the handler's RuntimeClass has an overhead."""


@pytest.fixture(autouse=True)
def _own_kernel(runtime: Runtime) -> None:
    """Skip the tests as unsupported if sandboxes of the handler share the machine's kernel."""
    if runtime.has(Capability.SHARED_KERNEL):
        unsupported("VM handler: containers share the kernel of the machine")


@requirement("RCL-08")
def test_each_pod_has_a_kernel_of_its_own(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """A pod that does not share the kernel of the machine SHOULD NOT share one with another pod.

    Source: not stated by the CRI; pods run in virtual machines to be isolated from each other.
    """
    sandbox = sandboxes.ready()
    running = {
        "first": containers.running(in_sandbox=sandbox),
        "same pod": containers.running(in_sandbox=sandbox),
        "other pod": containers.running(in_sandbox=sandboxes.ready()),
    }

    boots = {
        name: runtime.stub.ExecSync(container.exec_request("cat", BOOT_ID)).stdout
        for name, container in running.items()
    }

    if b"" in boots.values():
        unsupported("VM handler: the kernel in a container has no boot id")
    if boots["same pod"] != boots["first"]:
        unsupported("VM handler: the kernel of one pod shows each container another boot id")
    assert boots["other pod"] != boots["first"]


@requirement("RCL-07")
@requires(Capability.POD_STATS)
def test_stats_of_a_pod_include_the_overhead(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """PodSandboxStats of a pod with an overhead SHOULD report more memory than its containers use: the
    virtual machine's kernel and processes need memory, too.

    Source: LinuxPodSandboxConfig.overhead; LinuxPodSandboxStats.memory. The kubelet adds the overhead to the
    pod's limit.
    """
    config = sandboxes.config()
    config.linux.overhead.CopyFrom(OVERHEAD)
    sandbox = sandboxes.attempt(config)
    containers.running(in_sandbox=sandbox)

    pod = runtime.stub.PodSandboxStats(cri.PodSandboxStatsRequest(pod_sandbox_id=sandbox.id)).stats.linux

    parts = [each.memory.working_set_bytes.value for each in pod.containers]
    assert len(parts) == 1
    assert pod.memory.working_set_bytes.value > sum(parts)
