"""How much the samples of a series tell about each other, and so how few independent samples they are
worth.
"""

from collections.abc import Sequence
from operator import mul
from statistics import fmean, median
from typing import TypeVar

from critests.statistics.quantiles import quantile

T = TypeVar("T")
_MOST = 2000
"""Longer series are first shortened to at most this number of sums of neighbours, which bounds the work."""
_WINDOW = 5
"""Correlations are added up to a lag of this many times their sum (Sokal's rule)."""


def inefficiency(samples: Sequence[float], at: float) -> float:
    """Return how many samples of this series, in the order they were taken, are worth one independent one for
    a quantile.

    The integrated autocorrelation time of the indicator "at or below the quantile" (Heidelberger and Lewis,
    "Quantile Estimation in Dependent Sequences", 1984), summed over Sokal's automatic window ("Monte Carlo
    Methods in Statistical Mechanics", 1997).

    Returns:
        At least 1; 1 for a series too short (below 20) or too uniform to tell.
    """
    if len(samples) < 20:
        return 1.0
    threshold = quantile(samples, at)
    below = [float(value <= threshold) for value in samples]
    share = fmean(below)
    if share in {0.0, 1.0}:
        return 1.0
    count = min(len(below), _MOST)
    means = [fmean(batch) - share for batch in batches(below, count)]
    variance = sum(value * value for value in means) / count
    if variance == 0:
        return 1.0
    within = variance * (len(below) / count) / (share * (1 - share))
    time = 1.0
    for lag in range(1, count // 2):
        time += 2 * sum(map(mul, means, means[lag:])) / (count * variance)
        if lag >= _WINDOW * time:
            break
    return max(1.0, within * time)


def batches(samples: Sequence[T], count: int) -> list[Sequence[T]]:
    """Return the samples in `count` runs of neighbours whose sizes differ by at most one.

    Raises:
        ValueError: there are fewer samples than batches, or no batch is asked for.
    """
    if not 1 <= count <= len(samples):
        msg = f"{len(samples)} samples cannot be put into {count} batches"
        raise ValueError(msg)
    edges = [len(samples) * number // count for number in range(count + 1)]
    return [samples[edges[number] : edges[number + 1]] for number in range(count)]


def batch_medians(samples: Sequence[float], count: int) -> list[float]:
    """Return the median of each batch. Raises ValueError as `batches` does."""
    return [median(batch) for batch in batches(samples, count)]
