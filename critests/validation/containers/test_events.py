"""EVT: the events of containers and sandboxes that GetContainerEvents sends."""

import time

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    CLOCKS_DIFFER_NS,
    CREATED,
    DELETED,
    EVENT_KINDS,
    STARTED,
    STOPPED,
    Capability,
    Containers,
    Events,
    FullLifecycle,
    RecordVariant,
    Runtime,
    Sandbox,
    Sandboxes,
    kind_of,
    labels_of,
    requirement,
    requires,
    unsupported,
)

pytestmark = requires(Capability.EVENTS)

STATES_AFTER = {
    CREATED: {"CONTAINER_CREATED", "CONTAINER_RUNNING", "CONTAINER_EXITED"},
    STARTED: {"CONTAINER_RUNNING", "CONTAINER_EXITED"},
    STOPPED: {"CONTAINER_EXITED"},
}
"""The states in which a container may be after each kind of event: later ones too."""
ALLOCATE_96_MIB = ("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=96M", "count=1")
"""Command with a buffer of one block, three times the limit below."""
# without a limit for memory and swap together, the kernel would swap instead of killing
SMALL = cri.LinuxContainerResources(memory_limit_in_bytes=32 << 20, memory_swap_limit_in_bytes=32 << 20)
QUIET_SECONDS = 1.5
"""How long a test watches a stream on which no event is expected."""


@requirement("EVT-01")
def test_the_stream_of_events_stays_open(events: Events) -> None:
    """GetContainerEvents MUST keep its stream open while there are no events.

    Source: GetContainerEvents.
    """
    listener = events.listen()

    assert not listener.ends_within(QUIET_SECONDS)


@requirement("EVT-02/sent")
@pytest.mark.parametrize("kind", EVENT_KINDS)
def test_every_lifecycle_step_of_a_container_is_an_event(
    runtime: Runtime, events: Events, containers: Containers, kind: str
) -> None:
    """GetContainerEvents MUST send an event when a container is created, started, stopped and removed.

    Source: ContainerEventType.
    """
    listener = events.listen()
    container = containers.running()
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=10))
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert listener.first(container.id, kind).container_id == container.id


@requirement("EVT-02/order")
def test_events_of_a_container_are_in_lifecycle_order(
    runtime: Runtime, events: Events, containers: Containers
) -> None:
    """GetContainerEvents SHOULD send the events of a container in the order created, started, stopped,
    deleted.

    Source: GetContainerEvents. Not stated by the CRI, which gives each event a time.
    """
    listener = events.listen()
    container = containers.running()
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=10))
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    # waits for both, as a runtime may send STOPPED after DELETED, which the assertion then shows
    listener.first(container.id, DELETED)
    listener.first(container.id, STOPPED)

    # the first event of each kind, as repeated ones are another promise
    assert list(dict.fromkeys(listener.kinds(container.id))) == list(EVENT_KINDS)


@requirement("EVT-02/once")
def test_every_event_of_a_container_is_sent_once(events: Events, full_lifecycle: FullLifecycle) -> None:
    """GetContainerEvents SHOULD send each event of a container once.

    Source: GetContainerEvents.
    """
    listener = events.listen()

    container = full_lifecycle(listener)

    # a second event may come late
    assert not listener.ends_within(QUIET_SECONDS)
    assert sorted(listener.kinds(container.id)) == sorted(EVENT_KINDS)


@requirement("EVT-02/pod-removal")
def test_events_of_containers_that_are_removed_with_their_pod(
    runtime: Runtime,
    events: Events,
    own_sandbox: Sandbox,
    containers: Containers,
    record_variant: RecordVariant,
) -> None:
    """RemovePodSandbox MAY cause an event for each container that it removes.

    Source: RemovePodSandbox, GetContainerEvents; not stated by the CRI.
    """
    listener = events.listen()
    container = containers.exited(in_sandbox=own_sandbox)
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    # whether an event comes is known only after a while
    assert not listener.ends_within(QUIET_SECONDS)

    record_variant("DELETED comes" if listener.events(container.id, DELETED) else "no event comes")


@requirement("EVT-03/sent")
@pytest.mark.parametrize("kind", [CREATED, STARTED, STOPPED])
def test_lifecycle_steps_of_a_sandbox_are_events(
    runtime: Runtime, events: Events, sandboxes: Sandboxes, kind: str
) -> None:
    """GetContainerEvents SHOULD send an event when a sandbox is created, started and stopped, with the
    sandbox's id as `container_id`.

    Source: ContainerEventResponse.container_id. Not stated by the CRI; the kubelet takes such events for
    changes of the pod.
    """
    listener = events.listen()
    pod = sandboxes.ready()
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))

    assert listener.first(pod.id, kind).container_id == pod.id


@requirement("EVT-03/deleted")
def test_event_of_the_removal_of_a_sandbox(
    runtime: Runtime, events: Events, sandboxes: Sandboxes, record_variant: RecordVariant
) -> None:
    """GetContainerEvents MAY send an event when a sandbox is removed.

    Source: ContainerEventType; the CRI states it for containers only.
    """
    listener = events.listen()
    # a stopped sandbox, so that only the removal can cause further events
    pod = sandboxes.in_state(cri.SANDBOX_NOTREADY)
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))

    assert not listener.ends_within(QUIET_SECONDS)

    record_variant("DELETED comes" if listener.events(pod.id, DELETED) else "no event comes")


