"""Sampling: cycles of one side or two, in random order within each block, until the confidence interval is
narrow enough or the time budget ends.
"""

import contextlib
import gc
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import grpc

from critests.benchmark.measuring.garbage_collector import garbage_collection_paused
from critests.benchmark.measuring.meter import CallFailed, Meter, NotDone
from critests.benchmark.measuring.target import Target
from critests.client.failures import failed_rpc
from critests.lifecycle.waiting import ConditionNotMet
from critests.record.comparison_questions import QUESTIONS
from critests.record.samples import Series
from critests.statistics.comparison import Block
from critests.statistics.stationarity import Steadiness, warm_up
from critests.statistics.stopping import FEWEST_BLOCKS, PrecisionPlan, Stop, decide, narrow_ratio, next_look

Cycle: TypeAlias = Callable[[Meter], None]
Workload: TypeAlias = "Callable[[Target], contextlib.AbstractContextManager[Cycle]]"

ASKED = {question.key for question in QUESTIONS}
LONGEST_WAIT = 3.0
"""Multiple of the time budget that sampling may take to reach the fewest blocks."""
FAILURES_IN_A_ROW = 5
"""Failed cycles after which sampling ends."""
FEWEST = 40
"""Samples before the first check of the stopping rule: fewer do not show where the warm-up ends."""
SWEEP_EVERY = 8
"""Cycles between two removals of the cgroups of removed pods."""
COLLECT_EVERY = 200
"""Cycles between two garbage collections; the collector is off inside windows."""
PROGRESS_SECONDS = 0.25
"""Between two lines of progress; a terminal is slower than many calls."""


@dataclass
class Tally:
    """How the cycles of one side, or of one of its threads, ended.

    Attributes:
        cycles: number of cycles started.
        failures: number of failed cycles.
        in_a_row: number of failures since the latest success.
        latest_failure: text of the latest failure.
        not_done: number of failures that the runtime had reported as success.
        first_not_done: text of the first of those.
    """

    cycles: int = 0
    failures: int = 0
    in_a_row: int = 0
    latest_failure: str = ""
    not_done: int = 0
    first_not_done: str = ""

    def run(self, cycle: Cycle, meter: Meter) -> str:
        """Run one cycle and count its failure, so that sampling can continue.

        Returns:
            The status code that ended it, `OK` for a success.
        """
        meter.begin_cycle()
        self.cycles += 1
        code, text = "OK", ""
        try:
            cycle(meter)
        except CallFailed as error:
            code, text = error.code, str(error)
        except NotDone as error:
            meter.mark_not_done()
            code, text = "NOT_DONE", str(error)
            self.not_done += 1
            self.first_not_done = self.first_not_done or text
        except ConditionNotMet as error:
            code, text = "DEADLINE_EXCEEDED", str(error)
        except grpc.RpcError as error:
            code = error.code().name
            text = failure_text(error)
        if not text:
            self.in_a_row = 0
            return code
        self.failures += 1
        self.in_a_row += 1
        self.latest_failure = text
        return code

    @property
    def give_up_reason(self) -> str:
        """Why sampling must stop; empty if it can continue."""
        return (
            f"{self.in_a_row} cycles in a row failed: {self.latest_failure}"
            if self.in_a_row >= FAILURES_IN_A_ROW
            else ""
        )

    def add(self, other: "Tally") -> None:
        """Add the counts of another thread of the same side."""
        self.cycles += other.cycles
        self.failures += other.failures
        self.not_done += other.not_done
        self.latest_failure = self.latest_failure or other.latest_failure
        self.first_not_done = self.first_not_done or other.first_not_done


def failure_text(error: grpc.RpcError) -> str:
    """Describe the failure of a call that prepares or checks something."""
    return (
        f"{failed_rpc(error)} failed with {error.code().name} outside the timed windows:"
        f" {str(error.details())[:500]}"
    )


@dataclass
class SampledSide:
    """One side while it is sampled.

    Attributes:
        target: the side.
        cycle: runs the measured work once and calls the meter.
        meter: collects the samples.
        tally: how its cycles ended.
    """

    target: Target
    cycle: Cycle
    meter: Meter
    tally: Tally = field(default_factory=Tally)


