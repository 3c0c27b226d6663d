"""EVT: several clients of GetContainerEvents, a client that disconnects, a client that does not read, and
many events.
"""

import time
from collections.abc import Callable, Iterator

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    CREATED,
    DELETED,
    EVENT_KINDS,
    STARTED,
    STOPPED,
    Capability,
    Container,
    Containers,
    Events,
    FullLifecycle,
    OwnRuntime,
    RecordVariant,
    Runtime,
    Sandbox,
    disruptive,
    kind_of,
    labels_of,
    requirement,
    requires,
    slow,
)

pytestmark = requires(Capability.EVENTS)

ROUNDS, AT_ONCE = 6, 8
"""Rounds of instant containers, which exit at once, and how many of them start at the same time."""
LARGE = {"example.com/large": "x" * 200_000}
"""Annotations that make a container's events so large that a few of them fill the buffers of a connection
that the client does not read.
"""
SOON_SECONDS = 0.1
MAJORITY = 3
"""Three of five events decide whether events are soon or late."""


def start(runtime: Runtime, container_id: str) -> None:
    """Start a container."""
    runtime.stub.StartContainer(cri.StartContainerRequest(container_id=container_id))


def kill(runtime: Runtime, container_id: str) -> None:
    """Stop a container without a grace period."""
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container_id, timeout=0))


def remove(runtime: Runtime, container_id: str) -> None:
    """Remove a container."""
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container_id))


STEPS_TO: dict[str, tuple[Callable[[Runtime, str], None], ...]] = {
    CREATED: (),
    STARTED: (start,),
    STOPPED: (start, kill),
    DELETED: (remove,),
}
"""The calls on a created container that cause an event of each kind."""


@pytest.fixture
def stalled_client(own_runtime: OwnRuntime) -> Iterator[grpc.Call]:
    """A client of GetContainerEvents that does not read its stream, on the test's own runtime, so that it
    disturbs no other test.
    """
    stream = own_runtime.stub.GetContainerEvents(cri.GetEventsRequest())
    yield stream
    stream.cancel()


@pytest.fixture
def create_large_containers(own_runtime: OwnRuntime) -> Callable[[], list[Container]]:
    """Creates containers in one pod whose events are too large for the buffers of a connection."""
    # of one pod, as each event carries the statuses of all containers of its pod
    pod = own_runtime.sandbox()
    containers = own_runtime.containers
    return lambda: [
        containers.created(in_sandbox=pod, annotations=LARGE, labels=labels_of(pod)) for _ in range(6)
    ]


def start_instant_containers(runtime: Runtime, containers: Containers, pod: Sandbox) -> list[str]:
    """Start many containers that exit at once, some of them at the same time, and return their ids."""
    for _ in range(ROUNDS):
        instant = [containers.created(command=["/bin/true"], in_sandbox=pod) for _ in range(AT_ONCE)]
        starts = [
            runtime.stub.StartContainer.future(cri.StartContainerRequest(container_id=container.id))
            for container in instant
        ]
        # all starts are under way before the first one is awaited
        for start in starts:
            start.result()
    assert len(pod.container_ids) == ROUNDS * AT_ONCE
    return list(pod.container_ids)


@requirement("EVT-08")
@slow
def test_no_event_of_many_instant_containers_is_lost(
    runtime: Runtime, events: Events, own_sandbox: Sandbox, containers: Containers
) -> None:
    """GetContainerEvents SHOULD send every event of many containers that exit as soon as they are started.

    Source: GetContainerEvents. Not stated by the CRI; the kubelet otherwise notices an exit minutes later.
    """
    listener = events.listen()

    instant = start_instant_containers(runtime, containers, own_sandbox)

    runtime.eventually(
        "every event of every container: the missing ones",
        lambda: {each: {CREATED, STARTED, STOPPED} - set(listener.kinds(each)) for each in instant},
        holds=lambda missing: not any(missing.values()),
    )


@requirement("EVT-02/order")
@slow
def test_events_of_instant_containers_are_in_lifecycle_order(
    runtime: Runtime, events: Events, own_sandbox: Sandbox, containers: Containers
) -> None:
    """GetContainerEvents SHOULD send the events of a container that exits as soon as it is started in the
    order created, started, stopped.

    Source: GetContainerEvents. Not stated by the CRI; a client that takes the last event for the state would
    consider the container running for ever.
    """
    listener = events.listen()

    instant = start_instant_containers(runtime, containers, own_sandbox)

    for each in instant:
        # waits for both, as they may arrive in the wrong order
        listener.first(each, STARTED)
        listener.first(each, STOPPED)
    # the first event of each kind, as repeated ones are another promise
    orders = {each: list(dict.fromkeys(listener.kinds(each))) for each in instant}
    assert {each: kinds for each, kinds in orders.items() if kinds != [CREATED, STARTED, STOPPED]} == {}


