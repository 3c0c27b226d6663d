"""NRI: the events that plugins of the Node Resource Interface receive, and how the runtime handles plugins
that reject, hang or disconnect.
"""

import threading
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.api import nri_pb2 as nri
from critests.testing import (
    CONTAINER_NAME,
    Capability,
    PluginEvent,
    PluginFactory,
    disruptive,
    may_be_refused,
    refuse,
    requirement,
    requires,
    slow,
    unsupported,
)
from critests.validation.runtime.plugin_lifecycle import OF_CONTAINERS, OF_PODS, Lifecycle, lifecycle_of_a_pod

pytestmark = disruptive

DISCONNECT_SECONDS = 10.0
"""For a plugin that does not respond to be disconnected, before scaling; its timeout is 2 seconds."""
CLEANUP_SECONDS = 20.0  # for a daemon that removes in the background
EVENT_SECONDS = 5.0  # for an event that may follow the response of the call


@requirement("NRI-01")
def test_a_plugin_is_synchronized_with_existing_objects(plugins: PluginFactory) -> None:
    """A plugin that registers MUST be configured with the runtime's name and version, and synchronized with
    every existing pod and container.

    Source: the NRI's Plugin service, Configure and Synchronize.
    """
    pod = plugins.pod
    running = plugins.runtime.container(pod)
    created = plugins.runtime.containers.created(in_sandbox=pod)

    plugin = plugins.attempt()

    assert plugin.configuration is not None
    assert plugin.configuration.runtime_name
    assert plugin.configuration.runtime_version
    assert plugin.snapshot is not None
    assert pod.id in plugin.snapshot.pods
    entry, metadata = plugin.snapshot.pods[pod.id], pod.status().metadata
    assert (entry.name, entry.namespace, entry.uid) == (metadata.name, metadata.namespace, metadata.uid)
    assert {running.id, created.id} <= plugin.snapshot.containers.keys()
    for container in (running, created):
        container_entry = plugin.snapshot.containers[container.id]
        assert (container_entry.pod_sandbox_id, container_entry.name) == (
            pod.id,
            container.status().metadata.name,
        )


@pytest.fixture
def lifecycle(plugins: PluginFactory) -> Lifecycle:
    """A pod and a container that were created and removed while a plugin was connected."""
    return lifecycle_of_a_pod(plugins)


@requirement("NRI-02")
def test_plugin_receives_lifecycle_events_in_order(lifecycle: Lifecycle) -> None:
    """A plugin MUST receive the events of a pod that is run, stopped and removed, and of a container that is
    created, started, stopped and removed, in this order.

    Source: the NRI's Plugin service, which is called for these events.
    """
    assert lifecycle.names(lifecycle.pod_id, OF_PODS) == list(OF_PODS)
    assert lifecycle.names(lifecycle.container_id, OF_CONTAINERS) == list(OF_CONTAINERS)


@requirement("NRI-02")
def test_plugin_events_name_their_pod_and_container(lifecycle: Lifecycle) -> None:
    """Every NRI event MUST name its pod, and a container's event also the container's id, name and pod, as
    requested.

    Source: the NRI's PodSandbox and Container.
    """
    assert lifecycle.events
    for each in lifecycle.events:
        pod = each.pod
        names = (pod.name, pod.namespace, pod.uid)
        assert (pod.id, names) == (lifecycle.pod_id, lifecycle.pod_names), each.name
    of_container = [each for each in lifecycle.events if each.container.id]
    assert of_container
    for each in of_container:
        container = each.container
        assert (container.id, container.name, container.pod_sandbox_id) == (
            lifecycle.container_id,
            lifecycle.container_name,
            lifecycle.pod_id,
        ), each.name


@requirement("NRI-02")
def test_a_plugin_receives_the_name_in_a_containers_metadata(plugins: PluginFactory) -> None:
    """The NRI's Container.name MUST be the name in ContainerMetadata, whatever labels the container has.

    Source: the NRI's Container.name; ContainerMetadata.name. Labels belong to the client; the kubelet repeats
    the name there, other clients do not.
    """
    plugin = plugins.connect()
    config = plugins.runtime.containers.config()
    del config.labels[CONTAINER_NAME]

    container = plugins.runtime.containers.attempt(config, in_sandbox=plugins.pod)

    events = plugin.events_of(container.id)
    assert events
    assert {(each.container.name, each.container.pod_sandbox_id) for each in events} == {
        (config.metadata.name, plugins.pod.id)
    }


