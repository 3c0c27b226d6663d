"""The end of the warm-up of a series, and whether the rest is steady.

MSER-5 (White, Cobb and Spratt, "A Comparison of Five Steady-State Truncation Heuristics", 2000) proposes the
cut, on medians instead of means of five, so that one slow call does not move it. Pettitt's test ("A
Non-Parametric Approach to the Change-Point Problem", 1979) on the rest decides whether a level change
remains; a change in the first half moves the cut there, a later one means that the series is never steady.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, unique

import numpy as np
from scipy.stats import rankdata

from critests.statistics.autocorrelation import batch_medians

_BATCH = 5  # of MSER-5
_FEWEST = 40
_GROUPS = 40
_FEWEST_GROUPS = 10
"""With fewer, Pettitt's test cannot become significant."""
_SIGNIFICANCE = 0.01
_TOLERANCE = 0.05
"""Level changes up to this share of the level are ignored."""
_LATEST = 0.45
"""A warm-up that ends after this share of the series counts as not ended: in a growing series the best cut is
always the latest possible one.
"""


@unique
class Steadiness(StrEnum):
    """Whether the series is steady after the warm-up."""

    STEADY = "steady"
    NEVER_STEADY = "never steady"
    """The level still changed in the second half of the series."""
    TOO_SHORT = "too short to tell"


@dataclass(frozen=True, slots=True)
class WarmUp:
    """The part of a series to leave out."""

    samples: int
    """Number of warm-up samples at the start; 0 if the end of the warm-up is unknown."""
    steadiness: Steadiness


def warm_up(samples: Sequence[float]) -> WarmUp:
    """Find the end of the warm-up of samples in the order in which they were taken; needs at least 40."""
    if len(samples) < _FEWEST:
        return WarmUp(0, Steadiness.TOO_SHORT)
    latest = int(_LATEST * len(samples))
    cut = _mser(samples)
    while cut <= latest:
        change = _level_change(samples[cut:])
        if change == 0:
            return WarmUp(cut, Steadiness.STEADY)
        cut += change
    return WarmUp(0, Steadiness.NEVER_STEADY)


def _level_change(samples: Sequence[float]) -> int:
    """Return the first sample of a new level, by Pettitt's test on the medians of groups of neighbours; 0
    without evidence of a relevant change.
    """
    groups = min(_GROUPS, len(samples) // 2)
    if groups < _FEWEST_GROUPS:
        return 0
    ranks = rankdata(batch_medians(samples, groups))
    distances = np.abs(np.cumsum(2 * ranks - (groups + 1))[:-1])
    # Pettitt's approximation of the p-value
    if 2 * math.exp(-6 * distances.max() ** 2 / (groups**3 + groups**2)) > _SIGNIFICANCE:
        return 0
    index = len(samples) * int(distances.argmax() + 1) // groups
    before, after = np.median(samples[:index]), np.median(samples[index:])
    return index if abs(after - before) > _TOLERANCE * min(abs(before), abs(after)) else 0


def _mser(samples: Sequence[float]) -> int:
    """Return the number of leading samples, at most half, without which the standard error of the rest is
    least.
    """
    levels = batch_medians(samples, len(samples) // _BATCH)
    backwards, counts = (levels - np.median(levels))[::-1], np.arange(1, len(levels) + 1)
    variances = np.cumsum(backwards**2) / counts - (np.cumsum(backwards) / counts) ** 2
    # at most half is cut: the spread of a short rest may be small by chance
    errors = (variances / counts)[::-1][: len(levels) // 2 + 1]
    return len(samples) * int(errors.argmin()) // len(levels)
