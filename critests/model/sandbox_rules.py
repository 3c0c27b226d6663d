"""Sandboxes: what each RPC may answer in each state, and what is true after it."""

from collections.abc import Iterator

from critests.model.observations import CallResult
from critests.model.steps import NOTHING, Step, colour_of
from critests.model.success_rules import absent, exactly, fails, succeeds
from critests.model.world import GONE, NOTREADY, READY, Breach, SandboxState, World, twins


def run(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """RunPodSandbox: metadata is unique among sandboxes that exist; the answer comes when it is READY."""
    taken = list(twins(step, world.sandboxes.values()))
    if taken:
        # an error, or the id of the one that is there: the API does not say which
        if answer.ok and answer.id not in {each.id for each in taken}:
            yield Breach(
                "SBX-05/never-two",
                "a second sandbox of the same metadata",
                step.rpc,
                f"an error or the id {taken[0].id}",
                f"the id {answer.id}",
            )
            _add(world, step, answer)
        return
    if (step.name, step.attempt) in world.left:
        # its metadata are those of what a failed call left: free when that is removed (SBX-09)
        if answer.ok:
            _add(world, step, answer)
        return
    if ("", step.name, step.attempt) in world.given_up:
        # what was given up may still be made, and is the one that is asked for then
        if answer.ok:
            world.lost.discard(answer.id)
            _add(world, step, answer, again=True)
        return
    situation = world.situation(step)
    again = any((each.name, each.attempt) == (step.name, step.attempt) for each in world.failed)
    of_situation = {"freed name": "SBX-08", "next attempt of name": "SBX-06"}
    aspect = "SBX-09" if again else of_situation.get(situation, "SBX-02")
    yield from succeeds(aspect, f"a sandbox under a {situation}", step, answer)
    if answer.ok:
        alive = [each.id for each in world.living_sandboxes()]
        if not answer.id or answer.id in alive:
            yield Breach(
                "GEN-12",
                "the id of a new sandbox",
                step.rpc,
                "an id that no other sandbox has",
                answer.id or "an empty one",
            )
            return
        _add(world, step, answer)


def _add(world: World, step: Step, answer: CallResult, *, again: bool = False) -> None:
    world.sandboxes[step.makes] = SandboxState(step.makes, answer.id, step.name, step.attempt, again=again)
    if again:
        world.disturbed.add(answer.id)


def stop(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """StopPodSandbox: may be repeated, ends all of the sandbox's containers, is no error for what is gone."""
    sandbox = world.sandboxes.get(step.on)
    if sandbox is None or sandbox.gone:
        yield from succeeds("SBX-16", f"stopping {absent(sandbox)} sandbox", step, answer)
        return
    again = READY not in sandbox.may_be
    yield from succeeds(
        "SBX-15" if again else "SBX-12", f"stopping a sandbox{' again' if again else ''}", step, answer
    )
    sandbox.under_way = not answer.ok
    sandbox.stopped |= answer.ok
    sandbox.stop_failed |= not answer.ok or "DEL" in {step.failing, step.hanging}
    if answer.ok:
        sandbox.may_be = frozenset({NOTREADY})
        for container in world.living_containers(step.on):
            container.is_ended()
    else:
        # how far it came, the next look shows
        sandbox.may_be |= {NOTREADY}
        for container in world.living_containers(step.on):
            container.may_be_ended()


def remove(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """RemovePodSandbox: in whatever state, with everything in it; may be repeated."""
    sandbox = world.sandboxes.get(step.on)
    if sandbox is None:
        yield from succeeds("SBX-24", "removing an unknown sandbox", step, answer)
        return
    if sandbox.gone:
        yield from succeeds("SBX-23", "removing a sandbox again", step, answer)
        return
    inside = world.living_containers(step.on)
    if sandbox.removal_failed:
        yield from succeeds("SBX-39", "removing a sandbox whose removal has failed", step, answer)
    else:
        aspect = "SBX-21" if READY not in sandbox.may_be else "SBX-22/removed"
        yield from succeeds(aspect, "removing a sandbox", step, answer)
    sandbox.under_way = sandbox.removal_failed = not answer.ok
    sandbox.stopped |= answer.ok
    sandbox.stop_failed |= not answer.ok or "DEL" in {step.failing, step.hanging}
    if answer.ok:
        sandbox.may_be = frozenset({GONE})
        for container in inside:
            container.may_be = frozenset({GONE})
    else:
        sandbox.may_be |= {NOTREADY, GONE}
        for container in inside:
            container.may_be_ended(or_gone=True)


def status(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """PodSandboxStatus: an error, NotFound, for what is not there."""
    sandbox = world.sandboxes.get(step.on)
    if sandbox is None:
        aspects = ("ERR-01/error", "ERR-01/status-code")
        yield from fails(aspects[0], "the status of an unknown sandbox", step, answer, code=aspects[1])
    elif sandbox.gone:
        aspects = ("SBX-26/error", "SBX-26/code")
        yield from fails(aspects[0], "the status of a removed sandbox", step, answer, code=aspects[1])
    elif GONE not in sandbox.may_be:
        yield from succeeds("SBX-37", "the status of a sandbox", step, answer)
        if answer.ok and answer.id != sandbox.id:
            yield Breach("SBA-01", "the id in a status", step.rpc, sandbox.id, answer.id)


FILTERS = {
    frozenset({"on"}): "SBA-16",
    frozenset({"state"}): "SBA-17",
    frozenset({"colour"}): "SBA-19",
}


def listed(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """ListPodSandbox with a filter: exactly what is in that state, has that id and that label."""
    chosen = frozenset(name for name in ("on", "state", "colour") if getattr(step, name))
    target = world.sandboxes.get(step.on)
    absent = bool(step.on) and (step.on == NOTHING or target is None or target.gone)
    aspect = "SBA-21" if absent else FILTERS.get(chosen, "SBA-20" if chosen else "SBA-15")
    yield from succeeds(aspect, "a list of sandboxes", step, answer)
    if not answer.ok:
        return
    told = [each for each in world.sandboxes.values() if each.id not in world.lost]
    yield from exactly(
        aspect,
        step,
        answer,
        "sandbox",
        ((each, _others(step, each.key, each.carries)) for each in told),
    )
    for sandbox in told:
        if answer.ids.count(sandbox.id) > 1:
            yield Breach("SBA-24", "a sandbox is listed twice", step.rpc, "once", "more than once")


def _others(step: Step, key: str, carries: str) -> bool:
    """Whether a filter by id or label wants others."""
    colour = colour_of(carries or key)
    return bool((step.on and step.on != key) or (step.colour and step.colour != colour))