@requirement("NRI-05")
def test_plugins_are_called_in_the_order_of_their_indices(plugins: PluginFactory) -> None:
    """Plugins MUST be called in ascending order of their indices, whatever the order of their connections.

    Source: the NRI's RegisterPluginRequest.plugin_idx.
    """
    called: list[str] = []
    # neither in ascending nor in descending order
    for plugin in [plugins.connect(index) for index in ("60", "40", "50")]:
        # the default binds the plugin of this iteration
        plugin.hooks["CreateContainer"] = lambda _, plugin=plugin: called.append(plugin.index)  # type: ignore[misc]  # mypy cannot type a lambda's default

    created = plugins.runtime.containers.created(in_sandbox=plugins.pod)

    assert created.state() == cri.CONTAINER_CREATED
    assert called == ["40", "50", "60"]


@requirement("NRI-09")
def test_pod_that_a_plugin_refuses_is_not_created(plugins: PluginFactory) -> None:
    """RunPodSandbox MUST fail if a plugin returns an error, and leave at most a sandbox that is listed as
    NOTREADY and removable, and then nothing on the node; RunPodSandbox of the same pod MUST then succeed.

    Source: the NRI's Plugin service; RunPodSandbox, RemovePodSandbox. The kubelet creates the pod again.
    """
    runtime, sandboxes = plugins.runtime, plugins.runtime.sandboxes
    plugin = plugins.connect()
    config = sandboxes.marked_config()
    before = runtime.daemon.objects(config)

    with plugin.hooked("RunPodSandbox", refuse):
        runtime.refusal(runtime.stub.RunPodSandbox, sandboxes.creation(config))

    for left in sandboxes.created_from(config):
        assert left.state == cri.SANDBOX_NOTREADY
        runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=left.id))
        runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=left.id))
    runtime.eventually(
        "everything of the pod to go",
        lambda: runtime.daemon.objects(config) - before,
        CLEANUP_SECONDS,
        lambda left: not left,
    )
    created = sandboxes.attempt(config)
    assert created.state() == cri.SANDBOX_READY


@requirement("NRI-09")
def test_container_that_a_plugin_refuses_is_not_created(plugins: PluginFactory) -> None:
    """CreateContainer MUST fail if a plugin returns an error, MUST leave no container, log file or anything
    else on the node, and MUST succeed for the same container once the plugin accepts it.

    Source: the NRI's Plugin service; CreateContainer. The kubelet creates the container again.
    """
    runtime, containers = plugins.runtime, plugins.runtime.containers
    plugin = plugins.connect()
    config = containers.config()
    before = runtime.daemon.objects(plugins.pod.config)

    with plugin.hooked("CreateContainer", refuse):
        runtime.refusal(runtime.stub.CreateContainer, containers.creation(config, plugins.pod))

    assert not (plugins.pod.log_directory / config.log_path).exists()
    runtime.eventually(
        "everything of the container to go",
        lambda: runtime.daemon.objects(plugins.pod.config) - before,
        CLEANUP_SECONDS,
        lambda left: not left,
    )
    created = containers.attempt(config, in_sandbox=plugins.pod)
    assert created.state() == cri.CONTAINER_RUNNING


@requirement("NRI-10")
def test_plugin_cannot_prevent_a_stop(plugins: PluginFactory) -> None:
    """StopContainer MUST succeed if a plugin returns an error, and the container MUST be EXITED.

    Source: the NRI's Plugin service; StopContainer. Otherwise a pod could not be deleted.
    """
    container = plugins.runtime.container(plugins.pod)
    plugin = plugins.connect(StopContainer=refuse)

    plugins.runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=10))

    assert container.state() == cri.CONTAINER_EXITED
    plugins.runtime.eventually(
        "the plugin to receive StopContainer",
        lambda: plugin.first("StopContainer", container.id),
        EVENT_SECONDS,
    )


