"""Quantiles of samples, their distribution-free confidence intervals, and how many samples a quantile needs.

Sources: type 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages" (1996); the order-statistic
interval of David and Nagaraja, "Order Statistics", 7.1.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from critests.statistics.distributions import binomial_cdf, binomial_quantile

STANDARD_QUANTILES = (0.1, 0.5, 0.9, 0.95, 0.99, 0.999)
"""The quantiles that a report shows where the number of samples supports them."""
_BEYOND = 10
"""A tail quantile is supported when at least this many samples are expected beyond it: 1,000 for p99, 10,000
for p99.9.
"""
_CENTRAL = 0.25
"""From this quantile to its mirror image the tail rule does not apply; the confidence interval must exist."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval; its unit is that of what was estimated."""

    low: float
    high: float
    confidence: float
    """The probability, at least, with which such an interval covers the true value."""

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def quantile(samples: Iterable[float], at: float) -> float:
    """Return the type-7 quantile (linear between order statistics, as numpy and R have it by default).

    Args:
        samples: in any order, at least one.
        at: 0 for the minimum, 0.5 for the median, 1 for the maximum.

    Raises:
        ValueError: there is no sample, or `at` is outside 0 and 1.
    """
    return quantile_of_sorted(sorted(samples), at)


def quantile_of_sorted(ordered: Sequence[float], at: float) -> float:
    """Return the type-7 quantile of samples that are sorted already. Raises ValueError as `quantile` does."""
    if not ordered:
        msg = "a quantile needs at least one sample"
        raise ValueError(msg)
    if not 0 <= at <= 1:
        msg = f"a quantile lies between 0 and 1, not at {at}"
        raise ValueError(msg)
    position = at * (len(ordered) - 1)
    below = math.floor(position)
    if below + 1 >= len(ordered):
        return ordered[-1]
    return ordered[below] + (position - below) * (ordered[below + 1] - ordered[below])


def quantile_interval(
    samples: Iterable[float], at: float, *, confidence: float = 0.95, inefficiency: float = 1.0
) -> Interval | None:
    """Return an interval between two order statistics that covers the true quantile, whatever the
    distribution.

    Args:
        samples: in any order.
        at: the quantile, between 0 and 1 (exclusive).
        confidence: the least coverage wanted.
        inefficiency: how many of these samples are worth one independent one (see
            `autocorrelation.inefficiency`).

    Returns:
        The interval with its achieved coverage, or None where so few samples have none.

    Raises:
        ValueError: `at` or `confidence` is not strictly between 0 and 1, or the inefficiency is below 1.
    """
    return interval_of_sorted(sorted(samples), at, confidence=confidence, inefficiency=inefficiency)


def interval_of_sorted(
    ordered: Sequence[float], at: float, *, confidence: float = 0.95, inefficiency: float = 1.0
) -> Interval | None:
    """Return `quantile_interval` of samples that are sorted already."""
    _check_open(at, "quantile")
    _check_open(confidence, "confidence")
    if inefficiency < 1:
        msg = f"an inefficiency is at least 1, not {inefficiency}"
        raise ValueError(msg)
    independent = int(len(ordered) / inefficiency)
    ranks = _ranks(independent, at, confidence)
    if ranks is None:
        return None
    lower, upper, achieved = ranks
    stretch = len(ordered) / independent
    first = max(1, math.floor(lower * stretch))
    last = min(len(ordered), math.ceil((upper - 1) * stretch) + 1)
    return Interval(ordered[first - 1], ordered[last - 1], achieved)


def samples_needed(at: float, *, confidence: float = 0.95) -> int:
    """Return the smallest number of independent samples that supports a quantile.

    Its confidence interval exists, and outside the middle half of the distribution ten samples are expected
    beyond it. The median needs 6, p90 100, p99 1,000 and p99.9 10,000 at the usual confidence.
    """
    _check_open(at, "quantile")
    _check_open(confidence, "confidence")
    tail = min(at, 1 - at)
    # the interval exists when neither the smallest nor the largest sample is likely to be on the wrong side
    # of the quantile
    for_interval = math.ceil(math.log((1 - confidence) / 2) / math.log(1 - tail) - 1e-9)
    for_tail = 0 if tail >= _CENTRAL else math.ceil(_BEYOND / tail - 1e-6)
    return max(for_interval, for_tail, 2)


def supports(count: int, at: float, *, confidence: float = 0.95) -> bool:
    """Return whether `count` independent samples are enough to state a quantile."""
    return count >= samples_needed(at, confidence=confidence)


def supported_quantiles(
    count: int, wanted: Sequence[float] = STANDARD_QUANTILES, *, confidence: float = 0.95
) -> tuple[float, ...]:
    """Return those of the wanted quantiles that `count` independent samples support."""
    return tuple(at for at in wanted if supports(count, at, confidence=confidence))


def half_width(estimate: float, interval: Interval) -> float:
    """Return half of the interval's width as a share of the estimate; infinite for an estimate of 0 with a
    wide interval.
    """
    width = (interval.high - interval.low) / 2
    if width == 0:
        return 0.0
    return width / abs(estimate) if estimate else math.inf


def _ranks(count: int, at: float, confidence: float) -> tuple[int, int, float] | None:
    """The 1-based ranks of the order statistics, and the coverage P(lower <= Binomial(count, at) < upper)."""
    tail = (1 - confidence) / 2
    if count < 1:
        return None
    lower = binomial_quantile(tail, count, at)
    if binomial_cdf(lower, count, at) <= tail:
        lower += 1
    upper = binomial_quantile(1 - tail, count, at) + 1
    if lower < 1 or upper > count:
        return None
    return lower, upper, binomial_cdf(upper - 1, count, at) - binomial_cdf(lower - 1, count, at)


def _check_open(value: float, what: str) -> None:
    if not 0 < value < 1:
        msg = f"a {what} lies strictly between 0 and 1, not at {value}"
        raise ValueError(msg)
