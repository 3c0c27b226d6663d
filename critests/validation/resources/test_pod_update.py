"""UPD: UpdatePodSandboxResources, which reports limits that the kubelet has set on the pod's cgroup."""

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    PluginFactory,
    Runtime,
    Sandbox,
    disruptive,
    refuse,
    requirement,
    requires,
)
from critests.validation.resources.limits import MIB, Limits

pytestmark = requires(Capability.POD_RESOURCE_UPDATES)

# 102 shares are a tenth of a CPU: the kubelet computes 100 * 1024 // 1000
OVERHEAD = cri.LinuxContainerResources(cpu_shares=102, memory_limit_in_bytes=32 * MIB)
SUM = cri.LinuxContainerResources(
    cpu_shares=1024, cpu_quota=100_000, cpu_period=100_000, memory_limit_in_bytes=256 * MIB
)


@requirement("UPD-17")
def test_new_resources_of_a_pod_are_accepted(runtime: Runtime, own_sandbox: Sandbox) -> None:
    """UpdatePodSandboxResources MUST succeed for a ready pod, with an overhead and a sum of resources.

    Source: UpdatePodSandboxResources.
    """
    runtime.stub.UpdatePodSandboxResources(
        cri.UpdatePodSandboxResourcesRequest(pod_sandbox_id=own_sandbox.id, overhead=OVERHEAD, resources=SUM)
    )

    assert own_sandbox.state() == cri.SANDBOX_READY


@requirement("UPD-18")
def test_new_resources_of_a_pod_do_not_change_its_containers(
    runtime: Runtime, own_sandbox: Sandbox, limits: Limits
) -> None:
    """UpdatePodSandboxResources SHOULD NOT change the limits of the pod's containers.

    Source: UpdatePodSandboxResources, which the kubelet calls after it has set the pod's cgroup;
    UpdateContainerResources is for containers.
    """
    limits.require("memory", "cpu")
    own = cri.LinuxContainerResources(cpu_quota=40_000, cpu_period=100_000, memory_limit_in_bytes=64 << 20)
    limited = limits.running(in_sandbox=own_sandbox, resources=own)

    runtime.stub.UpdatePodSandboxResources(
        cri.UpdatePodSandboxResourcesRequest(pod_sandbox_id=own_sandbox.id, overhead=OVERHEAD, resources=SUM)
    )

    assert limited.observed(lambda cgroup: (cgroup.cpu_quota, cgroup.memory)) == {(40_000, 64 << 20)}
    reported = limited.container.status().resources.linux
    assert (reported.cpu_quota, reported.memory_limit_in_bytes) == (40_000, 64 << 20)


@requirement("UPD-20")
@disruptive
def test_a_refused_update_of_a_pod_changes_nothing(plugins: PluginFactory) -> None:
    """UpdatePodSandboxResources that a plugin rejects SHOULD NOT change pod or container, and
    UpdateContainerResources SHOULD succeed afterwards.

    Source: UpdatePodSandboxResources, and the NRI's UpdatePodSandbox, whose error rejects the update.
    """
    runtime, pod = plugins.runtime, plugins.pod
    own = cri.LinuxContainerResources(cpu_quota=40_000, cpu_period=100_000, memory_limit_in_bytes=64 * MIB)
    limited = Limits(runtime, runtime.containers).running(in_sandbox=pod, resources=own)
    plugin = plugins.connect(every_event=True)
    update = cri.UpdatePodSandboxResourcesRequest(pod_sandbox_id=pod.id, resources=SUM)

    with plugin.hooked("UpdatePodSandbox", refuse):
        runtime.refusal(runtime.stub.UpdatePodSandboxResources, update)

    assert pod.state() == cri.SANDBOX_READY
    assert limited.observed(lambda cgroup: (cgroup.cpu_quota, cgroup.memory)) == {(40_000, 64 * MIB)}
    runtime.stub.UpdateContainerResources(limited.update(cpu_quota=90_000, cpu_period=100_000))
    assert limited.observed(lambda cgroup: (cgroup.cpu_quota, cgroup.memory)) == {(90_000, 64 * MIB)}