@requirement("NRI-10")
def test_plugin_cannot_prevent_a_removal(plugins: PluginFactory) -> None:
    """RemoveContainer MUST succeed if a plugin returns an error, and the container MUST be gone.

    Source: the NRI's Plugin service; RemoveContainer. Otherwise a pod could not be deleted.
    """
    container = plugins.runtime.containers.exited(in_sandbox=plugins.pod)
    plugin = plugins.connect(RemoveContainer=refuse)

    plugins.runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert container.entries() == []
    assert plugin.first("RemoveContainer", container.id)


@requirement("NRI-11")
@slow
def test_plugin_that_does_not_respond_is_disconnected(plugins: PluginFactory) -> None:
    """A plugin that does not respond in time MUST be disconnected; the call that waits for it ends, and the
    next one succeeds.

    Source: the NRI's ConfigureRequest.request_timeout.
    """
    runtime, containers = plugins.runtime, plugins.runtime.containers
    plugin = plugins.connect()
    released = threading.Event()

    def hang(_: PluginEvent) -> None:
        released.wait()

    with plugin.hooked("CreateContainer", hang):
        with may_be_refused():
            containers.attempt(containers.config(), in_sandbox=plugins.pod)
        disconnected = plugin.ends_within(DISCONNECT_SECONDS * runtime.scale)
    released.set()

    assert disconnected, "the plugin is still connected"
    created = containers.attempt(containers.config(), in_sandbox=plugins.pod)
    assert created.state() == cri.CONTAINER_RUNNING


@requirement("NRI-12")
@pytest.mark.parametrize("event", ["", "CreateContainer"], ids=["between calls", "in a call"])
def test_runtime_continues_without_a_disconnected_plugin(plugins: PluginFactory, event: str) -> None:
    """The runtime MUST continue as without a plugin when the plugin's connection ends, between two calls or
    during one.

    Source: the NRI's Plugin service, whose client can be any program; a crash of it is no rejection.
    """
    containers = plugins.runtime.containers
    plugin = plugins.connect()
    if event:
        plugin.hooks[event] = lambda _: plugin.close()
        with may_be_refused():
            containers.attempt(containers.config(), in_sandbox=plugins.pod)
    else:
        plugin.close()

    created = containers.attempt(containers.config(), in_sandbox=plugins.pod)

    assert created.state() == cri.CONTAINER_RUNNING
    assert plugins.runtime.damage() == ""
    # another plugin can register
    assert plugins.connect().snapshot


@requirement("NRI-15/addresses")
@requires(Capability.POD_NETWORK)
def test_a_plugin_receives_the_addresses_of_a_pod(plugins: PluginFactory) -> None:
    """PodSandbox.ips of the event RunPodSandbox MUST be the addresses of the pod, the primary one first.

    Source: the NRI's PodSandbox.ips.
    """
    plugin = plugins.connect()

    pod = plugins.runtime.sandbox()

    network = pod.status().network
    addresses = [network.ip, *(more.ip for more in network.additional_ips)]
    event = plugin.first("RunPodSandbox", pod.id)
    assert event is not None
    if not event.pod.ips and not _synchronizes_addresses(plugins, pod.id):
        unsupported("NRI: PodSandbox.ips is empty in every event")
    assert list(event.pod.ips) == addresses


def _synchronizes_addresses(plugins: PluginFactory, pod_id: str) -> bool:
    snapshot = plugins.attempt("51").snapshot
    assert snapshot is not None
    return bool(snapshot.pods.get(pod_id, nri.PodSandbox()).ips)


