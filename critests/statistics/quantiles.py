"""Quantiles of samples, their distribution-free confidence intervals, and the samples that a quantile
needs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

_BEYOND = 10
"""A tail quantile is supported when at least this many samples are expected beyond it: 1,000 for p99, 10,000
for p99.9.
"""
_CENTRAL = 0.25
"""Between this quantile and its mirror image the tail rule does not apply; the confidence interval must
exist.
"""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval, in the unit of the estimate."""

    low: float
    high: float
    confidence: float
    """The least probability with which such an interval covers the true value."""

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def quantile(samples: Sequence[float] | NDArray[np.float64], at: float) -> float:
    """Return the quantile, linear between order statistics.

    Args:
        samples: in any order, at least one.
        at: 0 for the minimum, 0.5 for the median, 1 for the maximum.

    Raises:
        ValueError: there is no sample, or `at` is outside 0 and 1.
    """
    if not len(samples):
        msg = "a quantile needs at least one sample"
        raise ValueError(msg)
    return float(np.quantile(samples, at))


def quantile_interval(
    samples: Sequence[float], at: float, *, confidence: float = 0.95, inefficiency: float = 1.0
) -> Interval | None:
    """Return an interval between two order statistics that covers the true quantile, whatever the
    distribution (David and Nagaraja, "Order Statistics", 7.1).

    Args:
        samples: in any order.
        at: the quantile, between 0 and 1 (exclusive).
        confidence: the least coverage.
        inefficiency: number of these samples that are worth one independent one (see
            `autocorrelation.inefficiency`).

    Returns:
        The interval with its achieved coverage, or None if there are too few samples.
    """
    independent = int(len(samples) / inefficiency)
    if independent < 1:
        return None
    tail = (1 - confidence) / 2
    # ranks, counted from 1, of the order statistics of the same number of independent samples
    lower = int(binom.ppf(tail, independent, at))
    lower += binom.cdf(lower, independent, at) <= tail
    upper = int(binom.ppf(1 - tail, independent, at)) + 1
    if lower < 1 or upper > independent:
        return None
    ordered = np.sort(samples)
    stretch = len(ordered) / independent
    first = max(1, math.floor(lower * stretch))
    last = min(len(ordered), math.ceil((upper - 1) * stretch) + 1)
    covered = binom.cdf(upper - 1, independent, at) - binom.cdf(lower - 1, independent, at)
    return Interval(float(ordered[first - 1]), float(ordered[last - 1]), float(covered))


def samples_needed(at: float, *, confidence: float = 0.95) -> int:
    """Return the smallest number of independent samples that supports a quantile.

    Its confidence interval must exist, and outside the middle half of the distribution ten samples must be
    expected beyond it. At the default confidence the median needs 6, p90 100, p99 1,000 and p99.9 10,000.
    """
    tail = min(at, 1 - at)
    # the interval exists if the smallest and the largest sample probably lie on both sides of the quantile
    for_interval = math.ceil(math.log((1 - confidence) / 2) / math.log(1 - tail) - 1e-9)
    for_tail = 0 if tail >= _CENTRAL else math.ceil(_BEYOND / tail - 1e-6)
    return max(for_interval, for_tail, 2)


def supports(count: int, at: float, *, confidence: float = 0.95) -> bool:
    """Return whether `count` independent samples are enough to report a quantile."""
    return count >= samples_needed(at, confidence=confidence)
