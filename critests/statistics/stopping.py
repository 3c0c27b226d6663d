"""The stopping rules of sampling: a narrow enough confidence interval, or the end of the budget.

Two sides are sampled until the interval of their ratio is narrow. The rule looks at the sizes of the
differences within blocks and never at their signs. The order of the sides within a block is random, so
between equal sides every sign is equally likely whatever the sizes, and the signed-rank and sign-flip tests
at the end stay exact whenever the rule stops: they are conditional on the sizes (Hollander and Wolfe,
"Nonparametric Statistical Methods", section 3.1). A rule that stops at the first significant difference would
find one between equals sooner or later. The coverage of the interval itself is exact only as its width
shrinks (Chow and Robbins 1965; for the signed-rank interval Geertsema 1970, "Sequential confidence intervals
based on rank tests").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from statistics import quantiles

from critests.statistics.autocorrelation import inefficiency
from critests.statistics.comparison import Block
from critests.statistics.quantiles import quantile, quantile_interval, samples_needed

FEWEST_BLOCKS = 16
"""Blocks before the first look: 13 blocks can prove a difference among 13 operations."""
LOOK_GROWTH = 1.25
"""Factor between the numbers of blocks at two looks."""
NARROW = 0.03
"""Half of the interval's width, as a logarithm: about 3 % to both sides."""
_DEVIATION = 1.2
"""Standard deviation of normal differences around 0, as a multiple of the interquartile range of their sizes;
for differences far from 0 it is 0.74, and the estimate is on the safe side.
"""
_NORMAL_95 = 1.96


@unique
class Stop(StrEnum):
    """Why sampling ends, or that it continues."""

    NOT_YET = "not yet"
    PRECISE = "the confidence interval is narrow enough"
    OUT_OF_TIME = "the time budget ended"
    OUT_OF_SAMPLES = "the sample budget ended"


@dataclass(frozen=True, slots=True)
class PrecisionPlan:
    """The wanted precision, and the budget."""

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
    """The decision after the samples so far."""

    stop: Stop
    check_again_at: int
    """The number of samples at which to decide again; the caller checks the time budget in between."""


def next_look(blocks: int) -> int:
    """Return the number of blocks at the look after the one at so many blocks."""
    return max(FEWEST_BLOCKS, math.ceil(blocks * LOOK_GROWTH))


def narrow_ratio(blocks: Sequence[Block]) -> bool:
    """Return whether the 95 % interval of the ratio of both sides' medians is narrow, by the sizes of the
    differences alone: exchanging the sides of any block changes nothing.
    """
    pairs = [(quantile(block.a, 0.5), quantile(block.b, 0.5)) for block in blocks if block.a and block.b]
    if len(pairs) < FEWEST_BLOCKS or any(value <= 0 for pair in pairs for value in pair):
        return False
    first, _, third = quantiles([abs(math.log(b / a)) for a, b in pairs], n=4)
    return _NORMAL_95 * _DEVIATION * (third - first) / math.sqrt(len(pairs)) <= NARROW


def decide(samples: Sequence[float], elapsed: float, plan: PrecisionPlan) -> StopDecision:
    """Decide whether to continue sampling.

    The interval accounts for autocorrelation. It is computed only at growing numbers of samples
    (`check_again_at`): stopping at the first narrow interval would reduce its coverage.

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
    """Return half of the interval's width as a share of the quantile; infinite with too few independent
    samples.
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
        return Stop.PRECISE
    if elapsed >= plan.seconds:
        return Stop.OUT_OF_TIME
    if count >= plan.most_samples:
        return Stop.OUT_OF_SAMPLES
    return Stop.NOT_YET


def _next_check(count: int, needed: int, width: float, plan: PrecisionPlan) -> int:
    """Return the next number of samples to check at: between 1.1 and 2 times as many, by the distance of the
    width from the target; at most the budget.
    """
    if count < needed:
        return min(needed, plan.most_samples)
    predicted = math.inf if math.isinf(width) else count * (width / plan.relative_half_width) ** 2
    return min(
        plan.most_samples, max(count + 1, math.ceil(count * 1.1), math.ceil(min(predicted, 2 * count)))
    )
