"""The stream of events: what lists and statuses tell, it tells too, once each and in the order of a life.

A client hears of what happens from some moment on after its call, and nothing tells it of that moment. So the
first event, or the first time that one was waited for in vain, is where the promise begins.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence

from critests.model.observations import CallResult, ContainerSeen, ObservedEvent, SandboxSeen, StateSnapshot
from critests.model.steps import Step
from critests.model.world import CREATED, EXITED, NOTREADY, ORDER, READY, RUNNING, Breach, EventStream, World

MADE, STARTED, STOPPED, DELETED = LIFE = ("CREATED", "STARTED", "STOPPED", "DELETED")
"""What a container goes through, in that order."""
STATE_AT = {MADE: CREATED, STARTED: RUNNING, STOPPED: EXITED}
"""The earliest state in which a container can be that an event tells of."""
DAY_NS = 24 * 3600 * 10**9

Due = tuple[str, str]
"""The id of an object, and what must have been told of it."""


def listens(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """GetContainerEvents: where it is offered, which only what comes can tell."""
    del step
    world.stream = EventStream() if answer.ok else None
    yield from ()


def leaves(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """The client ends the stream."""
    del step, answer
    world.stream = None
    yield from ()


def disturb(world: World, step: Step) -> None:
    """Something failed below the runtime in a step: what events that makes, is open."""
    sandbox = world.sandboxes.get(step.on) or world.sandboxes.get(step.inside)
    met = [world.containers.get(step.on), world.containers.get(step.makes), world.sandboxes.get(step.makes)]
    if sandbox is not None:
        met += [sandbox, *world.living_containers(sandbox.key)]
    world.disturbed.update(each.id for each in met if each is not None)


def due(world: World, look: StateSnapshot, steps: Sequence[Step]) -> list[Due]:
    """Return what must have been told of what changed since the last look: plain enough to be asked before
    the steps are judged, by who waits for it.
    """
    if world.stream is None or world.stream.states is None:
        return []
    before, now = world.stream.states, states(look)
    removed = {
        one.id
        for step in steps
        if step.rpc == "RemoveContainer" and (one := world.containers.get(step.on)) is not None
    }
    stopped = any(step.rpc in {"StopPodSandbox", "RemovePodSandbox"} for step in steps)
    sandboxes = {each.id for each in look.sandboxes}
    return [
        (identity, kind)
        for identity in {**before, **now}
        if identity not in world.disturbed and identity not in world.lost
        for kind in (
            _of_a_sandbox(before.get(identity), now.get(identity), stopped=stopped)
            if identity in sandboxes
            else _of_a_container(
                before.get(identity),
                now.get(identity),
                look.container_statuses.get(identity),
                removed=identity in removed,
            )
        )
    ]


def _of_a_sandbox(before: str | None, now: str | None, *, stopped: bool) -> Iterator[str]:
    if before is None and now == READY:
        yield from (MADE, STARTED)
    if before == READY and now == NOTREADY and stopped:
        yield STOPPED


def _of_a_container(
    before: str | None, now: str | None, status: ContainerSeen | str | None, *, removed: bool
) -> Iterator[str]:
    """What became of one that was removed along with its sandbox, is left open."""
    if now is None:
        if removed and before is not None:
            yield DELETED
        return
    if before is None:
        yield MADE
    # one that ended without having begun has neither of these
    begun = isinstance(status, ContainerSeen) and status.started_at > 0
    if before in {None, CREATED} and now in {RUNNING, EXITED} and begun:
        yield STARTED
    if before in {None, CREATED, RUNNING} and now == EXITED and begun:
        yield STOPPED


def states(look: StateSnapshot) -> dict[str, str]:
    """Return the state of everything that is listed, by id, as the statuses tell it: they come later."""
    statuses: Mapping[str, SandboxSeen | ContainerSeen | str] = {
        **look.sandbox_statuses,
        **look.container_statuses,
    }
    listed = {
        **{each.id: each.state for each in look.sandboxes},
        **{each.id: each.state for each in look.containers},
    }
    return {
        identity: state if isinstance(status := statuses.get(identity), str | None) else status.state
        for identity, state in listed.items()
    }


def heard(world: World, step: Step, look: StateSnapshot) -> Iterator[Breach]:
    """What happened was told, each once, in its order, at a time, and not before it was so."""
    stream = world.stream
    if stream is None:
        return
    if look.events is None:
        world.stream = None
        if stream.live:
            yield Breach("EVT-08", "the stream of events ends", step.rpc, "one that goes on", "its end")
        return
    wanted = due(world, look, [step])
    if stream.live:
        for identity, kind in wanted:
            kinds = [each.kind for each in look.events.get(identity, ())]
            if kind not in kinds:
                yield _missing(world, step, identity, kind, kinds)
    else:
        stream.live = bool(wanted) or any(look.events.values())
    stream.states = states(look)
    sandboxes = {each.id for each in world.sandboxes.values()}
    for identity, events in look.events.items():
        # the API says of containers only that each comes once and in their order
        if identity not in world.lost and identity not in sandboxes:
            yield from _told(step, events, stream.judged.get(identity, 0), look)
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
        f"none beside {', '.join(kinds) or 'no other'}",
    )


def _told(step: Step, events: Sequence[ObservedEvent], judged: int, look: StateSnapshot) -> Iterator[Breach]:
    for index in range(judged, len(events)):
        event, before = events[index], events[:index]
        if not event.created_at or (look.at and abs(look.at - event.created_at) > DAY_NS):
            yield Breach(
                "EVT-04/time", f"the time of the event {event.kind}", step.rpc, "now", str(event.created_at)
            )
        yield from _in_a_life(step, event, [each.kind for each in before])
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


def _in_a_life(step: Step, event: ObservedEvent, before: Collection[str]) -> Iterator[Breach]:
    if event.kind in before:
        yield Breach("EVT-02/once", f"the event {event.kind} of a container", step.rpc, "one", "another one")
    elif any(LIFE.index(each) > LIFE.index(event.kind) for each in before):
        yield Breach(
            "EVT-02/order",
            f"the event {event.kind} of a container",
            step.rpc,
            "one in the order of its life",
            f"one after {', '.join(before)}",
        )
