"""The Theil-Sen slope of a series with its confidence interval, for leaks in a soak run.

scipy assumes independent values. The memory of a garbage-collected process is autocorrelated, so the interval
is widened (Hamed and Rao, "A Modified Mann-Kendall Trend Test for Autocorrelated Data", 1998).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, rankdata, theilslopes

from critests.statistics.autocorrelation import batch_medians
from critests.statistics.quantiles import Interval

_MOST_POINTS = 300
"""Longer series are first thinned to medians of neighbours, because the number of slopes grows with the
square of the number of points.
"""
FEWEST_POINTS = 6
"""With fewer points there is no 99 % interval."""
_CONFIDENCE = 0.99
_SIGNIFICANT_LAG = 1.96  # 95 % of the correlations of white noise are within 1.96 / sqrt(size)


@dataclass(frozen=True, slots=True)
class Trend:
    """The slope of a series, in the unit of the values per unit of the positions, with its 99 % interval."""

    slope: float
    interval: Interval

    @property
    def grows(self) -> bool:
        """Whether the whole interval lies above 0: evidence of a leak."""
        return self.interval.low > 0


def trend(positions: Sequence[float], values: Sequence[float]) -> Trend:
    """Return the Theil-Sen slope of values over positions (time, or number of cycles).

    Args:
        positions: ascending, as many as values.
        values: the values that may grow.

    Raises:
        ValueError: the two differ in number, or there are fewer than six.
    """
    if len(values) < FEWEST_POINTS:
        msg = f"a trend needs at least {FEWEST_POINTS} values, not {len(values)}"
        raise ValueError(msg)
    at, heights = np.asarray(positions, dtype=float), np.asarray(values, dtype=float)
    if len(heights) > _MOST_POINTS:
        at, heights = batch_medians(positions, _MOST_POINTS), batch_medians(values, _MOST_POINTS)
    wide = norm.ppf((1 + _CONFIDENCE) / 2) * math.sqrt(_widening(heights))
    found = theilslopes(heights, at, alpha=2 * norm.sf(wide))  # scipy takes 0.01 and 0.99 for the same
    return Trend(float(found.slope), Interval(float(found.low_slope), float(found.high_slope), _CONFIDENCE))


def _widening(values: NDArray[np.float64]) -> float:
    """Return the factor by which autocorrelation of the detrended ranks increases the variance of Kendall's
    score; at least 1.
    """
    size, index = len(values), np.arange(len(values))
    ranks = rankdata(values - theilslopes(values, index).slope * index)
    centred = ranks - ranks.mean()
    spread = centred @ centred
    total = 0.0
    for lag in range(1, size // 4 + 1):
        correlation = centred[:-lag] @ centred[lag:] / spread if spread else 0.0
        if correlation <= _SIGNIFICANT_LAG / math.sqrt(size):
            # stop at the first lag without significant correlation: later ones are chance or periodic
            break
        total += (size - lag) * (size - lag - 1) * (size - lag - 2) * correlation
    return 1 + 2 * total / (size * (size - 1) * (size - 2))
