"""Steps of several clients at once: there must be an order of them, one after another, that explains what
came back and what is seen then.

Only orders count in which nothing comes before what had ended before it began. What may happen besides,
since two calls were about the same object: one of them may fail (CNC-05, CNC-13), but for calls that must
succeed side by side (`ALL_SUCCEED`), and a command may be ended together with its container (EXS-22).
"""

import copy
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from critests.model.observations import NOT_FOUND, CallResult, StateSnapshot
from critests.model.step_check import judge_answer, judge_look
from critests.model.steps import EXEC_CODE, LINGER_SECONDS, NOTHING, PROCESS_ENDS, Step
from critests.model.success_rules import SUCCESS
from critests.model.world import LINGERING, Breach, World

MAKING = frozenset({"RunPodSandbox", "CreateContainer", "StartContainer", "PullImage"})
ENDING = frozenset({"StopContainer", "RemoveContainer", "StopPodSandbox", "RemovePodSandbox", "RemoveImage"})
CHANGING = MAKING | ENDING
ENDING_PROCESSES = ENDING - {"RemoveImage"} | {PROCESS_ENDS}
ALL_SUCCEED = {"StopContainer": "STP-17", "RemoveImage": "IMS-24"}
"""RPCs of which several calls for one object all succeed, by the aspect that says so."""
TWICE = {"RunPodSandbox": "CNC-02/one", "CreateContainer": "CNC-03/one", "StartContainer": "CNC-04"}
"""What is broken where calls of this RPC alone have no order."""
DURING_A_STOP = {"ExecSync": "STP-18", "ReopenContainerLog": "LOG-26"}
"""RPCs that work on while a container has time to end, by the aspect that says so."""
AT_ONCE_SECONDS = 0.3
"""By which two calls may miss each other that are made at once: that long, the process is sure to run."""


@dataclass(frozen=True)
class Done:
    """A step that is over.

    Attributes:
        step: what was done.
        answer: what came back.
        begun: when, on any one clock.
        ended: likewise.
    """

    step: Step
    answer: CallResult
    begun: float
    ended: float

    def overlaps(self, other: "Done") -> bool:
        """Whether neither had ended before the other began."""
        return self.begun <= other.ended and other.begun <= self.ended


def judge_together(
    world: World, done: Sequence[Done], look: StateSnapshot, muted: Callable[[Breach], bool] = lambda _: False
) -> list[Breach]:
    """Say which promises steps broke that were done at once, and bring the world up to date.

    Args:
        world: what was known before; becomes what is known after the order that breaks least.
        done: the steps.
        look: what lists and statuses say when all of them are over.
        muted: which breaches do not count against an order.
    """
    best: list[Breach] | None = None
    best_world = world
    for order in orders(done):
        after = copy.deepcopy(world)
        found = [
            breach
            for each in order
            for breach in judge_answer(after, each.step, each.answer)
            if not _may_fail(world, breach, each, done)
        ]
        found += judge_look(after, order[-1].step, look)
        if best is None or _counted(found, muted) < _counted(best, muted):
            best, best_world = found, after
    held_up = list(_held_up(world, done))
    vars(world).update(vars(best_world))
    return [*held_up, *(breach if muted(breach) else _side_by_side(breach, done) for breach in best or ())]


def orders(done: Sequence[Done]) -> Iterator[tuple[Done, ...]]:
    """Give every order that time allows."""
    for order in itertools.permutations(done):
        pairs = itertools.combinations(order, 2)
        if all(later.ended >= earlier.begun for earlier, later in pairs):
            yield order


def touches(world: World, step: Step) -> set[str]:
    """Return what a step is about: objects, with what they live in, and the metadata of a new one."""
    container = world.containers.get(step.on)
    named = {step.on, step.inside, container.sandbox if container else ""}
    if step.makes:
        named.add(f"{step.inside}: {step.name}, {step.attempt}")
    if step.image or (container and container.image):
        named.add(step.image or (container.image if container else ""))
    return named - {"", NOTHING}


def _counted(breaches: Sequence[Breach], muted: Callable[[Breach], bool]) -> int:
    return sum(not muted(breach) for breach in breaches)


def _may_fail(world: World, breach: Breach, one: Done, done: Sequence[Done]) -> bool:
    """Whether a breach is only that a call failed, or with which code, while another one was at work on the
    same object; or that a command was ended together with its container (EXS-22).
    """
    ended = one.step.rpc in {"ExecSync", "Exec"} and one.answer.ok and one.answer.exit_code != 0
    if breach.expected not in {SUCCESS, NOT_FOUND} and not ended:
        return False
    beside = [
        other
        for other in done
        if other is not one
        and one.overlaps(other)
        and other.step.rpc in (ENDING_PROCESSES if ended else CHANGING | {PROCESS_ENDS})
        and touches(world, one.step) & touches(world, other.step)
    ]
    alike = all(other.step.rpc == one.step.rpc for other in beside)
    return bool(beside) and not (alike and one.step.rpc in ALL_SUCCEED)


def _held_up(world: World, done: Sequence[Done]) -> Iterator[Breach]:
    """In the grace period of a stop, a container is there for other calls as before: they wait neither for
    its end nor are they ended by it.
    """
    # what ends it earlier is no stop within the grace period
    stops = {
        each.step.on: each
        for each in done
        if each.step.rpc == "StopContainer" and LINGERING in world.situation(each.step)
    }
    if any(each.step.rpc in ENDING_PROCESSES and each not in stops.values() for each in done):
        return
    for each in done:
        stop = stops.get(each.step.on)
        aspect = DURING_A_STOP.get(each.step.rpc)
        if stop is None or aspect is None or each.begun > stop.begun + AT_ONCE_SECONDS:
            continue
        waited = each.ended > stop.begun + LINGER_SECONDS
        as_asked = each.answer.ok and each.answer.exit_code == (
            EXEC_CODE if each.step.rpc == "ExecSync" else 0
        )
        if waited or not as_asked:
            yield Breach(
                aspect,
                "a call during the grace period of a stop",
                each.step.rpc,
                f"{SUCCESS} before its container ends",
                f"{each.answer.code} after {each.ended - each.begun:.1f} s",
            )


def _side_by_side(breach: Breach, done: Sequence[Done]) -> Breach:
    """Return a breach in the words of calls at once, under the aspect that speaks of them."""
    if len(done) == 1:
        return breach
    rpcs = sorted(each.step.rpc for each in done)
    changing = [rpc for rpc in rpcs if rpc in CHANGING]
    kinds = set(changing)
    aspect = breach.aspect
    if len(changing) > 1:
        only = next(iter(kinds)) if len(kinds) == 1 else ""
        if only in TWICE:
            aspect = TWICE[only]
        elif only in ALL_SUCCEED:
            aspect = ALL_SUCCEED[only]
        elif kinds <= {"PullImage", "RemoveImage"}:
            aspect = "IMS-23"
        elif kinds <= ENDING:
            aspect = "CNC-05"
        else:
            aspect = "CNC-06"
    return replace(breach, aspect=aspect, rpc=" | ".join(rpcs), what=f"no order explains it: {breach.what}")
