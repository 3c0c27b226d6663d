"""EVT: clients of GetContainerEvents: several, one that leaves, one that does not read, and much to tell."""

import time
from collections.abc import Callable, Iterator

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.events import (
    CREATED,
    DELETED,
    STARTED,
    STOPPED,
    WHOLE_LIFE,
    Events,
    Lived,
    kind_of,
    labels_of,
)
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.runtime import Runtime
from critests.fixtures.session import Observe
from critests.lifecycle.containers import Container
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import disruptive, requirement, requires, slow

pytestmark = requires(Capability.EVENTS)

ROUNDS, AT_ONCE = 6, 8
"""How often instant containers are started, and how many of them at the same time."""
LARGE = {"example.com/large": "x" * 200_000}
"""Annotations that make a container's events large: a few of them are more than a connection takes that
nobody reads from.
"""
SOON_SECONDS = 0.1
MOST_OF_FIVE = 3


def start(runtime: Runtime, container_id: str) -> None:
    """Start a container."""
    runtime.stub.StartContainer(cri.StartContainerRequest(container_id=container_id))


def kill(runtime: Runtime, container_id: str) -> None:
    """Stop a container without any grace."""
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
"""What is done with a container until there is an event of a kind."""


@pytest.fixture
def deaf(own_runtime: OwnRuntime) -> Iterator[grpc.Call]:
    """A client of GetContainerEvents that reads nothing of its stream, on the runtime of the test's own: what
    it does to the daemon is done to nobody else.
    """
    stream = own_runtime.stub.GetContainerEvents(cri.GetEventsRequest())
    yield stream
    stream.cancel()


@pytest.fixture
def make_large(own_runtime: OwnRuntime) -> Callable[[], list[Container]]:
    """Make containers in one pod whose events are too large to wait in a connection."""
    pod = own_runtime.sandbox()
    containers = own_runtime.containers
    return lambda: [
        containers.created(in_sandbox=pod, annotations=LARGE, labels=labels_of(pod)) for _ in range(6)
    ]


def start_instant_ones(runtime: Runtime, containers: Containers, pod: Sandbox) -> list[str]:
    """Start many containers that end at once, some of them at the same time, and return their ids."""
    for _ in range(ROUNDS):
        instant = [containers.created(command=["/bin/true"], in_sandbox=pod) for _ in range(AT_ONCE)]
        starts = [
            runtime.stub.StartContainer.future(cri.StartContainerRequest(container_id=container.id))
            for container in instant
        ]
        for start in starts:
            start.result()
    assert len(pod.container_ids) == ROUNDS * AT_ONCE
    return list(pod.container_ids)


@requirement("EVT-08")
@slow
def test_no_event_of_many_instant_containers_is_lost(
    runtime: Runtime, events: Events, own_sandbox: Sandbox, containers: Containers
) -> None:
    """A client that reads SHOULD get every event of many containers that end as soon as they are started.

    Source: GetContainerEvents. Not stated by the CRI; the kubelet otherwise notices an end minutes later.
    """
    listener = events.listen()

    instant = start_instant_ones(runtime, containers, own_sandbox)

    runtime.eventually(
        "every event of every container: what is missing",
        lambda: {each: {CREATED, STARTED, STOPPED} - set(listener.kinds(each)) for each in instant},
        holds=lambda missing: not any(missing.values()),
    )


@requirement("EVT-02/order")
@slow
def test_events_of_instant_containers_come_in_the_order_of_their_lives(
    runtime: Runtime, events: Events, own_sandbox: Sandbox, containers: Containers
) -> None:
    """The events of containers that end as soon as they are started SHOULD come in the order in which they
    were created, started and ended.

    Source: GetContainerEvents. Not stated by the CRI; a client that takes the last one for the state would
    have them running for ever.
    """
    listener = events.listen()

    instant = start_instant_ones(runtime, containers, own_sandbox)

    for each in instant:
        listener.first(each, STARTED)
        listener.first(each, STOPPED)
    lives = {each: list(dict.fromkeys(listener.kinds(each))) for each in instant}
    assert {each: kinds for each, kinds in lives.items() if kinds != [CREATED, STARTED, STOPPED]} == {}


@requirement("EVT-09")
def test_every_client_gets_every_event(events: Events, lived: Lived) -> None:
    """Each of several clients SHOULD get all events.

    Source: GetContainerEvents.
    """
    first, second, third = (events.listen() for _ in range(3))

    container = lived(first)

    for listener in (second, third):
        listener.first(container.id, DELETED)
        assert sorted(listener.kinds(container.id)) == sorted(WHOLE_LIFE)


