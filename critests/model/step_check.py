"""One step, judged: first what came back, then what lists and statuses say."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from critests.model import container_rules, event_rules, image_rules, invariants, restart_rules, sandbox_rules
from critests.model.observations import CallResult, StateSnapshot
from critests.model.steps import DAEMON_RESTARTS, EVENTS, NO_EVENTS, PROCESS_ENDS, Step
from critests.model.success_rules import SUCCESS, succeeds
from critests.model.world import Breach, World, twins

Rule = Callable[[World, Step, CallResult], Iterator[Breach]]


def _list_images(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """ListImages: the look after every step asks the same."""
    del world
    if not answer.ok:
        yield Breach("IMS-11/no-filter", "a list of images", step.rpc, "success", answer.code)


def _list_stats(world: World, step: Step, answer: CallResult) -> Iterator[Breach]:
    """ListContainerStats and ListPodSandboxStats, which is optional: no state of anything makes them fail."""
    del world
    if answer.ok or (step.rpc == "ListPodSandboxStats" and answer.code == "UNIMPLEMENTED"):
        return
    aspect = "STA-25" if step.rpc == "ListPodSandboxStats" else "STA-15"
    yield from succeeds(aspect, "a list of statistics", step, answer)


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
    EVENTS: event_rules.listens,
    NO_EVENTS: event_rules.leaves,
    "PullImage": image_rules.pull,
    "RemoveImage": image_rules.remove,
    "ImageStatus": image_rules.status,
    "ListImages": _list_images,
    "ListPodSandboxStats": _list_stats,
    "ListContainerStats": _list_stats,
}
"""What judges each step. An RPC that is not here is none that the model knows."""


def judge(world: World, step: Step, answer: CallResult, look: StateSnapshot) -> list[Breach]:
    """Say which promises a step broke, and bring the world up to date.

    Args:
        world: what was known before; changed in place.
        step: what was done.
        answer: what came back.
        look: what lists and statuses say after it.
    """
    return [*judge_answer(world, step, answer), *judge_look(world, step, look)]


def judge_answer(world: World, step: Step, answer: CallResult) -> list[Breach]:
    """The first half of `judge`: what came back."""
    world.makings += bool(step.makes)
    lost = _is_about_what_is_lost(world, step)
    found = list(RULES[step.rpc](world, step, answer))
    if lost:
        world.lost |= {answer.id} - {""}
        return []
    if not step.disturbed:
        return found
    event_rules.disturb(world, step)
    # how a call fails whose OCI runtime fails, is its own business; what is true afterwards is not
    if step.makes and not answer.ok:
        world.failed.append(replace(step, failing="", hanging=""))
        if step.hanging:
            world.given_up.add((step.inside, step.name, step.attempt))
    return [breach for breach in found if breach.expected != SUCCESS]


def _is_about_what_is_lost(world: World, step: Step) -> bool:
    """Whether nothing can be said of a step, since what it is about has broken a promise that is known."""
    container = world.containers.get(step.on)
    keys = {step.on, step.inside, container.sandbox if container else ""}
    about = [world.containers.get(key) or world.sandboxes.get(key) for key in keys]
    if step.makes:
        about += twins(step, (world.containers if step.inside else world.sandboxes).values())
    return any(one is not None and one.id in world.lost for one in about)


def judge_look(world: World, step: Step, look: StateSnapshot) -> list[Breach]:
    """The second half of `judge`: what lists and statuses say."""
    return [
        breach
        for every in (
            invariants.sandboxes,
            invariants.containers,
            invariants.images,
            invariants.handlers,
            event_rules.heard,
        )
        for breach in every(world, step, look)
    ]
