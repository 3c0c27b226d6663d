"""Sandboxes: how each RPC may respond in each state, and what is true after it."""

from collections.abc import Iterator

from critests.model.observations import CallResult
from critests.model.steps import NOTHING, Step, colour_of
from critests.model.success_rules import absent, exactly, fails, succeeds
from critests.model.world import GONE, NOTREADY, READY, Breach, SandboxState, World, twins


def run(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """RunPodSandbox: metadata is unique among existing sandboxes; the new one is READY afterwards."""
    taken = list(twins(step, world.sandboxes.values()))
    if taken:
        # an error, or the id of the existing one: the API does not say which
        if result.ok and result.id not in {each.id for each in taken}:
            yield Breach(
                "SBX-05/never-two",
                "a second sandbox of the same metadata",
                step.rpc,
                f"an error or the id {taken[0].id}",
                f"the id {result.id}",
            )
            _add(world, step, result)
        return
    if (step.name, step.attempt) in world.leftovers:
        # the metadata of what a failed call left are free once that is removed (SBX-09)
        if result.ok:
            _add(world, step, result)
        return
    if ("", step.name, step.attempt) in world.abandoned:
        # the abandoned creation may complete after all, and then its sandbox is returned
        if result.ok:
            world.unpredictable.discard(result.id)
            _add(world, step, result, again=True)
        return
    situation = world.situation(step)
    again = any((each.name, each.attempt) == (step.name, step.attempt) for each in world.failed)
    of_situation = {"freed name": "SBX-08", "next attempt of name": "SBX-06"}
    aspect = "SBX-09" if again else of_situation.get(situation, "SBX-02")
    yield from succeeds(aspect, f"a sandbox under a {situation}", step, result)
    if result.ok:
        alive = [each.id for each in world.living_sandboxes()]
        if not result.id or result.id in alive:
            yield Breach(
                "GEN-12",
                "the id of a new sandbox",
                step.rpc,
                "an id that no other sandbox has",
                result.id or "an empty one",
            )
            return
        _add(world, step, result)


def _add(world: World, step: Step, result: CallResult, *, again: bool = False) -> None:
    world.sandboxes[step.makes] = SandboxState(
        step.makes, result.id, step.name, step.attempt, identity_unclear=again
    )
    if again:
        world.disturbed.add(result.id)


def stop(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """StopPodSandbox may be repeated, stops all containers of the sandbox, and succeeds for a removed one."""
    sandbox = world.sandboxes.get(step.on)
    if sandbox is None or sandbox.gone:
        yield from succeeds("SBX-16", f"stopping {absent(sandbox)} sandbox", step, result)
        return
    again = READY not in sandbox.may_be
    yield from succeeds(
        "SBX-15" if again else "SBX-12", f"stopping a sandbox{' again' if again else ''}", step, result
    )
    sandbox.under_way = not result.ok
    sandbox.stopped |= result.ok
    sandbox.stop_failed |= not result.ok or "DEL" in {step.failing, step.hanging}
    if result.ok:
        sandbox.may_be = frozenset({NOTREADY})
        for container in world.living_containers(step.on):
            container.process_killed()
    else:
        # the next snapshot shows how far it came
        sandbox.may_be |= {NOTREADY}
        for container in world.living_containers(step.on):
            container.may_be_killed()


def remove(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """RemovePodSandbox: in every state, with all containers; may be repeated."""
    sandbox = world.sandboxes.get(step.on)
    if sandbox is None:
        yield from succeeds("SBX-24", "removing an unknown sandbox", step, result)
        return
    if sandbox.gone:
        yield from succeeds("SBX-23", "removing a sandbox again", step, result)
        return
    inside = world.living_containers(step.on)
    if sandbox.removal_failed:
        yield from succeeds("SBX-39", "removing a sandbox whose removal has failed", step, result)
    else:
        aspect = "SBX-21" if READY not in sandbox.may_be else "SBX-22/removed"
        yield from succeeds(aspect, "removing a sandbox", step, result)
    sandbox.under_way = sandbox.removal_failed = not result.ok
    sandbox.stopped |= result.ok
    sandbox.stop_failed |= not result.ok or "DEL" in {step.failing, step.hanging}
    if result.ok:
        sandbox.may_be = frozenset({GONE})
        for container in inside:
            container.may_be = frozenset({GONE})
    else:
        sandbox.may_be |= {NOTREADY, GONE}
        for container in inside:
            container.may_be_killed(or_gone=True)


def status(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """PodSandboxStatus: NotFound for a sandbox that does not exist."""
    sandbox = world.sandboxes.get(step.on)
    if sandbox is None:
        aspects = ("ERR-01/error", "ERR-01/status-code")
        yield from fails(aspects[0], "the status of an unknown sandbox", step, result, code=aspects[1])
    elif sandbox.gone:
        aspects = ("SBX-26/error", "SBX-26/code")
        yield from fails(aspects[0], "the status of a removed sandbox", step, result, code=aspects[1])
    elif GONE not in sandbox.may_be:
        yield from succeeds("SBX-37", "the status of a sandbox", step, result)
        if result.ok and result.id != sandbox.id:
            yield Breach("SBA-01", "the id in a status", step.rpc, sandbox.id, result.id)


FILTERS = {
    frozenset({"on"}): "SBA-16",
    frozenset({"state"}): "SBA-17",
    frozenset({"colour"}): "SBA-19",
}


def listed(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """ListPodSandbox with a filter: exactly the sandboxes with that state, id and label."""
    chosen = frozenset(name for name in ("on", "state", "colour") if getattr(step, name))
    target = world.sandboxes.get(step.on)
    absent = bool(step.on) and (step.on == NOTHING or target is None or target.gone)
    aspect = "SBA-21" if absent else FILTERS.get(chosen, "SBA-20" if chosen else "SBA-15")
    yield from succeeds(aspect, "a list of sandboxes", step, result)
    if not result.ok:
        return
    known = [each for each in world.sandboxes.values() if each.id not in world.unpredictable]
    yield from exactly(
        aspect,
        step,
        result,
        "sandbox",
        ((each, _filtered_out(step, each.key, each.labelled_as)) for each in known),
    )
    for sandbox in known:
        if result.ids.count(sandbox.id) > 1:
            yield Breach("SBA-24", "a sandbox is listed twice", step.rpc, "once", "more than once")


def _filtered_out(step: Step, key: str, labelled_as: str) -> bool:
    """Whether a filter by id or label excludes a sandbox."""
    colour = colour_of(labelled_as or key)
    return bool((step.on and step.on != key) or (step.colour and step.colour != colour))
