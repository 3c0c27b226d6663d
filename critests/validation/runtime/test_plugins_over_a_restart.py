"""NRI: plugins of the Node Resource Interface over a restart of the daemon."""

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    PluginFactory,
    RecordVariant,
    disruptive,
    refuse,
    requirement,
    requires,
)

END_SECONDS = 10.0
"""For a plugin to notice that its daemon is gone, before scaling."""


@requirement("NRI-13")
@disruptive
def test_plugin_is_synchronized_again_after_a_restart(own_plugins: PluginFactory) -> None:
    """A plugin's connection MUST end when the daemon is restarted, and a plugin that connects to the next
    daemon MUST be synchronized with the existing pods and containers.

    Source: the NRI's Plugin service, Synchronize, the only way for a plugin to learn of them.
    """
    runtime, pod = own_plugins.runtime, own_plugins.pod
    container = runtime.container(pod)
    before = own_plugins.connect()

    runtime.restart()

    assert before.ends_within(END_SECONDS * runtime.scale)
    after = own_plugins.attempt()
    assert after.snapshot is not None
    assert pod.id in after.snapshot.pods
    assert container.id in after.snapshot.containers
    assert after.snapshot.pods[pod.id].uid == pod.status().metadata.uid
    entry = after.snapshot.containers[container.id]
    assert (entry.pod_sandbox_id, entry.name) == (pod.id, container.status().metadata.name)


@requirement("NRI-09")
@disruptive
def test_pod_that_a_plugin_refused_once_is_listed_once_after_a_restart(own_plugins: PluginFactory) -> None:
    """The daemon MUST start again after a plugin refused a pod and the same request then succeeded, and MUST
    list that pod once, as READY.

    Source: the NRI's Plugin service; ListPodSandbox.
    """
    runtime, sandboxes = own_plugins.runtime, own_plugins.runtime.sandboxes
    plugin = own_plugins.connect()
    config = sandboxes.marked_config()
    with plugin.hooked("RunPodSandbox", refuse):
        runtime.refusal(runtime.stub.RunPodSandbox, sandboxes.creation(config))
    created = sandboxes.attempt(config)

    runtime.restart()

    items = runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
    of_the_pod = [item for item in items if item.metadata == config.metadata]
    assert [each.id for each in of_the_pod if each.state == cri.SANDBOX_READY] == [created.id]


@requirement("NRI-08/restart")
@requires(Capability.POD_RESOURCE_UPDATES)
@disruptive
def test_resources_of_a_pod_in_synchronize_after_a_restart(
    own_plugins: PluginFactory, record_variant: RecordVariant
) -> None:
    """Synchronize MAY report the updated or the original resources of a pod after a restart of the daemon.

    Source: the NRI's LinuxPodSandbox.pod_resources; runtimes differ.
    """
    runtime, pod = own_plugins.runtime, own_plugins.pod
    new = cri.LinuxContainerResources(cpu_quota=60_000, cpu_period=100_000)
    runtime.stub.UpdatePodSandboxResources(
        cri.UpdatePodSandboxResourcesRequest(pod_sandbox_id=pod.id, resources=new)
    )

    runtime.restart()

    snapshot = own_plugins.attempt().snapshot
    assert snapshot is not None
    assert pod.id in snapshot.pods
    quota = snapshot.pods[pod.id].linux.pod_resources.cpu.quota.value
    record_variant("the updated values" if quota == 60_000 else "the original values")
