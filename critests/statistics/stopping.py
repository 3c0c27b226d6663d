"""When to stop sampling: once the chosen quantile is known sharply enough, or when the budget ends; and which
of the two it was.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, unique

from critests.statistics.autocorrelation import inefficiency
from critests.statistics.quantiles import quantile, quantile_interval, samples_needed


@unique
class Stop(StrEnum):
    """Why sampling ends, or that it goes on."""

    NOT_YET = "not yet"
    SHARP = "the confidence interval is narrow enough"
    OUT_OF_TIME = "the time budget ended"
    OUT_OF_SAMPLES = "the sample budget ended"


@dataclass(frozen=True, slots=True)
class PrecisionPlan:
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
class StopDecision:
    """What the samples so far allow."""

    stop: Stop
    check_again_at: int
    """The number of samples at which asking again is worth its cost; the time budget is to be watched
    meanwhile.
    """


def decide(samples: Sequence[float], elapsed: float, plan: PrecisionPlan) -> StopDecision:
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
    width = _width(samples, plan) if count >= needed else math.inf
    return StopDecision(_stop(count, elapsed, width, plan), _next_check(count, needed, width, plan))


def _width(samples: Sequence[float], plan: PrecisionPlan) -> float:
    """Half of the interval's width as a share of the quantile; infinite where the samples are worth too few
    independent ones.
    """
    worth = inefficiency(samples, plan.quantile)
    bounds = quantile_interval(samples, plan.quantile, confidence=plan.confidence, inefficiency=worth)
    if bounds is None or len(samples) / worth < samples_needed(plan.quantile, confidence=plan.confidence):
        return math.inf
    width, middle = (bounds.high - bounds.low) / 2, quantile(samples, plan.quantile)
    if width == 0:
        return 0.0
    return width / abs(middle) if middle else math.inf


def _stop(count: int, elapsed: float, width: float, plan: PrecisionPlan) -> Stop:
    if width <= plan.relative_half_width:
        return Stop.SHARP
    if elapsed >= plan.seconds:
        return Stop.OUT_OF_TIME
    if count >= plan.most_samples:
        return Stop.OUT_OF_SAMPLES
    return Stop.NOT_YET


def _next_check(count: int, needed: int, width: float, plan: PrecisionPlan) -> int:
    """Between a tenth more and twice as many samples, depending on how far the width is from the target;
    never past the budget.
    """
    if count < needed:
        return min(needed, plan.most_samples)
    predicted = math.inf if math.isinf(width) else count * (width / plan.relative_half_width) ** 2
    return min(
        plan.most_samples, max(count + 1, math.ceil(count * 1.1), math.ceil(min(predicted, 2 * count)))
    )
