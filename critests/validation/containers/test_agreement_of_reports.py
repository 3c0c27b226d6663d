"""STA, EVT: what a runtime tells of one thing in two places agrees."""

from pathlib import Path
from typing import Any

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.events import STOPPED, Events, labels_of
from critests.fixtures.host_mounts import HostMounts
from critests.fixtures.images import Images
from critests.fixtures.runtime import Runtime
from critests.fixtures.sandboxes import Sandboxes
from critests.lifecycle.sandboxes import Sandbox
from critests.lifecycle.user_namespaces import MAPPING, with_user_namespace
from critests.run.marks import requirement, requires
from critests.validation.containers.agreement import contradictions, differences
from critests.validation.resources.cpus import usable_cpu


def told_otherwise(events: Events, containers: Containers, sandbox: Sandbox) -> dict[str, tuple[Any, Any]]:
    """Let a container end in a sandbox that does not change, and return what the event of that tells of the
    sandbox otherwise than PodSandboxStatus, both by the way to them.
    """
    listener = events.listen()
    container = containers.running(script="exit 7", labels=labels_of(sandbox), in_sandbox=sandbox)
    return differences(listener.first(container.id, STOPPED).pod_sandbox_status, sandbox.status())


@requirement("STA-32")
@requires(Capability.POD_STATS)
def test_list_of_sandbox_stats_agrees_with_sandbox_stats(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """An entry of ListPodSandboxStats SHOULD tell what PodSandboxStats tells of the same sandbox before and
    after: the same attributes, fields and interfaces, times between theirs, and figures of the same size.

    Source: ListPodSandboxStatsResponse.stats, PodSandboxStatsResponse.stats. Not stated by the CRI; the same
    message tells of the same pod.
    """
    containers.running(in_sandbox=own_sandbox)
    alone = cri.PodSandboxStatsRequest(pod_sandbox_id=own_sandbox.id)
    listed = cri.ListPodSandboxStatsRequest(filter=cri.PodSandboxStatsFilter(id=own_sandbox.id))
    before = runtime.stub.PodSandboxStats(alone).stats

    stats = runtime.stub.ListPodSandboxStats(listed).stats

    after = runtime.stub.PodSandboxStats(alone).stats
    assert len(stats) == 1
    assert contradictions(stats[0], before, after) == {}


@requirement("STA-33")
def test_list_of_container_stats_agrees_with_container_stats(
    runtime: Runtime, containers: Containers
) -> None:
    """An entry of ListContainerStats SHOULD tell what ContainerStats tells of the same container before and
    after: the same attributes and fields, times between theirs, and figures of the same size.

    Source: ListContainerStatsResponse.stats, ContainerStatsResponse.stats. Not stated by the CRI; the same
    message tells of the same container.
    """
    container = containers.running(annotations={"example.com/of": "the container"}, attempt=1)
    alone = cri.ContainerStatsRequest(container_id=container.id)
    listed = cri.ListContainerStatsRequest(filter=cri.ContainerStatsFilter(id=container.id))
    before = runtime.stub.ContainerStats(alone).stats

    stats = runtime.stub.ListContainerStats(listed).stats

    after = runtime.stub.ContainerStats(alone).stats
    assert len(stats) == 1
    assert contradictions(stats[0], before, after) == {}


@requirement("EVT-14/container")
@requires(Capability.EVENTS)
def test_event_agrees_with_status_of_the_containers_of_the_pod(
    events: Events, own_sandbox: Sandbox, containers: Containers
) -> None:
    """The event of the end of a container SHOULD have, once each, the statuses of all containers of its pod
    that do not change any more, as ContainerStatus tells them.

    Source: ContainerEventResponse.containers_statuses. Not stated by the CRI; who gets the event need not ask
    for the statuses, which is what events are for.
    """
    listener = events.listen()
    labels = labels_of(own_sandbox)
    earlier = containers.exited(script="exit 3", labels=labels, in_sandbox=own_sandbox)
    later = containers.running(script="exit 7", labels=labels, in_sandbox=own_sandbox, attempt=1)

    statuses = listener.first(later.id, STOPPED).containers_statuses

    wanted = {each.id: each.exited() for each in (earlier, later)}
    assert sorted(status.id for status in statuses) == sorted(wanted)
    assert [differences(status, wanted[status.id]) for status in statuses] == [{}, {}]


@requirement("EVT-14/container")
@requires(Capability.EVENTS, Capability.SAME_HOST)
def test_event_agrees_with_status_on_mounts_and_limits(
    events: Events,
    own_sandbox: Sandbox,
    containers: Containers,
    host_folder: Path,
    host_mounts: HostMounts,
) -> None:
    """The status in the event of a container's end SHOULD have its mounts and limits as ContainerStatus tells
    them.

    Source: ContainerEventResponse.containers_statuses, ContainerStatus.mounts and resources. Not stated by
    the CRI; see above.
    """
    listener = events.listen()
    container = containers.running(
        script="exit 7",
        labels=labels_of(own_sandbox),
        in_sandbox=own_sandbox,
        mounts=[
            cri.Mount(container_path="/first", host_path=str(host_folder), readonly=True),
            cri.Mount(container_path="/second", host_path=str(host_folder)),
            cri.Mount(
                container_path="/third",
                host_path=str(host_mounts.bound("shared", shared=True)),
                propagation=cri.PROPAGATION_HOST_TO_CONTAINER,
            ),
        ],
        resources=cri.LinuxContainerResources(
            memory_limit_in_bytes=64 << 20,
            memory_swap_limit_in_bytes=64 << 20,
            cpu_shares=256,
            cpu_period=100_000,
            cpu_quota=50_000,
            cpuset_cpus=str(usable_cpu()),
            cpuset_mems="0",
            oom_score_adj=789,
        ),
    )

    statuses = listener.first(container.id, STOPPED).containers_statuses

    wanted = container.exited()
    assert len(wanted.mounts) >= len(container.config.mounts)
    assert [differences(status, wanted) for status in statuses] == [{}]


@requirement("EVT-14/container")
@requires(Capability.EVENTS, Capability.IMAGE_VOLUMES)
def test_event_agrees_with_status_on_images(
    events: Events, own_sandbox: Sandbox, containers: Containers, images: Images
) -> None:
    """The status in the event of a container's end SHOULD name its image, and one that is mounted, as
    ContainerStatus does, with the names that the user has for them.

    Source: ContainerEventResponse.containers_statuses, ImageSpec.user_specified_image. Not stated by the CRI;
    see above.
    """
    volume = images.pull("volume").spec()
    volume.user_specified_image = "critests.example/of-the-user/volume:1"
    config = containers.config(
        script="exit 7",
        labels=labels_of(own_sandbox),
        mounts=[cri.Mount(container_path="/volume", image=volume, readonly=True)],
    )
    config.image.user_specified_image = "critests.example/of-the-user/image:1"
    listener = events.listen()
    container = containers.running(config, in_sandbox=own_sandbox)

    statuses = listener.first(container.id, STOPPED).containers_statuses

    wanted = container.exited()
    assert [differences(status, wanted) for status in statuses] == [{}]


@requirement("EVT-14/container")
@requires(Capability.EVENTS, Capability.USER_NAMESPACES, Capability.SAME_HOST)
def test_event_agrees_with_status_on_user_and_mapped_mounts(
    events: Events, sandboxes: Sandboxes, containers: Containers, host_folder: Path
) -> None:
    """The status in the event of a container's end SHOULD tell as whom it ran, and which ids a mount maps, as
    ContainerStatus does.

    Source: ContainerEventResponse.containers_statuses, ContainerStatus.user, Mount.uidMappings and
    gidMappings. Not stated by the CRI; see above.
    """
    sandbox = sandboxes.ready(namespaces=with_user_namespace())
    mount = cri.Mount(container_path="/mounted", host_path=str(host_folder), readonly=True)
    mount.uidMappings.append(MAPPING)
    mount.gidMappings.append(MAPPING)
    user = cri.LinuxContainerSecurityContext(
        run_as_user=cri.Int64Value(value=1000),
        run_as_group=cri.Int64Value(value=2000),
        supplemental_groups=[3000, 4000],
    )
    listener = events.listen()
    container = containers.running(
        script="exit 7",
        labels=labels_of(sandbox),
        in_sandbox=sandbox,
        mounts=[mount],
        security_context=user,
    )

    statuses = listener.first(container.id, STOPPED).containers_statuses

    wanted = container.exited()
    assert [differences(status, wanted) for status in statuses] == [{}]


@requirement("EVT-14/pod")
@requires(Capability.EVENTS)
def test_event_agrees_with_status_of_the_sandbox(
    events: Events, sandbox: Sandbox, containers: Containers
) -> None:
    """The status of a sandbox that does not change SHOULD be in the events of its containers as
    PodSandboxStatus tells it.

    Source: ContainerEventResponse.pod_sandbox_status. Not stated by the CRI; who gets the event need not ask
    for the status, which is what events are for.
    """
    assert told_otherwise(events, containers, sandbox) == {}


@requirement("EVT-14/pod")
@requires(Capability.EVENTS)
def test_event_agrees_with_status_of_a_sandbox_with_node_namespaces(
    events: Events, sandboxes: Sandboxes, containers: Containers
) -> None:
    """The status of a sandbox that has namespaces of the node, and is not the first of its pod, SHOULD be in
    the events of its containers as PodSandboxStatus tells it.

    Source: ContainerEventResponse.pod_sandbox_status, NamespaceOption. Not stated by the CRI; see above.
    """
    namespaces = cri.NamespaceOption(network=cri.NODE, pid=cri.CONTAINER, ipc=cri.NODE)
    sandbox = sandboxes.ready(attempt=1, namespaces=namespaces)

    assert told_otherwise(events, containers, sandbox) == {}


@requirement("EVT-14/pod")
@requires(Capability.EVENTS, Capability.USER_NAMESPACES)
def test_event_agrees_with_status_of_a_sandbox_with_a_user_namespace(
    events: Events, sandboxes: Sandboxes, containers: Containers
) -> None:
    """The status of a sandbox that has a user namespace SHOULD be in the events of its containers as
    PodSandboxStatus tells it, with the ids that it maps.

    Source: ContainerEventResponse.pod_sandbox_status, NamespaceOption.userns_options. Not stated by the CRI;
    see above.
    """
    sandbox = sandboxes.ready(namespaces=with_user_namespace())

    assert told_otherwise(events, containers, sandbox) == {}


@requirement("EVT-14/pod")
@requires(Capability.EVENTS)
def test_event_agrees_with_status_of_a_sandbox_with_a_named_handler(
    runtime: Runtime, events: Events, sandboxes: Sandboxes, containers: Containers
) -> None:
    """The status of a sandbox whose handler was asked for by name SHOULD be in the events of its containers
    as PodSandboxStatus tells it, with the handler.

    Source: ContainerEventResponse.pod_sandbox_status, PodSandboxStatus.runtime_handler. Not stated by the
    CRI; see above.
    """
    sandbox = sandboxes.ready(handler=runtime.named_handler)

    assert told_otherwise(events, containers, sandbox) == {}