@requirement("NRI-15/other-events")
@requires(Capability.POD_NETWORK)
@pytest.mark.parametrize("event", ["Synchronize", "StopPodSandbox", "RemovePodSandbox"])
def test_addresses_of_a_pod_are_in_later_events(plugins: PluginFactory, event: str) -> None:
    """PodSandbox.ips MUST be the addresses of the pod also in Synchronize, StopPodSandbox and
    RemovePodSandbox.

    Source: the NRI's PodSandbox.ips, which does not depend on the event.
    """
    runtime = plugins.runtime
    pod = runtime.sandbox()
    network = pod.status().network
    plugin = plugins.connect()

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))

    assert plugin.snapshot is not None
    reported = {each.name: each.pod for each in plugin.events_of(pod.id)}
    reported["Synchronize"] = plugin.snapshot.pods[pod.id]
    if not any(each.ips for each in reported.values()):
        unsupported("NRI: PodSandbox.ips is empty in every event")
    assert list(reported[event].ips) == [network.ip, *(more.ip for more in network.additional_ips)]


@requirement("NRI-15/namespace")
@requires(Capability.POD_NETWORK)
def test_a_plugin_receives_the_network_namespace_of_a_pod(plugins: PluginFactory) -> None:
    """A plugin MUST receive the file of the network namespace in which the containers of a pod run, with
    RunPodSandbox and with Synchronize.

    Source: the NRI's LinuxPodSandbox.namespaces.
    """
    plugin, runtime = plugins.connect(), plugins.runtime
    runtime.require_host_kernel()
    pod = runtime.sandbox()
    namespace = runtime.container(pod).output("readlink", "/proc/self/ns/net").strip()

    event, snapshot = plugin.first("RunPodSandbox", pod.id), plugins.attempt("51").snapshot

    assert event is not None
    assert snapshot is not None
    for reported in (event.pod, snapshot.pods[pod.id]):
        paths = {each.type: each.path for each in reported.linux.namespaces}
        assert "network" in paths
        inode = runtime.seen_by_daemon(Path(paths["network"])).stat().st_ino
        assert f"net:[{inode}]" == namespace


RESOURCES = cri.LinuxContainerResources(cpu_quota=60_000, cpu_period=100_000, memory_limit_in_bytes=200 << 20)
# 102 shares are a tenth of a CPU: the kubelet computes 100 * 1024 // 1000
OVERHEAD = cri.LinuxContainerResources(cpu_shares=102, memory_limit_in_bytes=32 << 20)


@requirement("NRI-08/delivered")
@requires(Capability.POD_RESOURCE_UPDATES)
def test_plugin_receives_new_resources_of_a_pod(plugins: PluginFactory) -> None:
    """A plugin MUST receive the new resources and overhead of a pod on UpdatePodSandboxResources.

    Source: the NRI's UpdatePodSandboxRequest.
    """
    plugin = plugins.connect(every_event=True)

    plugins.runtime.stub.UpdatePodSandboxResources(
        cri.UpdatePodSandboxResourcesRequest(
            pod_sandbox_id=plugins.pod.id, overhead=OVERHEAD, resources=RESOURCES
        )
    )

    event = plugin.first("UpdatePodSandbox", plugins.pod.id)
    assert event is not None
    resources, overhead = event.request.linux_resources, event.request.overhead_linux_resources
    assert (resources.cpu.quota.value, resources.memory.limit.value) == (60_000, 200 << 20)
    assert (overhead.cpu.shares.value, overhead.memory.limit.value) == (102, 32 << 20)


@requirement("NRI-08/afterwards")
@requires(Capability.POD_RESOURCE_UPDATES)
def test_a_plugin_receives_that_a_pod_was_updated(plugins: PluginFactory) -> None:
    """A plugin MUST receive PostUpdatePodSandbox after UpdatePodSandbox on UpdatePodSandboxResources.

    Source: the NRI's Plugin service, PostUpdatePodSandbox.
    """
    plugin = plugins.connect(every_event=True)

    plugins.runtime.stub.UpdatePodSandboxResources(
        cri.UpdatePodSandboxResourcesRequest(pod_sandbox_id=plugins.pod.id, resources=RESOURCES)
    )

    updates = ("UpdatePodSandbox", "PostUpdatePodSandbox")
    received = plugins.runtime.eventually(
        "the plugin to receive PostUpdatePodSandbox",
        lambda: [each.name for each in plugin.events_of(plugins.pod.id) if each.name in updates],
        EVENT_SECONDS,
        lambda names: len(names) == len(updates),
    )
    assert received == list(updates)
