"""STA, EVT: two RPCs report the same values for one object."""

from pathlib import Path
from typing import Any

from critests.api import api_pb2 as cri
from critests.testing import (
    MAPPING,
    STOPPED,
    Capability,
    Containers,
    Events,
    HostMounts,
    Images,
    Runtime,
    Sandbox,
    Sandboxes,
    labels_of,
    requirement,
    requires,
    with_user_namespace,
)
from critests.validation.containers.agreement import contradictions, differences
from critests.validation.resources.cpus import usable_cpu


def event_differences(events: Events, containers: Containers, sandbox: Sandbox) -> dict[str, tuple[Any, Any]]:
    """Run a container that exits in a sandbox that does not change, and return the differences between the
    sandbox status in its event and PodSandboxStatus, by path.
    """
    listener = events.listen()
    container = containers.running(script="exit 7", labels=labels_of(sandbox), in_sandbox=sandbox)
    return differences(listener.first(container.id, STOPPED).pod_sandbox_status, sandbox.status())


@requirement("STA-32")
@requires(Capability.POD_STATS)
def test_list_of_sandbox_stats_agrees_with_sandbox_stats(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """ListPodSandboxStats SHOULD report what PodSandboxStats reports for the sandbox before and after: the
    same attributes, fields and interfaces, times between theirs, and values of the same size.

    Source: ListPodSandboxStatsResponse.stats, PodSandboxStatsResponse.stats. Not stated by the CRI; both use
    the same message for the same pod.
    """
    containers.running(in_sandbox=own_sandbox)
    single = cri.PodSandboxStatsRequest(pod_sandbox_id=own_sandbox.id)
    listed = cri.ListPodSandboxStatsRequest(filter=cri.PodSandboxStatsFilter(id=own_sandbox.id))
    before = runtime.stub.PodSandboxStats(single).stats

    stats = runtime.stub.ListPodSandboxStats(listed).stats

    after = runtime.stub.PodSandboxStats(single).stats
    assert len(stats) == 1
    assert contradictions(stats[0], before, after) == {}


@requirement("STA-33")
def test_list_of_container_stats_agrees_with_container_stats(
    runtime: Runtime, containers: Containers
) -> None:
    """ListContainerStats SHOULD report what ContainerStats reports for the container before and after: the
    same attributes and fields, times between theirs, and values of the same size.

    Source: ListContainerStatsResponse.stats, ContainerStatsResponse.stats. Not stated by the CRI; both use
    the same message for the same container.
    """
    container = containers.running(annotations={"example.com/of": "the container"}, attempt=1)
    single = cri.ContainerStatsRequest(container_id=container.id)
    listed = cri.ListContainerStatsRequest(filter=cri.ContainerStatsFilter(id=container.id))
    before = runtime.stub.ContainerStats(single).stats

    stats = runtime.stub.ListContainerStats(listed).stats

    after = runtime.stub.ContainerStats(single).stats
    assert len(stats) == 1
    assert contradictions(stats[0], before, after) == {}


@requirement("EVT-14/container")
@requires(Capability.EVENTS)
def test_event_agrees_with_status_of_the_containers_of_the_pod(
    events: Events, own_sandbox: Sandbox, containers: Containers
) -> None:
    """ContainerEventResponse for the exit of a container SHOULD have the statuses of all exited containers of
    its pod, once each, as ContainerStatus reports them.

    Source: ContainerEventResponse.containers_statuses. Not stated by the CRI; with the statuses in the event,
    clients need not call ContainerStatus.
    """
    listener = events.listen()
    labels = labels_of(own_sandbox)
    earlier = containers.exited(script="exit 3", labels=labels, in_sandbox=own_sandbox)
    later = containers.running(script="exit 7", labels=labels, in_sandbox=own_sandbox, attempt=1)

    statuses = listener.first(later.id, STOPPED).containers_statuses

    expected = {each.id: each.exited() for each in (earlier, later)}
    assert sorted(status.id for status in statuses) == sorted(expected)
    assert [differences(status, expected[status.id]) for status in statuses] == [{}, {}]


@requirement("EVT-14/container")
@requires(Capability.EVENTS, Capability.SAME_HOST)
def test_event_agrees_with_status_on_mounts_and_limits(
    events: Events,
    own_sandbox: Sandbox,
    containers: Containers,
    host_folder: Path,
    host_mounts: HostMounts,
) -> None:
    """ContainerEventResponse for the exit of a container SHOULD have its mounts and limits as ContainerStatus
    reports them.

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
            # memory and swap together have the same limit as memory alone: the container gets no swap
            memory_limit_in_bytes=64 << 20,
            memory_swap_limit_in_bytes=64 << 20,
            cpu_shares=256,
            cpu_period=100_000,
            cpu_quota=50_000,
            cpuset_cpus=str(usable_cpu()),
            # every machine has memory node 0
            cpuset_mems="0",
            # positive, because only CAP_SYS_RESOURCE may lower the value
            oom_score_adj=789,
        ),
    )

    statuses = listener.first(container.id, STOPPED).containers_statuses

    expected = container.exited()
    # two statuses without mounts would be equal as well
    assert len(expected.mounts) >= len(container.config.mounts)
    assert [differences(status, expected) for status in statuses] == [{}]


@requirement("EVT-14/container")
@requires(Capability.EVENTS, Capability.IMAGE_VOLUMES)
def test_event_agrees_with_status_on_images(
    events: Events, own_sandbox: Sandbox, containers: Containers, images: Images
) -> None:
    """ContainerEventResponse for the exit of a container SHOULD have its image and a mounted image as
    ContainerStatus reports them, with `user_specified_image`.

    Source: ContainerEventResponse.containers_statuses, ImageSpec.user_specified_image. Not stated by the CRI;
    see above.
    """
    volume = images.pull("volume").spec()
    # not the name of the pull, so that the test shows whether the runtime retains what the request has
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

    expected = container.exited()
    assert [differences(status, expected) for status in statuses] == [{}]


@requirement("EVT-14/container")
@requires(Capability.EVENTS, Capability.USER_NAMESPACES, Capability.SAME_HOST)
def test_event_agrees_with_status_on_user_and_mapped_mounts(
    events: Events, sandboxes: Sandboxes, containers: Containers, host_folder: Path
) -> None:
    """ContainerEventResponse for the exit of a container SHOULD have its user and the id mappings of its
    mounts as ContainerStatus reports them.

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

    expected = container.exited()
    assert [differences(status, expected) for status in statuses] == [{}]


@requirement("EVT-14/pod")
@requires(Capability.EVENTS)
def test_event_agrees_with_status_of_the_sandbox(
    events: Events, sandbox: Sandbox, containers: Containers
) -> None:
    """ContainerEventResponse SHOULD have the status of a sandbox that does not change as PodSandboxStatus
    reports it.

    Source: ContainerEventResponse.pod_sandbox_status. Not stated by the CRI; with the status in the event,
    clients need not call PodSandboxStatus.
    """
    assert event_differences(events, containers, sandbox) == {}


@requirement("EVT-14/pod")
@requires(Capability.EVENTS)
def test_event_agrees_with_status_of_a_sandbox_with_node_namespaces(
    events: Events, sandboxes: Sandboxes, containers: Containers
) -> None:
    """ContainerEventResponse SHOULD have the status of a sandbox with namespaces of the node and a later
    attempt as PodSandboxStatus reports it.

    Source: ContainerEventResponse.pod_sandbox_status, NamespaceOption. Not stated by the CRI; see above.
    """
    namespaces = cri.NamespaceOption(network=cri.NODE, pid=cri.CONTAINER, ipc=cri.NODE)
    sandbox = sandboxes.ready(attempt=1, namespaces=namespaces)

    assert event_differences(events, containers, sandbox) == {}


@requirement("EVT-14/pod")
@requires(Capability.EVENTS, Capability.USER_NAMESPACES)
def test_event_agrees_with_status_of_a_sandbox_with_a_user_namespace(
    events: Events, sandboxes: Sandboxes, containers: Containers
) -> None:
    """ContainerEventResponse SHOULD have the status of a sandbox with a user namespace as PodSandboxStatus
    reports it, with the id mappings.

    Source: ContainerEventResponse.pod_sandbox_status, NamespaceOption.userns_options. Not stated by the CRI;
    see above.
    """
    sandbox = sandboxes.ready(namespaces=with_user_namespace())

    assert event_differences(events, containers, sandbox) == {}


@requirement("EVT-14/pod")
@requires(Capability.EVENTS)
def test_event_agrees_with_status_of_a_sandbox_with_a_named_handler(
    runtime: Runtime, events: Events, sandboxes: Sandboxes, containers: Containers
) -> None:
    """ContainerEventResponse SHOULD have the status of a sandbox with a named runtime handler as
    PodSandboxStatus reports it, with the handler.

    Source: ContainerEventResponse.pod_sandbox_status, PodSandboxStatus.runtime_handler. Not stated by the
    CRI; see above.
    """
    sandbox = sandboxes.ready(handler=runtime.named_handler)

    assert event_differences(events, containers, sandbox) == {}
