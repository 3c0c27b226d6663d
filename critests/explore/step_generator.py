"""Lists the possible steps in a world, by the place that they cover, and how likely each is drawn."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from critests.model.image_rules import resolves
from critests.model.steps import (
    DAEMON_RESTARTS,
    EVENTS,
    INPUT,
    NO_EVENTS,
    NOTHING,
    PROCESS_ENDS,
    REGISTRY,
    STATISTICS,
    TERMINAL,
    ContainerProcess,
    Step,
)
from critests.model.world import (
    CREATED,
    EXITED,
    LINGERING,
    NOTREADY,
    READY,
    RUNNING,
    ContainerState,
    SandboxState,
    World,
)

Place = tuple[str, str]
"""An RPC, and the situation of its object: what coverage counts."""

MAX_SANDBOXES, MAX_CONTAINERS, STALE = 3, 4, 2
"""Objects that exist at a time, and removed ones of a kind that steps still name."""
COLOURS = ("red", "blue", "green")
"""Label values in filters; no object has the last one."""
BY = ("tag", "other tag", "id")

RPC_WEIGHTS = {
    "RunPodSandbox": 8,
    "CreateContainer": 16,
    "StartContainer": 16,
    "StopPodSandbox": 4,
    "RemovePodSandbox": 3,
    "StopContainer": 9,
    "RemoveContainer": 6,
    PROCESS_ENDS: 9,
    "ExecSync": 5,
    "Exec": 6,
    "Attach": 4,
    "ReopenContainerLog": 4,
    "PullImage": 5,
    "RemoveImage": 4,
    DAEMON_RESTARTS: 1,
    EVENTS: 6,
    NO_EVENTS: 1,
}
"""How often an RPC is drawn, for all its places together; 2 by default. Steps that change a state are drawn
more often than those that only read, because a snapshot follows every step.
"""
SITUATION_WEIGHTS = {
    "unknown": 0.05,
    "gone": 0.4,
    "no image": 0.3,
    "with none": 0.5,
    "running": 3.0,
    "failing": 0.2,
    "hanging": 0.1,
    LINGERING: 4.0,
    f"by {INPUT}": 2.0,
    "fresh name in ready": 4.0,
    "created in ready": 4.0,
}
"""How much more or less likely a place is within its RPC, by words in its situation."""
BOOST = 4
"""How much more likely a place is that was never covered."""
SCALE = 8
"""Weights are multiplied by this and rounded to whole numbers."""
MAX_REPEATS = 2
"""How often the same step may occur in a row."""

ABOUT_A_CONTAINER = (
    "StartContainer",
    "StopContainer",
    "RemoveContainer",
    "ContainerStatus",
    "ExecSync",
    "ReopenContainerLog",
    "Exec",
    "Attach",
)
"""RPCs that take the id of a container."""
OPERATIONS = {
    "RunPodSandbox": ("create", "start", "ADD"),
    "CreateContainer": ("create",),
    "StartContainer": ("start", "create"),
    "StopContainer": ("kill", "delete"),
    "RemoveContainer": ("delete",),
    "StopPodSandbox": ("kill", "DEL"),
    "RemovePodSandbox": ("delete", "DEL"),
    "PullImage": (REGISTRY,),
}
"""What can fail or hang during an RPC: operations of the OCI runtime and of the CNI plugins, and the
registry.
"""


def steps_by_place(
    world: World, earlier: Sequence[Step], *, disruptive: bool = False
) -> dict[Place, list[Step]]:
    """Return every step that makes sense in a world after the earlier ones, by its place.

    Args:
        world: as it is.
        earlier: the steps before.
        disruptive: also a restart of the daemon, and steps in which what is below the runtime fails or hangs.
    """
    found: dict[Place, list[Step]] = defaultdict(list)
    last = earlier[-MAX_REPEATS:]
    for step in (*_steps(world), *(_disruptions(world) if disruptive else ())):
        if len(last) == MAX_REPEATS and all(step == each for each in last):
            continue
        found[step.rpc, world.situation(step)].append(step)
    return dict(found)


def likely(places: Sequence[Place], covered: Counter[Place]) -> list[Place]:
    """Return the places, each as often as its weight: those that were seldom covered more often.

    Args:
        places: to choose from.
        covered: how often each was covered; must not change within a run of Hypothesis, which draws from the
            same list again when it shortens.
    """
    weights = {place: _situation_weight(place[1]) * (1 + BOOST / (1 + covered[place])) for place in places}
    of_rpc: Counter[str] = Counter()
    for (rpc, _), weight in weights.items():
        of_rpc[rpc] += math.ceil(weight)
    drawn: list[Place] = []
    for place, weight in weights.items():
        share = RPC_WEIGHTS.get(place[0], 2) * weight / of_rpc[place[0]]
        drawn += [place] * max(1, round(share * SCALE))
    return drawn


def _situation_weight(situation: str) -> float:
    return math.prod(factor for words, factor in SITUATION_WEIGHTS.items() if words in situation)


def _steps(world: World) -> Iterator[Step]:
    yield from _sandbox_steps(world)
    yield from _container_steps(world)
    yield from _image_steps(world)
    yield from (Step(rpc) for rpc in STATISTICS)
    yield Step(EVENTS if world.stream is None else NO_EVENTS)
    for step in world.failed[-STALE:]:
        yield replace(step, makes=f"{step.makes.partition('-')[0]}-{world.creation_count + 1}")


def _disruptions(world: World) -> Iterator[Step]:
    yield Step(DAEMON_RESTARTS)
    for step in _steps(world):
        known = world.state_of(step.on or step.inside) not in {"unknown", "gone"}
        for operation in OPERATIONS.get(step.rpc, ()) if known else ():
            yield replace(step, failing=operation)
            yield replace(step, hanging=operation)


def _sandbox_steps(world: World) -> Iterator[Step]:
    named = [*world.living_sandboxes(), *[each for each in world.sandboxes.values() if each.gone][-STALE:]]
    key = f"sandbox-{world.creation_count + 1}"
    if len(world.living_sandboxes()) < MAX_SANDBOXES:
        yield Step("RunPodSandbox", makes=key, name=f"pod-{key[8:]}")
        for each in named:
            yield Step("RunPodSandbox", makes=key, name=each.name, attempt=each.attempt)
            if not each.gone:
                yield Step("RunPodSandbox", makes=key, name=each.name, attempt=_next_attempt(each, named))
    for on in (*(each.key for each in named), NOTHING):
        for rpc in ("StopPodSandbox", "RemovePodSandbox", "PodSandboxStatus"):
            yield Step(rpc, on=on)
        yield Step("ListPodSandbox", on=on)
        for state in (READY, NOTREADY):
            yield Step("ListPodSandbox", on=on, state=state)
        yield Step("ListPodSandbox", on=on, colour="red")
    for state in (READY, NOTREADY):
        yield Step("ListPodSandbox", state=state)
        yield Step("ListPodSandbox", state=state, colour="red")
    for colour in COLOURS:
        yield Step("ListPodSandbox", colour=colour)


def _container_steps(world: World) -> Iterator[Step]:
    named = [*world.living_containers(), *[each for each in world.containers.values() if each.gone][-STALE:]]
    if len(world.living_containers()) < MAX_CONTAINERS:
        yield from _creations(world, named)
    for each in named:
        for rpc in ABOUT_A_CONTAINER:
            yield Step(rpc, on=each.key)
        yield Step("StopContainer", on=each.key, timeout=2)
        yield from (Step("Exec", on=each.key, by=by) for by in (INPUT, TERMINAL))
        if each.process == ContainerProcess.LISTENS:
            yield Step("Attach", on=each.key, by=INPUT)
        if each.may_be <= {RUNNING, EXITED} and RUNNING in each.may_be:
            yield Step(PROCESS_ENDS, on=each.key)
    for rpc in ABOUT_A_CONTAINER:
        yield Step(rpc, on=NOTHING)
    yield from _container_lists(world, named)


def _container_lists(world: World, named: list[ContainerState]) -> Iterator[Step]:
    for on in (*(each.key for each in named), NOTHING):
        yield Step("ListContainers", on=on)
        yield Step("ListContainers", on=on, state=RUNNING)
    for state in (CREATED, RUNNING, EXITED):
        yield Step("ListContainers", state=state)
        yield Step("ListContainers", state=state, colour="red")
    for colour in COLOURS:
        yield Step("ListContainers", colour=colour)
    for inside in (*(each.key for each in world.living_sandboxes()), NOTHING):
        yield Step("ListContainers", inside=inside)
        yield Step("ListContainers", inside=inside, state=RUNNING)


def _creations(world: World, named: list[ContainerState]) -> Iterator[Step]:
    key = f"container-{world.creation_count + 1}"
    gone = [each for each in world.sandboxes.values() if each.gone][-1:]
    for inside in (*(each.key for each in (*world.living_sandboxes(), *gone)), NOTHING):
        in_sandbox = [each for each in named if each.sandbox == inside]
        taken = list(dict.fromkeys((each.name, each.attempt) for each in in_sandbox))
        names = [
            *((each.name, 0) for each in named if each.sandbox != inside and (each.name, 0) not in taken),
            *taken,
            *((each.name, _next_attempt(each, in_sandbox)) for each in in_sandbox),
        ]
        for image in ("", *world.images):
            for process in (ContainerProcess.WAITS, *ContainerProcess):
                yield Step(
                    "CreateContainer",
                    makes=key,
                    inside=inside,
                    image=image,
                    name=f"app-{key[10:]}",
                    process=process,
                )
        for name, attempt in dict.fromkeys(names):
            yield Step(
                "CreateContainer",
                makes=key,
                inside=inside,
                name=name,
                attempt=attempt,
                process=ContainerProcess.WAITS,
            )


def _image_steps(world: World) -> Iterator[Step]:
    for image in world.images.values():
        for by in BY[: len(image.names)]:
            yield Step("PullImage", on=image.key, by=by)
        for by in BY if len(image.names) > 1 else ("tag", "id"):
            if by != "id" or image.id:
                yield Step("ImageStatus", on=image.key, by=by)
                if True in resolves(image, by) or image.present == {False}:
                    yield Step("RemoveImage", on=image.key, by=by)


def _next_attempt(one: SandboxState | ContainerState, others: Sequence[SandboxState | ContainerState]) -> int:
    return max(each.attempt for each in others if each.name == one.name) + 1
