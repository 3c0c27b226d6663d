"""One step, judged: first what came back, then what lists and statuses say."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from critests.model import containers, events, images, looks, restarts, sandboxes
from critests.model.outcomes import SUCCESS, succeeds
from critests.model.sights import Answer, Look
from critests.model.steps import DAEMON_RESTARTS, EVENTS, NO_EVENTS, PROCESS_ENDS, Step
from critests.model.world import Breach, World, twins

Rule = Callable[[World, Step, Answer], Iterator[Breach]]


def _list_images(world: World, step: Step, answer: Answer) -> Iterator[Breach]:
    """ListImages: the look after every step asks the same."""
    del world
    if not answer.ok:
        yield Breach("IMS-11/no-filter", "a list of images", step.rpc, "success", answer.code)


def _list_stats(world: World, step: Step, answer: Answer) -> Iterator[Breach]:
    """ListContainerStats and ListPodSandboxStats, which is optional: no state of anything makes them fail."""
    del world
    if answer.ok or (step.rpc == "ListPodSandboxStats" and answer.code == "UNIMPLEMENTED"):
        return
    aspect = "STA-25" if step.rpc == "ListPodSandboxStats" else "STA-15"
    yield from succeeds(aspect, "a list of statistics", step, answer)


RULES: dict[str, Rule] = {
    "RunPodSandbox": sandboxes.run,
    "StopPodSandbox": sandboxes.stop,
    "RemovePodSandbox": sandboxes.remove,
    "PodSandboxStatus": sandboxes.status,
    "ListPodSandbox": sandboxes.listed,
    "CreateContainer": containers.create,
    "StartContainer": containers.start,
    "StopContainer": containers.stop,
    "RemoveContainer": containers.remove,
    "ContainerStatus": containers.status,
    "ListContainers": containers.listed,
    "ExecSync": containers.exec_sync,
    "ReopenContainerLog": containers.reopen_log,
    "Exec": containers.exec_session,
    "Attach": containers.attach,
    PROCESS_ENDS: containers.process_ends,
    DAEMON_RESTARTS: restarts.restarted,
    EVENTS: events.listens,
    NO_EVENTS: events.leaves,
    "PullImage": images.pull,
    "RemoveImage": images.remove,
    "ImageStatus": images.status,
    "ListImages": _list_images,
    "ListPodSandboxStats": _list_stats,
    "ListContainerStats": _list_stats,
}
"""What judges each step. An RPC that is not here is none that the model knows."""


def judge(world: World, step: Step, answer: Answer, look: Look) -> list[Breach]:
    """Say which promises a step broke, and bring the world up to date.

    Args:
        world: what was known before; changed in place.
        step: what was done.
        answer: what came back.
        look: what lists and statuses say after it.
    """
    return [*judge_answer(world, step, answer), *judge_look(world, step, look)]


def judge_answer(world: World, step: Step, answer: Answer) -> list[Breach]:
    """The first half of `judge`: what came back."""
    world.makings += bool(step.makes)
    lost = _is_about_what_is_lost(world, step)
    found = list(RULES[step.rpc](world, step, answer))
    if lost:
        world.lost |= {answer.id} - {""}
        return []
    if not step.disturbed:
        return found
    events.disturb(world, step)
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


def judge_look(world: World, step: Step, look: Look) -> list[Breach]:
    """The second half of `judge`: what lists and statuses say."""
    return [
        breach
        for every in (looks.sandboxes, looks.containers, looks.images, looks.handlers, events.heard)
        for breach in every(world, step, look)
    ]
