"""NRI: plugins of the Node Resource Interface: what they hear, and what becomes of the runtime where they
refuse, hang or go.
"""

import threading

import pytest

from critests.api import api_pb2 as cri
from critests.api import nri_pb2 as nri
from critests.catalogue.words import Capability
from critests.fixtures.nri import Plugins, refuse
from critests.fixtures.runtime import may_be_refused
from critests.lifecycle.kubelet_keys import CONTAINER_NAME
from critests.node.nri.plugin import Heard
from critests.run.marks import disruptive, requirement, requires, slow
from critests.run.outcomes import unsupported
from critests.validation.runtime.plugin_lives import OF_CONTAINERS, OF_PODS, Life, lived

pytestmark = disruptive

EVICTION_SECONDS = 10.0
"""For a plugin that does not answer to be given up, before scaling; two seconds is what the runtime was told.
"""
EVENT_SECONDS = 5.0


@requirement("NRI-01")
def test_a_plugin_is_told_what_there_is(plugins: Plugins) -> None:
    """A plugin that registers MUST be configured with the runtime's name and version, and synchronized with
    every pod and container that there is.

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
    told, metadata = plugin.snapshot.pods[pod.id], pod.status().metadata
    assert (told.name, told.namespace, told.uid) == (metadata.name, metadata.namespace, metadata.uid)
    assert {running.id, created.id} <= plugin.snapshot.containers.keys()
    for container in (running, created):
        seen = plugin.snapshot.containers[container.id]
        assert (seen.pod_sandbox_id, seen.name) == (pod.id, container.status().metadata.name)


@pytest.fixture
def life(plugins: Plugins) -> Life:
    """A pod and a container that went through their whole lives while a plugin listened."""
    return lived(plugins)


@requirement("NRI-02")
def test_a_plugin_hears_of_a_whole_life_in_order(life: Life) -> None:
    """A plugin MUST hear of a pod that is run, stopped and removed, and of a container that is created,
    started, stopped and removed, in this order.

    Source: the NRI's Plugin service, which is called at these moments.
    """
    assert life.moments(life.pod_id, OF_PODS) == list(OF_PODS)
    assert life.moments(life.container_id, OF_CONTAINERS) == list(OF_CONTAINERS)


@requirement("NRI-02")
def test_a_plugin_hears_whose_moment_it_is(life: Life) -> None:
    """Every moment MUST name the pod, and that of a container its id, its name and its pod, as they were
    asked for.

    Source: the NRI's PodSandbox and Container.
    """
    assert life.heard
    for each in life.heard:
        pod = each.pod
        assert (pod.id, pod.name, pod.namespace, pod.uid) == (life.pod_id, *life.pod_names), each.moment
    of_container = [each for each in life.heard if each.container.id]
    assert of_container
    for each in of_container:
        seen = each.container
        assert (seen.id, seen.name, seen.pod_sandbox_id) == (
            life.container_id,
            life.container_name,
            life.pod_id,
        ), each.moment


@requirement("NRI-02")
def test_a_plugin_is_told_the_name_that_a_container_was_given(plugins: Plugins) -> None:
    """The name of a container MUST be that of its metadata, whatever labels it has.

    Source: the NRI's Container.name; ContainerMetadata.name. Labels are the client's own; the kubelet repeats
    the name there, others do not.
    """
    plugin = plugins.connect()
    config = plugins.runtime.containers.config()
    del config.labels[CONTAINER_NAME]

    container = plugins.runtime.containers.attempt(config, in_sandbox=plugins.pod)

    heard = plugin.moments_of(container.id)
    assert heard
    assert {(each.container.name, each.container.pod_sandbox_id) for each in heard} == {
        (config.metadata.name, plugins.pod.id)
    }


@requirement("NRI-05")
def test_plugins_are_called_in_the_order_of_their_indices(plugins: Plugins) -> None:
    """Plugins MUST be called in ascending order of their indices, whichever connected first.

    Source: the NRI's RegisterPluginRequest.plugin_idx.
    """
    called: list[str] = []
    for plugin in [plugins.connect(index) for index in ("60", "40", "50")]:
        # the plugin is that of this turn of the loop
        plugin.hooks["CreateContainer"] = lambda _, plugin=plugin: called.append(plugin.index)  # type: ignore[misc]  # mypy cannot type a lambda's default

    made = plugins.runtime.containers.created(in_sandbox=plugins.pod)

    assert made.state() == cri.CONTAINER_CREATED
    assert called == ["40", "50", "60"]


@requirement("NRI-09")
def test_a_pod_that_a_plugin_refuses_is_not_made(plugins: Plugins) -> None:
    """RunPodSandbox MUST fail where a plugin answers with an error, and MUST leave nothing but what is listed
    as not READY and can be removed; the same pod can then be made.

    Source: the NRI's Plugin service; RunPodSandbox, RemovePodSandbox. The kubelet makes the pod again.
    """
    runtime, sandboxes = plugins.runtime, plugins.runtime.sandboxes
    plugin = plugins.connect()
    config = sandboxes.marked_config()

    with plugin.hooked("RunPodSandbox", refuse):
        runtime.refusal(runtime.stub.RunPodSandbox, sandboxes.creation(config))

    for half in sandboxes.made_from(config):
        assert half.state == cri.SANDBOX_NOTREADY
        runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=half.id))
        runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=half.id))
    made = sandboxes.attempt(config)
    assert made.state() == cri.SANDBOX_READY


@requirement("NRI-09")
def test_a_container_that_a_plugin_refuses_is_not_made(plugins: Plugins) -> None:
    """CreateContainer MUST fail where a plugin answers with an error, MUST leave no container, and MUST
    succeed for the same container when the plugin does not refuse.

    Source: the NRI's Plugin service; CreateContainer. The kubelet makes the container again.
    """
    runtime, containers = plugins.runtime, plugins.runtime.containers
    plugin = plugins.connect()
    config = containers.config()

    with plugin.hooked("CreateContainer", refuse):
        runtime.refusal(runtime.stub.CreateContainer, containers.creation(config, plugins.pod))

    made = containers.attempt(config, in_sandbox=plugins.pod)
    assert made.state() == cri.CONTAINER_RUNNING


@requirement("NRI-10")
def test_a_plugin_cannot_keep_a_container_from_being_stopped(plugins: Plugins) -> None:
    """StopContainer MUST succeed where a plugin answers with an error, and the container MUST have ended.

    Source: the NRI's Plugin service; StopContainer. A pod could not be deleted otherwise.
    """
    container = plugins.runtime.container(plugins.pod)
    plugin = plugins.connect(StopContainer=refuse)

    plugins.runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=10))

    assert container.state() == cri.CONTAINER_EXITED
    plugins.runtime.eventually(
        "the plugin to hear of the stop",
        lambda: plugin.first("StopContainer", container.id),
        EVENT_SECONDS,
    )


@requirement("NRI-10")
def test_a_plugin_cannot_keep_a_container_from_being_removed(plugins: Plugins) -> None:
    """RemoveContainer MUST succeed where a plugin answers with an error, and the container MUST be gone.

    Source: the NRI's Plugin service; RemoveContainer. A pod could not be deleted otherwise.
    """
    container = plugins.runtime.containers.exited(in_sandbox=plugins.pod)
    plugin = plugins.connect(RemoveContainer=refuse)

    plugins.runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert container.entries() == []
    assert plugin.first("RemoveContainer", container.id)


@requirement("NRI-11")
@slow
def test_a_plugin_that_does_not_answer_is_given_up(plugins: Plugins) -> None:
    """A plugin that does not answer in time MUST be given up: its connection ends, the call that asked it
    comes to its end, and the next one succeeds.

    Source: the NRI's ConfigureRequest.request_timeout.
    """
    runtime, containers = plugins.runtime, plugins.runtime.containers
    plugin = plugins.connect()
    for_ever = threading.Event()

    def hang(_: Heard) -> None:
        for_ever.wait()

    with plugin.hooked("CreateContainer", hang):
        with may_be_refused():
            containers.attempt(containers.config(), in_sandbox=plugins.pod)
        over = plugin.ends_within(EVICTION_SECONDS * runtime.scale)
    for_ever.set()

    assert over, "the plugin is still connected"
    made = containers.attempt(containers.config(), in_sandbox=plugins.pod)
    assert made.state() == cri.CONTAINER_RUNNING


@requirement("NRI-12")
@pytest.mark.parametrize("moment", ["", "CreateContainer"], ids=["between calls", "in a call"])
def test_a_plugin_that_is_gone_is_not_in_the_way(plugins: Plugins, moment: str) -> None:
    """Where the connection of a plugin ends, between two calls or in the middle of one, the runtime MUST go
    on as without it.

    Source: the NRI's Plugin service, of which any program may be a client; a crash is no refusal.
    """
    containers = plugins.runtime.containers
    plugin = plugins.connect()
    if moment:
        plugin.hooks[moment] = lambda _: plugin.close()
        with may_be_refused():
            containers.attempt(containers.config(), in_sandbox=plugins.pod)
    else:
        plugin.close()

    made = containers.attempt(containers.config(), in_sandbox=plugins.pod)

    assert made.state() == cri.CONTAINER_RUNNING
    assert plugins.runtime.damage() == ""
    assert plugins.connect().snapshot


@requirement("NRI-15")
@requires(Capability.POD_NETWORK)
def test_a_plugin_is_told_the_addresses_of_a_pod(plugins: Plugins) -> None:
    """A plugin MUST be told the addresses of a pod, the first one first, when it is run.

    Source: the NRI's PodSandbox.ips.
    """
    plugin = plugins.connect()

    pod = plugins.runtime.sandbox()

    network = pod.status().network
    addresses = [network.ip, *(more.ip for more in network.additional_ips)]
    heard = plugin.first("RunPodSandbox", pod.id)
    assert heard is not None
    if not heard.pod.ips and not _told_elsewhere(plugins, pod.id):
        unsupported("NRI: PodSandbox.ips is empty at every moment")
    assert list(heard.pod.ips) == addresses


def _told_elsewhere(plugins: Plugins, pod_id: str) -> bool:
    snapshot = plugins.attempt("51").snapshot
    assert snapshot is not None
    return bool(snapshot.pods.get(pod_id, nri.PodSandbox()).ips)


NEW = cri.LinuxContainerResources(cpu_quota=60_000, cpu_period=100_000, memory_limit_in_bytes=200 << 20)
ADDED = cri.LinuxContainerResources(cpu_shares=102, memory_limit_in_bytes=32 << 20)


@requirement("NRI-08/delivered")
@requires(Capability.POD_RESOURCE_UPDATES)
def test_a_plugin_hears_of_new_resources_of_a_pod(plugins: Plugins) -> None:
    """A plugin MUST be told of the new resources and the new overhead of a pod by UpdatePodSandboxResources.

    Source: the NRI's UpdatePodSandboxRequest.
    """
    plugin = plugins.connect(every_moment=True)

    plugins.runtime.stub.UpdatePodSandboxResources(
        cri.UpdatePodSandboxResourcesRequest(pod_sandbox_id=plugins.pod.id, overhead=ADDED, resources=NEW)
    )

    heard = plugin.first("UpdatePodSandbox", plugins.pod.id)
    assert heard is not None
    resources, overhead = heard.request.linux_resources, heard.request.overhead_linux_resources
    assert (resources.cpu.quota.value, resources.memory.limit.value) == (60_000, 200 << 20)
    assert (overhead.cpu.shares.value, overhead.memory.limit.value) == (102, 32 << 20)
