"""When to stop sampling: once the chosen quantile is known sharply enough, or when the budget ends; and which
of the two it was.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum, unique

from critests.statistics.autocorrelation import inefficiency
from critests.statistics.quantiles import (
    Interval,
    half_width,
    interval_of_sorted,
    quantile_of_sorted,
    samples_needed,
)


@unique
class Stop(StrEnum):
    """Why sampling ends, or that it goes on."""

    NOT_YET = "not yet"
    SHARP = "the confidence interval is narrow enough"
    OUT_OF_TIME = "the time budget ended"
    OUT_OF_SAMPLES = "the sample budget ended"


@dataclass(frozen=True, slots=True)
class Plan:
    """How sharp an answer is wanted, and what it may cost."""

    seconds: float
    """The time budget, by the caller's clock."""
    quantile: float = 0.5
    relative_half_width: float = 0.02
    """Half of the interval's width as a share of the quantile: 2 % is usual for the median, 10 % for p99."""
    confidence: float = 0.95
    most_samples: int = 100_000

    def __post_init__(self) -> None:
        if self.seconds < 0 or self.most_samples < 1 or self.relative_half_width <= 0:
            msg = f"a plan has a time of at least 0, at least one sample and a width above 0: {self}"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Decision:
    """What the samples so far allow."""

    stop: Stop
    estimate: float | None
    """The quantile, in the unit of the samples; None where the samples do not support it."""
    interval: Interval | None
    check_again_at: int
    """The number of samples at which asking again is worth its cost; the time budget is to be watched
    meanwhile.
    """


def decide(samples: Sequence[float], elapsed: float, plan: Plan) -> Decision:
    """Decide whether to go on sampling.

    The interval allows for neighbouring samples that depend on each other. It is asked for at growing numbers
    of samples only (`check_again_at`): stopping at the first lucky look would make intervals cover less than
    they say.

    Args:
        samples: in the order in which they were taken, without the warm-up.
        elapsed: seconds of the time budget used.
        plan: the target and the budget.
    """
    count = len(samples)
    needed = samples_needed(plan.quantile, confidence=plan.confidence)
    estimate, interval, width = None, None, math.inf
    if count >= needed:
        ordered = sorted(samples)
        worth = inefficiency(samples, plan.quantile)
        estimate = quantile_of_sorted(ordered, plan.quantile)
        interval = interval_of_sorted(ordered, plan.quantile, confidence=plan.confidence, inefficiency=worth)
        if interval is not None and count / worth >= needed:
            width = half_width(estimate, interval)
    return Decision(
        _stop(count, elapsed, width, plan), estimate, interval, _next_check(count, needed, width, plan)
    )


def collect(
    draw: Callable[[], float], plan: Plan, *, clock: Callable[[], float] = time.monotonic
) -> tuple[list[float], Decision]:
    """Draw samples until `decide` says stop; at least one is drawn. The time that `draw` takes counts against
    the budget.
    """
    samples: list[float] = []
    start, check_at = clock(), 0
    while True:
        samples.append(draw())
        elapsed = clock() - start
        if len(samples) >= check_at or elapsed >= plan.seconds:
            decision = decide(samples, elapsed, plan)
            if decision.stop is not Stop.NOT_YET:
                return samples, decision
            check_at = decision.check_again_at


def _stop(count: int, elapsed: float, width: float, plan: Plan) -> Stop:
    if width <= plan.relative_half_width:
        return Stop.SHARP
    if elapsed >= plan.seconds:
        return Stop.OUT_OF_TIME
    if count >= plan.most_samples:
        return Stop.OUT_OF_SAMPLES
    return Stop.NOT_YET


def _next_check(count: int, needed: int, width: float, plan: Plan) -> int:
    """Between a tenth more and twice as many samples, depending on how far the width is from the target;
    never past the budget.
    """
    if count < needed:
        return min(needed, plan.most_samples)
    predicted = math.inf if math.isinf(width) else count * (width / plan.relative_half_width) ** 2
    return min(
        plan.most_samples, max(count + 1, math.ceil(count * 1.1), math.ceil(min(predicted, 2 * count)))
    )