@requirement("EVT-04/time")
def test_events_have_the_time_at_which_they_happened(events: Events, full_lifecycle: FullLifecycle) -> None:
    """`created_at` of an event MUST be the time at which it happened, in nanoseconds.

    Source: ContainerEventResponse.created_at. The margin of half a second is for clocks of another
    resolution.
    """
    listener = events.listen()
    earliest = time.time_ns()

    container = full_lifecycle(listener)

    times = {kind_of(event): event.created_at for event in listener.events(container.id)}
    assert {
        kind: at
        for kind, at in times.items()
        if not earliest - CLOCKS_DIFFER_NS <= at <= time.time_ns() + CLOCKS_DIFFER_NS
    } == {}


@requirement("EVT-04/order")
def test_times_of_events_do_not_go_back(events: Events, full_lifecycle: FullLifecycle) -> None:
    """GetContainerEvents SHOULD send the events of a container in the order of their times.

    Source: ContainerEventResponse.created_at.
    """
    listener = events.listen()

    container = full_lifecycle(listener)

    times = [event.created_at for event in listener.events(container.id)]
    assert times == sorted(times)


@requirement("EVT-05")
@pytest.mark.parametrize("kind", [CREATED, STARTED, STOPPED])
def test_events_carry_the_state_of_their_container(
    events: Events, full_lifecycle: FullLifecycle, kind: str
) -> None:
    """ContainerEventResponse MUST carry the status of its container, in the event's state or a later one.

    Source: ContainerEventResponse.containers_statuses.
    """
    listener = events.listen()

    container = full_lifecycle(listener)

    statuses = listener.events(container.id, kind)[0].containers_statuses
    states = [cri.ContainerState.Name(status.state) for status in statuses if status.id == container.id]
    assert len(states) == 1
    assert states[0] in STATES_AFTER[kind]


@requirement("EVT-05")
def test_events_carry_the_pod_of_their_container(events: Events, full_lifecycle: FullLifecycle) -> None:
    """ContainerEventResponse MUST carry the status of the container's sandbox while the sandbox exists.

    Source: ContainerEventResponse.pod_sandbox_status.
    """
    listener = events.listen()

    container = full_lifecycle(listener)

    pods = {event.pod_sandbox_status.id for event in listener.events(container.id)}
    assert pods == {container.sandbox.id}


@requirement("EVT-06")
def test_the_event_of_a_removed_sandbox_has_no_address(
    runtime: Runtime, events: Events, sandboxes: Sandboxes
) -> None:
    """ContainerEventResponse for the removal of a sandbox SHOULD NOT carry the sandbox's IP address.

    Source: ContainerEventResponse.pod_sandbox_status.
    """
    listener = events.listen()
    pod = sandboxes.in_state(cri.SANDBOX_NOTREADY)
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))

    # time for an event that a runtime need not send
    assert not listener.ends_within(QUIET_SECONDS)

    removals = listener.events(pod.id, DELETED)
    if not removals:
        unsupported("events of the removal of a sandbox: none came")
    assert {event.pod_sandbox_status.network.ip for event in removals} == {""}


@requirement("EVT-07")
@pytest.mark.parametrize("code", [0, 7])
def test_the_event_of_an_exit_has_the_exit_code(
    events: Events, sandbox: Sandbox, containers: Containers, code: int
) -> None:
    """ContainerEventResponse for the exit of a process MUST carry its exit code.

    Source: ContainerEventResponse.containers_statuses.
    """
    listener = events.listen()

    container = containers.running(script=f"exit {code}", labels=labels_of(sandbox))

    statuses = listener.first(container.id, STOPPED).containers_statuses
    own = [status for status in statuses if status.id == container.id]
    assert [(status.exit_code, status.finished_at > 0) for status in own] == [(code, True)]


@requirement("EVT-07")
def test_the_event_of_a_killed_container_has_the_exit_code(
    runtime: Runtime, events: Events, sandbox: Sandbox, containers: Containers
) -> None:
    """ContainerEventResponse for a killed container MUST carry the exit code that ContainerStatus reports.

    Source: ContainerEventResponse.containers_statuses.
    """
    # ignores SIGTERM, so that only SIGKILL explains the exit code
    container = containers.running(on_term="", labels=labels_of(sandbox))
    listener = events.listen()

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=0))

    statuses = listener.first(container.id, STOPPED).containers_statuses
    codes = [status.exit_code for status in statuses if status.id == container.id]
    # 128 + SIGKILL
    assert codes == [container.exited().exit_code] == [137]


@requirement("EVT-07")
def test_the_event_of_an_oom_killed_container_has_the_exit_code(
    events: Events, sandbox: Sandbox, containers: Containers
) -> None:
    """ContainerEventResponse for an OOM-killed container MUST carry the exit code that ContainerStatus
    reports.

    Source: ContainerEventResponse.containers_statuses.
    """
    listener = events.listen()

    container = containers.running(command=ALLOCATE_96_MIB, resources=SMALL, labels=labels_of(sandbox))

    statuses = listener.first(container.id, STOPPED).containers_statuses
    codes = [status.exit_code for status in statuses if status.id == container.id]
    assert codes == [container.exited().exit_code]
