"""Autocorrelation of a series, and the number of independent samples that it is worth."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.signal import correlate

_WINDOW = 5
"""Correlations are added up to a lag of this many times their sum (Sokal's rule)."""


def inefficiency(samples: Sequence[float], at: float) -> float:
    """Return how many samples of this series, in the order in which they were taken, are worth one
    independent sample for the estimate of a quantile.

    The integrated autocorrelation time of the indicator "at or below the quantile" (Heidelberger and Lewis,
    "Quantile Estimation in Dependent Sequences", 1984), summed over Sokal's automatic window ("Monte Carlo
    Methods in Statistical Mechanics", 1997).

    Returns:
        At least 1; 1 for a series that is too short (below 20) or too uniform for an estimate.
    """
    count = len(samples)
    if count < 20:
        return 1.0
    below = np.asarray(samples) <= np.quantile(samples, at)
    if below.all() or not below.any():
        return 1.0
    centred = below - below.mean()
    products = correlate(centred, centred)[count - 1 : count - 1 + count // 2]
    times = 2 * np.cumsum(products / products[0]) - 1
    ends = np.arange(len(times)) >= _WINDOW * times
    ends[0], ends[-1] = False, True
    return max(1.0, float(times[np.argmax(ends)]))


def batches(samples: Sequence[float], count: int) -> list[NDArray[np.float64]]:
    """Return the samples in `count` batches of neighbours whose sizes differ by at most one."""
    return np.split(np.asarray(samples), np.arange(1, count) * len(samples) // count)


def batch_medians(samples: Sequence[float], count: int) -> NDArray[np.float64]:
    """Return the median of each of `count` batches."""
    return np.array([np.median(batch) for batch in batches(samples, count)])
