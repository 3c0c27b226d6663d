"""The stream of events: it reports what lists and statuses report, each change once and in its order.

A client receives events from some unknown moment after its call. So nothing is expected before the first
event arrives, or before one was awaited in vain for the first time.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from critests.model.observations import (
    CallResult,
    ObservedContainer,
    ObservedEvent,
    ObservedSandbox,
    StateSnapshot,
)
from critests.model.steps import Step
from critests.model.world import CREATED, EXITED, NOTREADY, ORDER, READY, RUNNING, Breach, EventStream, World

CREATED_EVENT, STARTED, STOPPED, DELETED = EVENT_ORDER = ("CREATED", "STARTED", "STOPPED", "DELETED")
"""The events of a container, in their only order."""
STATE_AT = {CREATED_EVENT: CREATED, STARTED: RUNNING, STOPPED: EXITED}
"""The earliest state that a container can have when the event is sent."""
DAY_NS = 24 * 3600 * 10**9

ExpectedEvent = tuple[str, str]
"""The id of an object, and the kind of the event."""


def subscribe(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """GetContainerEvents: it is optional, and only a received event shows that it is supported."""
    del step
    world.stream = EventStream() if result.ok else None
    yield from ()


def unsubscribe(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """The client cancels the stream."""
    del step, result
    world.stream = None
    yield from ()


def disturb(world: World, step: Step) -> None:
    """Note that something failed below the runtime in a step: it is open which events that causes."""
    sandbox = world.sandboxes.get(step.on) or world.sandboxes.get(step.inside)
    affected = [
        world.containers.get(step.on),
        world.containers.get(step.makes),
        world.sandboxes.get(step.makes),
    ]
    if sandbox is not None:
        affected += [sandbox, *world.living_containers(sandbox.key)]
    world.disturbed.update(each.id for each in affected if each is not None)


def expected_events(world: World, snapshot: StateSnapshot, steps: Sequence[Step]) -> list[ExpectedEvent]:
    """Return the events of all changes since the last snapshot. It is called before the steps are judged, to
    wait for these events.
    """
    if world.stream is None or world.stream.states is None:
        return []
    before, now = world.stream.states, states(snapshot)
    removed = {
        one.id
        for step in steps
        if step.rpc == "RemoveContainer" and (one := world.containers.get(step.on)) is not None
    }
    stopped = any(step.rpc in {"StopPodSandbox", "RemovePodSandbox"} for step in steps)
    sandboxes = {each.id for each in snapshot.sandboxes}
    return [
        (identity, kind)
        for identity in {**before, **now}
        if identity not in world.disturbed and identity not in world.unpredictable
        for kind in (
            _of_a_sandbox(before.get(identity), now.get(identity), stopped=stopped)
            if identity in sandboxes
            else _of_a_container(
                before.get(identity),
                now.get(identity),
                snapshot.container_statuses.get(identity),
                removed=identity in removed,
            )
        )
    ]


def _of_a_sandbox(before: str | None, now: str | None, *, stopped: bool) -> Iterator[str]:
    if before is None and now == READY:
        yield from (CREATED_EVENT, STARTED)
    if before == READY and now == NOTREADY and stopped:
        yield STOPPED


def _of_a_container(
    before: str | None, now: str | None, status: ObservedContainer | str | None, *, removed: bool
) -> Iterator[str]:
    """Yield the expected events; a container that was removed with its sandbox need not have any."""
    if now is None:
        if removed and before is not None:
            yield DELETED
        return
    if before is None:
        yield CREATED_EVENT
    # a container that exited without a start has neither of these
    started = isinstance(status, ObservedContainer) and status.started_at > 0
    if before in {None, CREATED} and now in {RUNNING, EXITED} and started:
        yield STARTED
    if before in {None, CREATED, RUNNING} and now == EXITED and started:
        yield STOPPED


def states(snapshot: StateSnapshot) -> dict[str, str]:
    """Return the state of every listed object, by id, as its status reports it: statuses are newer than the
    lists.
    """
    statuses: Mapping[str, ObservedSandbox | ObservedContainer | str] = {
        **snapshot.sandbox_statuses,
        **snapshot.container_statuses,
    }
    listed = {
        **{each.id: each.state for each in snapshot.sandboxes},
        **{each.id: each.state for each in snapshot.containers},
    }
    return {
        identity: state if isinstance(status := statuses.get(identity), str | None) else status.state
        for identity, state in listed.items()
    }


def received(world: World, step: Step, snapshot: StateSnapshot) -> Iterator[Breach]:
    """Each change MUST be reported once, in order, with the time of now, and not before it happened."""
    stream = world.stream
    if stream is None:
        return
    if snapshot.events is None:
        world.stream = None
        if stream.live:
            yield Breach("EVT-08", "the stream of events ends", step.rpc, "one that goes on", "its end")
        return
    expected = expected_events(world, snapshot, [step])
    if stream.live:
        for identity, kind in expected:
            kinds = [each.kind for each in snapshot.events.get(identity, ())]
            if kind not in kinds:
                yield _missing(world, step, identity, kind, kinds)
    else:
        stream.live = bool(expected) or any(snapshot.events.values())
    stream.states = states(snapshot)
    sandboxes = {each.id for each in world.sandboxes.values()}
    for identity, events in snapshot.events.items():
        # the API promises order, and each event once, for containers only
        if identity not in world.unpredictable and identity not in sandboxes:
            yield from _check_new(step, events, stream.judged.get(identity, 0), snapshot)
        stream.judged[identity] = len(events)


def _missing(world: World, step: Step, identity: str, kind: str, kinds: Sequence[str]) -> Breach:
    what, aspect = (
        "container",
        "EVT-07" if kind == STOPPED and step.rpc != "StopContainer" else "EVT-02/sent",
    )
    if identity in {each.id for each in world.sandboxes.values()}:
        what, aspect = "sandbox", "EVT-03/sent"
    return Breach(
        aspect,
        f"the event {kind} of a {what}",
        step.rpc,
        "one",
        f"only {', '.join(kinds) or 'no event'}",
    )


def _check_new(
    step: Step, events: Sequence[ObservedEvent], judged: int, snapshot: StateSnapshot
) -> Iterator[Breach]:
    for index in range(judged, len(events)):
        event, before = events[index], events[:index]
        if not event.created_at or (snapshot.at and abs(snapshot.at - event.created_at) > DAY_NS):
            yield Breach(
                "EVT-04/time", f"the time of the event {event.kind}", step.rpc, "now", str(event.created_at)
            )
        yield from _check_order(step, event, [each.kind for each in before])
        if before and event.created_at < before[-1].created_at:
            yield Breach(
                "EVT-04/order",
                "the times of events",
                step.rpc,
                f"none before {before[-1].created_at}",
                str(event.created_at),
            )
        if event.state in ORDER and event.kind in STATE_AT:
            least = STATE_AT[event.kind]
            if ORDER.index(event.state) < ORDER.index(least):
                yield Breach("EVT-05", f"the state in the event {event.kind}", step.rpc, least, event.state)


def _check_order(step: Step, event: ObservedEvent, before: Collection[str]) -> Iterator[Breach]:
    if event.kind in before:
        yield Breach("EVT-02/once", f"the event {event.kind} of a container", step.rpc, "one", "another one")
    elif any(EVENT_ORDER.index(each) > EVENT_ORDER.index(event.kind) for each in before):
        yield Breach(
            "EVT-02/order",
            f"the event {event.kind} of a container",
            step.rpc,
            f"one in the order {', '.join(EVENT_ORDER)}",
            f"one after {', '.join(before)}",
        )
