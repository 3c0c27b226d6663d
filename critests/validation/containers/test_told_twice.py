"""STA, EVT: what a runtime tells of one thing in two places agrees."""

from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.events import STOPPED, Events, labels_of
from critests.fixtures.runtime import Runtime
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import requirement, requires

SIZE = 10
"""A figure may change between two looks; one that is so many times as large is another one, or in another
unit.
"""


def filled(message: Message, prefix: str = "") -> set[str]:
    """Return the names of the fields that are set, with those of the messages below them."""
    found: set[str] = set()
    for field, value in message.ListFields():
        name = f"{prefix}{field.name}"
        found.add(name)
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for below in value if field.is_repeated else (value,):
                found |= filled(below, f"{name}.")
    return found


def figures(message: Message, prefix: str = "") -> dict[str, int]:
    """Return the figures that a message and those below it hold as `UInt64Value`, by their names."""
    found: dict[str, int] = {}
    for field, value in message.ListFields():
        if isinstance(value, cri.UInt64Value):
            found[f"{prefix}{field.name}"] = value.value
        elif isinstance(value, Message):
            found |= figures(value, f"{prefix}{field.name}.")
    return found


def of_another_size(told: Message, before: Message, after: Message) -> dict[str, tuple[int, int, int]]:
    """Return the figures that are far from those that were told before and after, with these."""
    first, last = figures(before), figures(after)
    return {
        name: (first[name], figure, last[name])
        for name, figure in figures(told).items()
        if first.get(name)
        and last.get(name)
        and not min(first[name], last[name]) / SIZE <= figure <= max(first[name], last[name]) * SIZE
    }


@requirement("STA-32")
@requires(Capability.POD_STATS)
def test_the_list_tells_of_a_sandbox_what_its_own_stats_tell(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """An entry of ListPodSandboxStats SHOULD have the fields that PodSandboxStats has for the same sandbox,
    and figures of the same size.

    Source: ListPodSandboxStatsResponse.stats, PodSandboxStatsResponse.stats. Not stated by the CRI; the same
    message tells of the same pod.
    """
    containers.running(in_sandbox=own_sandbox)
    alone = cri.PodSandboxStatsRequest(pod_sandbox_id=own_sandbox.id)
    listed = cri.ListPodSandboxStatsRequest(filter=cri.PodSandboxStatsFilter(id=own_sandbox.id))
    before = runtime.stub.PodSandboxStats(alone).stats

    (told,) = runtime.stub.ListPodSandboxStats(listed).stats

    after = runtime.stub.PodSandboxStats(alone).stats
    assert told.attributes == after.attributes
    assert filled(before) & filled(after) <= filled(told) <= filled(before) | filled(after)
    assert of_another_size(told, before, after) == {}


@requirement("STA-33")
def test_the_list_tells_of_a_container_what_its_own_stats_tell(
    runtime: Runtime, containers: Containers
) -> None:
    """An entry of ListContainerStats SHOULD have the fields that ContainerStats has for the same container,
    and figures of the same size.

    Source: ListContainerStatsResponse.stats, ContainerStatsResponse.stats. Not stated by the CRI; the same
    message tells of the same container.
    """
    container = containers.running()
    alone = cri.ContainerStatsRequest(container_id=container.id)
    listed = cri.ListContainerStatsRequest(filter=cri.ContainerStatsFilter(id=container.id))
    before = runtime.stub.ContainerStats(alone).stats

    (told,) = runtime.stub.ListContainerStats(listed).stats

    after = runtime.stub.ContainerStats(alone).stats
    assert told.attributes == after.attributes
    assert filled(before) & filled(after) <= filled(told) <= filled(before) | filled(after)
    assert of_another_size(told, before, after) == {}


@requirement("EVT-14/container")
@requires(Capability.EVENTS)
def test_an_event_tells_of_a_container_what_its_status_tells(
    events: Events, sandbox: Sandbox, containers: Containers
) -> None:
    """The status of a container that has ended SHOULD be in its event as ContainerStatus tells it.

    Source: ContainerEventResponse.containers_statuses. Not stated by the CRI; who gets the event need not ask
    for the status, which is what events are for.
    """
    listener = events.listen()
    container = containers.running(script="exit 7", labels=labels_of(sandbox))

    statuses = listener.first(container.id, STOPPED).containers_statuses

    (told,) = [status for status in statuses if status.id == container.id]
    assert told == container.exited()


@requirement("EVT-14/pod")
@requires(Capability.EVENTS)
def test_an_event_tells_of_a_pod_what_its_status_tells(
    runtime: Runtime, events: Events, sandbox: Sandbox, containers: Containers
) -> None:
    """The status of a sandbox that does not change SHOULD be in the events of its containers as
    PodSandboxStatus tells it.

    Source: ContainerEventResponse.pod_sandbox_status. Not stated by the CRI; who gets the event need not ask
    for the status, which is what events are for.
    """
    listener = events.listen()
    container = containers.running(script="exit 7", labels=labels_of(sandbox))

    told = listener.first(container.id, STOPPED).pod_sandbox_status

    request = cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox.id)
    assert told == runtime.stub.PodSandboxStatus(request).status
