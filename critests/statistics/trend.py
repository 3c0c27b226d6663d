"""Does a series grow, and how fast? Theil-Sen slope with its interval and the Mann-Kendall test, for leaks in
a soak run.

Sources: Sen, "Estimates of the Regression Coefficient Based on Kendall's Tau" (1968); Mann (1945) and Kendall
(1975) for the test; Hamed and Rao, "A Modified Mann-Kendall Trend Test for Autocorrelated Data" (1998) for
series whose neighbours resemble each other, as memory under a garbage collector does.
"""

import math
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from critests.statistics.autocorrelation import batch_medians
from critests.statistics.distributions import NORMAL
from critests.statistics.quantiles import Interval
from critests.statistics.shifts import doubled_midranks

_MOST_POINTS = 300
"""Longer series are first thinned to medians of neighbours: the slopes grow with the square of the number of
points.
"""
_FEWEST_POINTS = 4
_SIGNIFICANT_LAG = 1.96


@dataclass(frozen=True, slots=True)
class Kendall:
    """The result of a Mann-Kendall test."""

    score: int
    """How many more pairs ascend than descend."""
    deviation: float
    """The standard deviation of the score without a trend, widened for autocorrelation."""
    p_value: float
    """Two-sided."""


@dataclass(frozen=True, slots=True)
class Trend:
    """The slope of a series."""

    slope: float
    """In the unit of the values per unit of the positions."""
    interval: Interval | None
    """None where there are too few points for the confidence asked for."""
    p_value: float
    """Two-sided, of the Mann-Kendall test."""
    points: int
    """How many points the slope was computed from, after thinning."""

    @property
    def grows(self) -> bool:
        """Whether the whole interval lies above 0: evidence of a leak."""
        return self.interval is not None and self.interval.low > 0


def mann_kendall(values: Sequence[float], *, autocorrelated: bool = True) -> Kendall:
    """Test a series for a monotonic trend.

    Args:
        values: in the order of time.
        autocorrelated: widen the deviation for autocorrelation of the ranks around the trend (Hamed and Rao).

    Raises:
        ValueError: there are fewer than four values.
    """
    count = len(values)
    if count < _FEWEST_POINTS:
        msg = f"a trend needs at least {_FEWEST_POINTS} values, not {count}"
        raise ValueError(msg)
    score, seen = 0, list[float]()
    for value in values:
        score += bisect_left(seen, value) - (len(seen) - bisect_right(seen, value))
        insort(seen, value)
    ties = sum(size * (size - 1) * (2 * size + 5) for size in Counter(values).values())
    variance = (count * (count - 1) * (2 * count + 5) - ties) / 18
    if autocorrelated:
        variance *= _widening(values)
    deviation = math.sqrt(variance)
    standard = (abs(score) - 1) / deviation if score and deviation else 0.0
    return Kendall(score, deviation, min(1.0, 2 * (1 - NORMAL.cdf(standard))))


def trend(
    positions: Sequence[float],
    values: Sequence[float],
    *,
    confidence: float = 0.99,
    autocorrelated: bool = True,
) -> Trend:
    """Return the Theil-Sen slope of values over positions (time, or cycles done).

    Args:
        positions: ascending, as many as values.
        values: what may grow.
        confidence: of the interval.
        autocorrelated: widen interval and test for neighbours that resemble each other.

    Raises:
        ValueError: the two differ in number, positions do not ascend strictly, or there are fewer than four.
    """
    if len(positions) != len(values) or any(left >= right for left, right in pairwise(positions)):
        msg = "a trend needs as many positions as values, and positions that ascend"
        raise ValueError(msg)
    if len(values) > _MOST_POINTS:
        positions, values = batch_medians(positions, _MOST_POINTS), batch_medians(values, _MOST_POINTS)
    test = mann_kendall(values, autocorrelated=autocorrelated)
    count = len(values)
    slopes = sorted(
        (values[second] - values[first]) / (positions[second] - positions[first])
        for first in range(count)
        for second in range(first + 1, count)
    )
    return Trend(median(slopes), _interval(slopes, test.deviation, confidence), test.p_value, count)


def _interval(slopes: Sequence[float], deviation: float, confidence: float) -> Interval | None:
    reach = NORMAL.inv_cdf((1 + confidence) / 2) * deviation
    lower = round((len(slopes) - reach) / 2)
    upper = round((len(slopes) + reach) / 2)
    if lower < 1 or upper >= len(slopes):
        return None
    return Interval(slopes[lower - 1], slopes[upper], confidence)


def _widening(values: Sequence[float]) -> float:
    """By how much autocorrelation of the ranks, with the trend taken out, widens the variance of the score;
    at least 1.
    """
    count = len(values)
    thinned = values if count <= _MOST_POINTS else batch_medians(values, _MOST_POINTS)
    size = len(thinned)
    slope = median(
        (thinned[second] - thinned[first]) / (second - first)
        for first in range(size)
        for second in range(first + 1, size)
    )
    ranks = doubled_midranks([value - slope * index for index, value in enumerate(thinned)])
    centred = [rank - (size + 1) for rank in ranks]
    spread = sum(value * value for value in centred)
    if spread == 0:
        return 1.0
    total = 0.0
    for lag in range(1, size // 4 + 1):
        correlation = sum(left * right for left, right in zip(centred, centred[lag:], strict=False)) / spread
        if correlation <= _SIGNIFICANT_LAG / math.sqrt(size):
            # the first lag without a significant correlation ends the memory; later ones are chance or a
            # period
            break
        total += (size - lag) * (size - lag - 1) * (size - lag - 2) * correlation
    return 1 + 2 * total / (size * (size - 1) * (size - 2))