def sample(
    sides: Sequence[SampledSide],
    headline: str,
    plan: PrecisionPlan,
    order: random.Random,
    on_progress: Callable[[int], None] = lambda _: None,
) -> str:
    """Sample until the plan says stop, and mark the warm-up of every series, also after an exception.

    With two sides, each block holds one cycle of each side in random order. If operations answer a question
    of a comparison, sampling ends when the interval of the ratio of each is narrow (`narrow_ratio`), and not
    before there are enough blocks to prove a difference; otherwise it uses the whole time budget.

    Args:
        sides: one or two.
        headline: the operation whose confidence interval decides when to stop.
        plan: wanted precision, and the budget.
        order: source of the random order.
        on_progress: called from time to time with the number of cycles of the first side.

    Returns:
        Why sampling ended.
    """
    two = len(sides) > 1
    block, check_at, progress_at = 0, FEWEST_BLOCKS if two else FEWEST, 0.0
    try:
        with garbage_collection_paused():
            begin = time.monotonic()
            while True:
                shuffled = list(sides)
                order.shuffle(shuffled)
                for side in shuffled:
                    side.meter.block = block if len(sides) > 1 else -1
                    side.tally.run(side.cycle, side.meter)
                block += 1
                elapsed = time.monotonic() - begin
                if elapsed >= progress_at:
                    on_progress(block)
                    progress_at = elapsed + PROGRESS_SECONDS
                _clean_up(sides, block)
                reason = next((side.tally.give_up_reason for side in sides if side.tally.give_up_reason), "")
                if not reason and two:
                    if block == check_at and _answers_are_narrow(sides):
                        return Stop.PRECISE.value
                    check_at = next_look(block) if block == check_at else check_at
                    # a scenario without questions ends with its budget, the others not before they can answer
                    awaited = block < FEWEST_BLOCKS and elapsed < LONGEST_WAIT * plan.seconds
                    reason = _ended_budget(0.0 if awaited and _asked(sides[0]) else elapsed, block, plan)
                elif not reason and (block >= check_at or elapsed >= plan.seconds):
                    reason, check_at = _check_plan(sides[0].meter.series.get(headline), elapsed, plan, block)
                if reason:
                    return reason
    finally:
        for side in sides:
            side.target.remove_pod_cgroups()
            for meter in side.meter.all_meters:
                _mark(meter)


def _asked(side: SampledSide) -> list[Series]:
    """Return the series of a side that answer a question of a comparison."""
    return [series for series in side.meter.series.values() if series.key in ASKED]


def _answers_are_narrow(sides: Sequence[SampledSide]) -> bool:
    """Return whether every ratio that answers a question has a narrow interval; False if there is none."""
    asked = _asked(sides[0])
    for series in asked:
        other = sides[1].meter.series.get(series.operation)
        if other is None:
            return False
        a, b = series.blocks(), other.blocks()
        blocks = [Block(a[number], b[number]) for number in sorted(a.keys() & b.keys())]
        if not narrow_ratio(blocks):
            return False
    return bool(asked)


def _mark(meter: Meter) -> None:
    """Mark the warm-up of every series that has one."""
    for operation, series in meter.series.items():
        if operation in meter.simultaneous:
            series.warm_up = 0
        else:
            mark_warm_up(series)


def _clean_up(sides: Sequence[SampledSide], block: int) -> None:
    """Clean up between two blocks, after every so many of them."""
    if block % SWEEP_EVERY == 0:
        for side in sides:
            side.target.remove_pod_cgroups()
    if block % COLLECT_EVERY == 0:
        gc.collect()


def mark_warm_up(series: Series) -> Steadiness:
    """Find the warm-up of a series by a stationarity test and mark it; return whether the rest is steady."""
    found = warm_up(series.value)
    series.warm_up = found.samples if found.steadiness is Steadiness.STEADY else 0
    return found.steadiness


def _ended_budget(elapsed: float, cycles: int, plan: PrecisionPlan) -> str:
    """Return which budget ended; empty if none did."""
    if elapsed >= plan.seconds:
        return Stop.OUT_OF_TIME.value
    return Stop.OUT_OF_SAMPLES.value if cycles >= plan.most_samples else ""


def _check_plan(series: Series | None, elapsed: float, plan: PrecisionPlan, cycles: int) -> tuple[str, int]:
    """Return why to stop, or an empty text, from the headline's samples without the warm-up; and at which
    cycle to check again.
    """
    if series is None:
        return _ended_budget(elapsed, cycles, plan), cycles + 1
    mark_warm_up(series)
    steady = series.steady()
    decision = decide(steady, elapsed, plan)
    reason = "" if decision.stop is Stop.NOT_YET else decision.stop.value
    return reason, cycles + max(1, decision.check_again_at - len(steady))
