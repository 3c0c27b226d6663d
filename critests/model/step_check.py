"""Judges one step: first its result, then what lists and statuses report."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from critests.model import container_rules, event_rules, image_rules, invariants, restart_rules, sandbox_rules
from critests.model.observations import CallResult, StateSnapshot
from critests.model.steps import DAEMON_RESTARTS, EVENTS, NO_EVENTS, PROCESS_ENDS, Step
from critests.model.success_rules import SUCCESS, succeeds
from critests.model.world import Breach, World, twins

Rule = Callable[[World, Step, CallResult], Iterator[Breach]]


def _list_images(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """ListImages: the snapshot after every step checks its entries."""
    del world
    if not result.ok:
        yield Breach("IMS-11/no-filter", "a list of images", step.rpc, "success", result.code)


def _list_stats(world: World, step: Step, result: CallResult) -> Iterator[Breach]:
    """ListContainerStats and ListPodSandboxStats, which is optional, MUST succeed in every state."""
    del world
    if result.ok or (step.rpc == "ListPodSandboxStats" and result.code == "UNIMPLEMENTED"):
        return
    aspect = "STA-25" if step.rpc == "ListPodSandboxStats" else "STA-15"
    yield from succeeds(aspect, "a list of statistics", step, result)


RULES: dict[str, Rule] = {
    "RunPodSandbox": sandbox_rules.run,
    "StopPodSandbox": sandbox_rules.stop,
    "RemovePodSandbox": sandbox_rules.remove,
    "PodSandboxStatus": sandbox_rules.status,
    "ListPodSandbox": sandbox_rules.listed,
    "CreateContainer": container_rules.create,
    "StartContainer": container_rules.start,
    "StopContainer": container_rules.stop,
    "RemoveContainer": container_rules.remove,
    "ContainerStatus": container_rules.status,
    "ListContainers": container_rules.listed,
    "ExecSync": container_rules.exec_sync,
    "ReopenContainerLog": container_rules.reopen_log,
    "Exec": container_rules.exec_session,
    "Attach": container_rules.attach,
    PROCESS_ENDS: container_rules.process_ends,
    DAEMON_RESTARTS: restart_rules.restarted,
    EVENTS: event_rules.subscribe,
    NO_EVENTS: event_rules.unsubscribe,
    "PullImage": image_rules.pull,
    "RemoveImage": image_rules.remove,
    "ImageStatus": image_rules.status,
    "ListImages": _list_images,
    "ListPodSandboxStats": _list_stats,
    "ListContainerStats": _list_stats,
}
"""The rule for each step; the model knows no other RPC."""


def judge(world: World, step: Step, result: CallResult, snapshot: StateSnapshot) -> list[Breach]:
    """Return the promises that a step broke, and update the world.

    Args:
        world: what was known before; changed in place.
        step: that ran.
        result: of the step.
        snapshot: of lists and statuses after it.
    """
    return [*judge_result(world, step, result), *judge_snapshot(world, step, snapshot)]


def judge_result(world: World, step: Step, result: CallResult) -> list[Breach]:
    """Judge the result of a step: the first half of `judge`."""
    world.creation_count += bool(step.makes)
    unpredictable = _is_unpredictable(world, step)
    found = list(RULES[step.rpc](world, step, result))
    if unpredictable:
        world.unpredictable |= {result.id} - {""}
        return []
    if not step.disturbed:
        return found
    event_rules.disturb(world, step)
    # a call may fail in any way while the OCI runtime fails; lists and statuses must be right afterwards
    if step.makes and not result.ok:
        world.failed.append(replace(step, failing="", hanging=""))
        if step.hanging:
            world.abandoned.add((step.inside, step.name, step.attempt))
    return [breach for breach in found if breach.expected != SUCCESS]


def _is_unpredictable(world: World, step: Step) -> bool:
    """Whether a step is not judged, because a promise about its object was broken before."""
    container = world.containers.get(step.on)
    keys = {step.on, step.inside, container.sandbox if container else ""}
    about = [world.containers.get(key) or world.sandboxes.get(key) for key in keys]
    if step.makes:
        about += twins(step, (world.containers if step.inside else world.sandboxes).values())
    return any(one is not None and one.id in world.unpredictable for one in about)


def judge_snapshot(world: World, step: Step, snapshot: StateSnapshot) -> list[Breach]:
    """Judge what lists and statuses report: the second half of `judge`."""
    return [
        breach
        for check in (
            invariants.sandboxes,
            invariants.containers,
            invariants.images,
            invariants.handlers,
            event_rules.received,
        )
        for breach in check(world, step, snapshot)
    ]