@requirement("EVT-09")
def test_every_client_gets_every_event(events: Events, full_lifecycle: FullLifecycle) -> None:
    """GetContainerEvents SHOULD send all events to each of several clients.

    Source: GetContainerEvents.
    """
    first, second, third = (events.listen() for _ in range(3))

    container = full_lifecycle(first)

    for listener in (second, third):
        listener.first(container.id, DELETED)
        # sorted, as the order is another promise
        assert sorted(listener.kinds(container.id)) == sorted(EVENT_KINDS)


@requirement("EVT-09")
def test_a_client_that_disconnects_takes_no_events_from_others(
    events: Events, full_lifecycle: FullLifecycle
) -> None:
    """GetContainerEvents SHOULD send all events to the other clients after a client has disconnected, and to
    a client that connects after that.

    Source: GetContainerEvents.
    """
    leaving, staying = events.listen(), events.listen()
    leaving.leave()
    later = events.listen()

    container = full_lifecycle(staying)

    later.first(container.id, DELETED)
    assert sorted(staying.kinds(container.id)) == sorted(EVENT_KINDS)
    assert sorted(later.kinds(container.id)) == sorted(EVENT_KINDS)


@requirement("EVT-10/stall")
@disruptive
def test_a_client_that_does_not_read_blocks_no_other_client(
    stalled_client: grpc.Call, own_events: Events, create_large_containers: Callable[[], list[Container]]
) -> None:
    """GetContainerEvents SHOULD send events to a client while another client does not read its stream.

    Source: GetContainerEvents. Not stated by the CRI; each client has its own stream.
    """
    # the fixture has opened the stream before the listener opens its own
    assert stalled_client
    listener = own_events.listen()

    large = create_large_containers()

    assert [listener.first(container.id, CREATED).container_id for container in large]


@requirement("EVT-10/recovery")
@disruptive
def test_events_are_sent_after_a_stalled_client_disconnected(
    stalled_client: grpc.Call, own_events: Events, create_large_containers: Callable[[], list[Container]]
) -> None:
    """GetContainerEvents MUST send events to a client after another client that did not read its stream has
    disconnected.

    Source: GetContainerEvents. Not stated by the CRI; a client may be killed at any time.
    """
    listener = own_events.listen()
    # by now the buffers of the stalled connection are full
    last = create_large_containers()[-1]

    stalled_client.cancel()

    last.start()
    assert listener.first(last.id, STARTED).container_id == last.id


@requirement("EVT-11")
@disruptive
def test_the_stream_of_events_ends_with_the_daemon(own_runtime: OwnRuntime, own_events: Events) -> None:
    """GetContainerEvents MUST end its stream when the daemon exits.

    Source: gRPC, where a stream ends with its connection. The kubelet would wait for ever.
    """
    assert own_runtime.daemon  # blocks the test if the suite may not restart the daemon
    listener = own_events.listen()

    own_runtime.restart()

    assert listener.ends_within(10)


@requirement("EVT-11")
@disruptive
def test_events_are_sent_after_a_restart(own_runtime: OwnRuntime, own_events: Events) -> None:
    """GetContainerEvents MUST send events after a restart of the daemon, also of containers that were created
    before it.

    Source: GetContainerEvents, which sends the events of all containers. The kubelet connects again.
    """
    assert own_runtime.daemon  # blocks the test if the suite may not restart the daemon
    container = own_runtime.container()

    own_runtime.restart()
    listener = own_events.listen()
    own_runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=10))

    assert listener.first(container.id, STOPPED).container_id == container.id


@requirement("EVT-12")
@pytest.mark.parametrize("kind", EVENT_KINDS)
def test_events_are_sent_promptly(
    runtime: Runtime, events: Events, containers: Containers, kind: str
) -> None:
    """GetContainerEvents SHOULD send an event within a tenth of a second after the call that caused it.

    Source: GetContainerEvents. Not stated by the CRI; events exist so that clients need not list in a loop.
    """
    listener = events.listen()
    soon: list[float] = []
    late: list[float] = []
    # a busy machine may delay single events
    while max(len(soon), len(late)) < MAJORITY:
        # `ReceivedEvent.at` is on the same clock
        container, returned = containers.created(), time.perf_counter()
        for step in STEPS_TO[kind]:
            step(runtime, container.id)
            returned = time.perf_counter()
        listener.first(container.id, kind)
        received = next(each.at for each in listener.received(container.id) if kind_of(each.event) == kind)
        seconds = received - returned
        (soon if seconds < SOON_SECONDS * runtime.scale else late).append(seconds)

    assert len(soon) == MAJORITY, f"events came {late} s after the call"


@requirement("EVT-13")
def test_events_from_before_a_client_connected(
    events: Events, exited_container: Container, record_variant: RecordVariant
) -> None:
    """GetContainerEvents MAY send a new client events from before it connected.

    Source: GetContainerEvents; not stated by the CRI.
    """
    listener = events.listen()

    assert not listener.ended

    record_variant("come" if listener.received(exited_container.id) else "do not come")
