"""Concurrent steps of several clients: some sequential order of them must explain all results and the
snapshot afterwards.

A step that returned before another one began comes first in every order. A conflict between calls about the
same object allows more: one of them may fail (CNC-05, CNC-13), except where all must succeed (`ALL_SUCCEED`),
and a command may be killed together with its container (EXS-22).
"""

import copy
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from critests.model.observations import NOT_FOUND, CallResult, StateSnapshot
from critests.model.step_check import judge_result, judge_snapshot
from critests.model.steps import EXEC_CODE, LINGER_SECONDS, NOTHING, PROCESS_ENDS, Step
from critests.model.success_rules import SUCCESS
from critests.model.world import LINGERING, Breach, World

MAKING = frozenset({"RunPodSandbox", "CreateContainer", "StartContainer", "PullImage"})
ENDING = frozenset({"StopContainer", "RemoveContainer", "StopPodSandbox", "RemovePodSandbox", "RemoveImage"})
CHANGING = MAKING | ENDING
ENDING_PROCESSES = ENDING - {"RemoveImage"} | {PROCESS_ENDS}
ALL_SUCCEED = {"StopContainer": "STP-17", "RemoveImage": "IMS-24"}
"""RPCs of which concurrent calls for one object all succeed, by the aspect that requires it."""
ONE_OF_SEVERAL = {"RunPodSandbox": "CNC-02/one", "CreateContainer": "CNC-03/one", "StartContainer": "CNC-04"}
"""The aspect that is broken if no order explains concurrent calls of this RPC alone."""
DURING_A_STOP = {"ExecSync": "STP-18", "ReopenContainerLog": "LOG-26"}
"""RPCs that must work while a container is within its grace period, by the aspect that requires it."""
AT_ONCE_SECONDS = 0.3
"""The largest difference in the begin of concurrent calls: for that long, the process certainly runs."""


@dataclass(frozen=True)
class CompletedStep:
    """A step that returned.

    Attributes:
        step: that ran.
        result: of the step.
        begun: when it began, on any one clock, in seconds.
        ended: when it returned, on the same clock.
    """

    step: Step
    result: CallResult
    begun: float
    ended: float

    def overlaps(self, other: "CompletedStep") -> bool:
        """Whether neither returned before the other began."""
        return self.begun <= other.ended and other.begun <= self.ended


def judge_together(
    world: World,
    done: Sequence[CompletedStep],
    snapshot: StateSnapshot,
    muted: Callable[[Breach], bool] = lambda _: False,
) -> list[Breach]:
    """Return the promises that concurrent steps broke, and update the world.

    Args:
        world: what was known before; afterwards, what is known after the order with the fewest breaches.
        done: the steps.
        snapshot: of lists and statuses after all of them returned.
        muted: which breaches are ignored when orders are compared.
    """
    best: list[Breach] | None = None
    best_world = world
    for order in orders(done):
        after = copy.deepcopy(world)
        found = [
            breach
            for each in order
            for breach in judge_result(after, each.step, each.result)
            if not _may_fail(world, breach, each, done)
        ]
        found += judge_snapshot(after, order[-1].step, snapshot)
        if best is None or _counted(found, muted) < _counted(best, muted):
            best, best_world = found, after
    delayed = list(_delayed_by_a_stop(world, done))
    vars(world).update(vars(best_world))
    return [*delayed, *(breach if muted(breach) else _as_concurrent(breach, done) for breach in best or ())]


def orders(done: Sequence[CompletedStep]) -> Iterator[tuple[CompletedStep, ...]]:
    """Yield every order that is consistent with the times of the steps."""
    for order in itertools.permutations(done):
        pairs = itertools.combinations(order, 2)
        if all(later.ended >= earlier.begun for earlier, later in pairs):
            yield order


def touches(world: World, step: Step) -> set[str]:
    """Return what a step is about: keys of objects and of their owners, and the metadata of a new one."""
    container = world.containers.get(step.on)
    named = {step.on, step.inside, container.sandbox if container else ""}
    if step.makes:
        named.add(f"{step.inside}: {step.name}, {step.attempt}")
    if step.image or (container and container.image):
        named.add(step.image or (container.image if container else ""))
    return named - {"", NOTHING}


def _counted(breaches: Sequence[Breach], muted: Callable[[Breach], bool]) -> int:
    return sum(not muted(breach) for breach in breaches)


def _may_fail(world: World, breach: Breach, one: CompletedStep, done: Sequence[CompletedStep]) -> bool:
    """Whether a breach is only a failed call, or its code, while another call worked on the same object; or a
    command that was killed together with its container (EXS-22).
    """
    ended = one.step.rpc in {"ExecSync", "Exec"} and one.result.ok and one.result.exit_code != 0
    if breach.expected not in {SUCCESS, NOT_FOUND} and not ended:
        return False
    concurrent = [
        other
        for other in done
        if other is not one
        and one.overlaps(other)
        and other.step.rpc in (ENDING_PROCESSES if ended else CHANGING | {PROCESS_ENDS})
        and touches(world, one.step) & touches(world, other.step)
    ]
    alike = all(other.step.rpc == one.step.rpc for other in concurrent)
    return bool(concurrent) and not (alike and one.step.rpc in ALL_SUCCEED)


def _delayed_by_a_stop(world: World, done: Sequence[CompletedStep]) -> Iterator[Breach]:
    """Yield the calls that a stop delayed or failed within the grace period, in which a container takes calls
    as before.
    """
    # another step that kills the container ends the grace period early, so that nothing is expected
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
        as_asked = each.result.ok and each.result.exit_code == (
            EXEC_CODE if each.step.rpc == "ExecSync" else 0
        )
        if waited or not as_asked:
            yield Breach(
                aspect,
                "a call during the grace period of a stop",
                each.step.rpc,
                f"{SUCCESS} before its container ends",
                f"{each.result.code} after {each.ended - each.begun:.1f} s",
            )


def _as_concurrent(breach: Breach, done: Sequence[CompletedStep]) -> Breach:
    """Return a breach with the aspect and the words for concurrent calls."""
    if len(done) == 1:
        return breach
    rpcs = sorted(each.step.rpc for each in done)
    changing = [rpc for rpc in rpcs if rpc in CHANGING]
    kinds = set(changing)
    aspect = breach.aspect
    if len(changing) > 1:
        only = next(iter(kinds)) if len(kinds) == 1 else ""
        if only in ONE_OF_SEVERAL:
            aspect = ONE_OF_SEVERAL[only]
        elif only in ALL_SUCCEED:
            aspect = ALL_SUCCEED[only]
        elif kinds <= {"PullImage", "RemoveImage"}:
            aspect = "IMS-23"
        elif kinds <= ENDING:
            aspect = "CNC-05"
        else:
            aspect = "CNC-06"
    return replace(breach, aspect=aspect, rpc=" | ".join(rpcs), what=f"no order explains it: {breach.what}")
