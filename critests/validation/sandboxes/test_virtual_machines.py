"""RCL: handlers whose sandboxes have a kernel of their own, as virtual machines do."""

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime
from critests.fixtures.sandboxes import Sandboxes
from critests.run.marks import requirement, requires
from critests.run.outcomes import unsupported

BOOT_ID = "/proc/sys/kernel/random/boot_id"
OVERHEAD = cri.LinuxContainerResources(cpu_shares=256, memory_limit_in_bytes=160 << 20)
"""What the kubelet tells of a handler whose RuntimeClass says so."""


@pytest.fixture(autouse=True)
def _own_kernel(runtime: Runtime) -> None:
    """Sandboxes of the handler under test have a kernel of their own."""
    if runtime.has(Capability.SHARED_KERNEL):
        unsupported("VM handler: containers share the kernel of the machine")


@requirement("RCL-08")
def test_each_pod_has_a_kernel_of_its_own(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """Where a pod does not share the kernel of the machine, it SHOULD share none with another pod.

    Source: not stated by the CRI; who runs pods in machines of their own wants them apart.
    """
    home = sandboxes.ready()
    made = {
        "first": containers.running(in_sandbox=home),
        "neighbour": containers.running(in_sandbox=home),
        "stranger": containers.running(in_sandbox=sandboxes.ready()),
    }

    boots = {
        name: runtime.stub.ExecSync(container.exec_request("cat", BOOT_ID)).stdout
        for name, container in made.items()
    }

    if b"" in boots.values():
        unsupported("VM handler: the kernel in a container tells no boot id")
    if boots["neighbour"] != boots["first"]:
        unsupported("VM handler: the kernel of one pod tells each container another boot id")
    assert boots["stranger"] != boots["first"]


@requirement("RCL-07")
@requires(Capability.POD_STATS)
def test_stats_of_a_pod_count_what_its_machine_takes(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """A pod with an overhead SHOULD start, and what it uses SHOULD be more than what its containers use: its
    own kernel and what runs that take memory, too.

    Source: LinuxPodSandboxConfig.overhead; LinuxPodSandboxStats.memory. The kubelet counts the overhead among
    what the pod may take.
    """
    config = sandboxes.config()
    config.linux.overhead.CopyFrom(OVERHEAD)
    home = sandboxes.attempt(config)
    containers.running(in_sandbox=home)

    pod = runtime.stub.PodSandboxStats(cri.PodSandboxStatsRequest(pod_sandbox_id=home.id)).stats.linux

    parts = [each.memory.working_set_bytes.value for each in pod.containers]
    assert len(parts) == 1
    assert pod.memory.working_set_bytes.value > sum(parts)