@requirement("EVT-09")
def test_a_client_that_leaves_takes_no_events_from_the_others(events: Events, lived: Lived) -> None:
    """When a client leaves, the others SHOULD go on to get all events, and so SHOULD one that comes after.

    Source: GetContainerEvents.
    """
    leaving, staying = events.listen(), events.listen()
    leaving.leave()
    coming = events.listen()

    container = lived(staying)

    coming.first(container.id, DELETED)
    assert sorted(staying.kinds(container.id)) == sorted(WHOLE_LIFE)
    assert sorted(coming.kinds(container.id)) == sorted(WHOLE_LIFE)


@requirement("EVT-10/stall")
@disruptive
def test_a_client_that_does_not_read_keeps_no_events_from_another(
    deaf: grpc.Call, own_events: Events, make_large: Callable[[], list[Container]]
) -> None:
    """While one client reads nothing, another one SHOULD get its events.

    Source: GetContainerEvents. Not stated by the CRI; each client has a stream of its own.
    """
    assert deaf
    listener = own_events.listen()

    made = make_large()

    assert [listener.first(container.id, CREATED).container_id for container in made]


@requirement("EVT-10/recovery")
@disruptive
def test_events_come_when_a_client_that_did_not_read_has_left(
    deaf: grpc.Call, own_events: Events, make_large: Callable[[], list[Container]]
) -> None:
    """When a client that read nothing has left, another one MUST get its events.

    Source: GetContainerEvents. Not stated by the CRI; a client may be killed at any time.
    """
    listener = own_events.listen()
    last = make_large()[-1]

    deaf.cancel()

    last.start()
    assert listener.first(last.id, STARTED).container_id == last.id


@requirement("EVT-11")
@disruptive
def test_the_stream_of_events_ends_with_the_daemon(own_runtime: OwnRuntime, own_events: Events) -> None:
    """When the daemon ends, the stream of events MUST end for its client as well.

    Source: gRPC, where a stream ends with its connection. The kubelet would wait for ever.
    """
    assert own_runtime.daemon  # blocks the test where the suite may not restart the daemon
    listener = own_events.listen()

    own_runtime.restart()

    assert listener.ends_within(10)


@requirement("EVT-11")
@disruptive
def test_events_come_again_after_a_restart(own_runtime: OwnRuntime, own_events: Events) -> None:
    """After a restart of the daemon, a client that comes again MUST get events, also those of containers from
    before.

    Source: GetContainerEvents, which tells of every container to whoever asks. The kubelet comes again.
    """
    assert own_runtime.daemon  # blocks the test where the suite may not restart the daemon
    container = own_runtime.container()

    own_runtime.restart()
    listener = own_events.listen()
    own_runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=10))

    assert listener.first(container.id, STOPPED).container_id == container.id


@requirement("EVT-12")
@pytest.mark.parametrize("kind", WHOLE_LIFE)
def test_events_come_soon(runtime: Runtime, events: Events, containers: Containers, kind: str) -> None:
    """An event SHOULD come within a tenth of a second after what it tells.

    Source: GetContainerEvents. Not stated by the CRI; it is there so that nobody has to list all the time.
    """
    listener = events.listen()
    soon: list[float] = []
    late: list[float] = []
    # on a busy machine one of them may have to wait for other things
    while max(len(soon), len(late)) < MOST_OF_FIVE:
        container, answered = containers.created(), time.perf_counter()
        for step in STEPS_TO[kind]:
            step(runtime, container.id)
            answered = time.perf_counter()
        listener.first(container.id, kind)
        came = next(each.at for each in listener.heard(container.id) if kind_of(each.event) == kind)
        seconds = came - answered
        (soon if seconds < SOON_SECONDS * runtime.scale else late).append(seconds)

    assert len(soon) == MOST_OF_FIVE, f"came after {late} s"


@requirement("EVT-13")
def test_events_from_before_a_client_came(
    events: Events, ended_container: Container, observe: Observe
) -> None:
    """A new client MAY get events from before it came.

    Source: GetContainerEvents; the CRI leaves it open.
    """
    listener = events.listen()

    assert not listener.ended

    observe("come" if listener.heard(ended_container.id) else "do not come")
