"""Sampling: cycles of one side or of two, in random order block by block, until the answer is sharp or the
time is over.
"""

import contextlib
import gc
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import grpc

from critests.benchmark.measuring.idle_check import quiet
from critests.benchmark.measuring.meter import CallFailed, Meter, NotDone
from critests.benchmark.measuring.target import Target
from critests.client.failures import failed_rpc
from critests.lifecycle.waiting import ConditionNotMet
from critests.record.samples import Series
from critests.statistics.stationarity import Steadiness, warm_up
from critests.statistics.stopping import PrecisionPlan, Stop, decide

Cycle: TypeAlias = Callable[[Meter], None]
Workload: TypeAlias = "Callable[[Target], contextlib.AbstractContextManager[Cycle]]"

FAILURES_IN_A_ROW = 5
FEWEST = 40
"""Samples before the first look whether they are enough: fewer do not show where a warm-up ends."""
SWEEP_EVERY = 8
"""Cycles between two removals of the cgroups that ended pods leave behind."""
COLLECT_EVERY = 200
"""Cycles between two looks of the garbage collector, which is off while windows are open."""
TELL_SECONDS = 0.25
"""Between two lines of progress; a terminal is slower than many a call."""


@dataclass
class Tally:
    """How the cycles of one side, or of one of its threads, ended.

    Attributes:
        cycles: how many were begun.
        failures: how many failed.
        in_a_row: how many of the latest failed.
        latest: the latest failure, in words.
        untrue: how many of them the runtime had said to be done.
        untruth: the first of those, in words.
    """

    cycles: int = 0
    failures: int = 0
    in_a_row: int = 0
    latest: str = ""
    untrue: int = 0
    untruth: str = ""

    def attempt(self, cycle: Cycle, meter: Meter) -> str:
        """Go through one cycle; a failure is counted and sampling can go on.

        Returns:
            The code that ended it, `OK` where it was done.
        """
        meter.begin_cycle()
        self.cycles += 1
        code, words = "OK", ""
        try:
            cycle(meter)
        except CallFailed as error:
            code, words = error.code, str(error)
        except NotDone as error:
            meter.disown()
            code, words = "NOT_DONE", str(error)
            self.untrue += 1
            self.untruth = self.untruth or words
        except ConditionNotMet as error:
            code, words = "DEADLINE_EXCEEDED", str(error)
        except grpc.RpcError as error:
            code = error.code().name
            words = in_words(error)
        if not words:
            self.in_a_row = 0
            return code
        self.failures += 1
        self.in_a_row += 1
        self.latest = words
        return code

    @property
    def hopeless(self) -> str:
        """Why there is no point in going on; empty where there is."""
        return (
            f"{self.in_a_row} cycles in a row failed: {self.latest}"
            if self.in_a_row >= FAILURES_IN_A_ROW
            else ""
        )

    def add(self, other: "Tally") -> None:
        """Add what another thread of the same side counted."""
        self.cycles += other.cycles
        self.failures += other.failures
        self.untrue += other.untrue
        self.latest, self.untruth = self.latest or other.latest, self.untruth or other.untruth


def in_words(error: grpc.RpcError) -> str:
    """Say what failed of what only prepares, or looks."""
    return (
        f"{failed_rpc(error)} failed with {error.code().name} outside of what is timed:"
        f" {str(error.details())[:500]}"
    )


@dataclass
class Lane:
    """One side while it is sampled.

    Attributes:
        target: the side.
        cycle: does what is measured once, calling the meter.
        meter: keeps what it took.
        tally: how its cycles ended.
    """

    target: Target
    cycle: Cycle
    meter: Meter
    tally: Tally = field(default_factory=Tally)


def sample(
    lanes: Sequence[Lane],
    headline: str,
    plan: PrecisionPlan,
    order: random.Random,
    on_progress: Callable[[int], None] = lambda _: None,
) -> str:
    """Sample until the plan is fulfilled, and mark the warm-up of every series, also where an exception ends
    it.

    With two lanes, each block holds one cycle of either side in random order, and the whole time is used: how
    sharp a ratio will be cannot be read off either side alone.

    Args:
        lanes: the sides.
        headline: the operation whose quantile decides when the answer is sharp.
        plan: how sharp, and what it may cost.
        order: source of the random order.
        on_progress: called with the number of cycles of the first lane now and then, for a display.

    Returns:
        Why sampling ended, in words.
    """
    block, check_at, tell_at = 0, FEWEST, 0.0
    try:
        with quiet():
            begin = time.monotonic()
            while True:
                sides = list(lanes)
                order.shuffle(sides)
                for lane in sides:
                    lane.meter.block = block if len(lanes) > 1 else -1
                    lane.tally.attempt(lane.cycle, lane.meter)
                block += 1
                elapsed = time.monotonic() - begin
                if elapsed >= tell_at:
                    on_progress(block)
                    tell_at = elapsed + TELL_SECONDS
                _between(lanes, block)
                reason = next((lane.tally.hopeless for lane in lanes if lane.tally.hopeless), "")
                if not reason and len(lanes) > 1:
                    reason = _ended_budget(elapsed, block, plan)
                elif not reason and (block >= check_at or elapsed >= plan.seconds):
                    reason, check_at = _look(lanes[0].meter.series.get(headline), elapsed, plan, block)
                if reason:
                    return reason
    finally:
        for lane in lanes:
            lane.target.sweep()
            for meter in lane.meter.every:
                _mark(meter)


def _mark(meter: Meter) -> None:
    """Mark the warm-up of every series that has one."""
    for operation, series in meter.series.items():
        if operation in meter.at_once:
            series.warm_up = 0
        else:
            mark_warm_up(series)


def _between(lanes: Sequence[Lane], block: int) -> None:
    """Tidy up between two blocks, now and then."""
    if block % SWEEP_EVERY == 0:
        for lane in lanes:
            lane.target.sweep()
    if block % COLLECT_EVERY == 0:
        gc.collect()


def mark_warm_up(series: Series) -> Steadiness:
    """Find the warm-up of a series by the test of stationarity and mark it; returns what is known of its
    end.
    """
    found = warm_up(series.value)
    series.warm_up = found.samples if found.steadiness is Steadiness.STEADY else 0
    return found.steadiness


def _ended_budget(elapsed: float, cycles: int, plan: PrecisionPlan) -> str:
    """Say which budget ended; empty where none did."""
    if elapsed >= plan.seconds:
        return Stop.OUT_OF_TIME.value
    return Stop.OUT_OF_SAMPLES.value if cycles >= plan.most_samples else ""


def _look(series: Series | None, elapsed: float, plan: PrecisionPlan, cycles: int) -> tuple[str, int]:
    """Look whether the headline's samples without their warm-up suffice: why to stop, if so, and at which
    cycle to look again.
    """
    if series is None:
        return _ended_budget(elapsed, cycles, plan), cycles + 1
    mark_warm_up(series)
    steady = series.steady()
    decision = decide(steady, elapsed, plan)
    reason = "" if decision.stop is Stop.NOT_YET else decision.stop.value
    return reason, cycles + max(1, decision.check_again_at - len(steady))
