"""Where the warm-up of a series ends, and whether what follows is steady.

MSER-5 (White, Cobb and Spratt, "A Comparison of Five Steady-State Truncation Heuristics", 2000) proposes the
cut, on medians instead of means of five so that one slow call does not move it. Pettitt's test ("A
Non-Parametric Approach to the Change-Point Problem", 1979) on the rest decides whether a level change is
left; a change in the first half moves the cut there, a later one means that the series never became steady.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, unique

import numpy as np
from scipy.stats import rankdata

from critests.statistics.autocorrelation import batch_medians

_BATCH = 5
_FEWEST = 40
_GROUPS = 40
_FEWEST_GROUPS = 10
"""Pettitt's test cannot reach its significance with fewer."""
_SIGNIFICANCE = 0.01
_TOLERANCE = 0.05
"""Level changes up to this share of the level do not matter."""
_LATEST = 0.45
"""A warm-up that ends later than at this share of the series may as well not have ended: a growing series is
best cut as late as can be.
"""


@unique
class Steadiness(StrEnum):
    """What is known about the end of the warm-up."""

    STEADY = "steady"
    NEVER_STEADY = "never steady"
    """The level still changed in the second half of the series."""
    TOO_SHORT = "too short to tell"


@dataclass(frozen=True, slots=True)
class WarmUp:
    """The part of a series to leave out."""

    samples: int
    """How many samples at the start belong to the warm-up; 0 where its end is not known."""
    steadiness: Steadiness


def warm_up(samples: Sequence[float]) -> WarmUp:
    """Find the end of the warm-up; of samples in the order in which they were taken, at least 40 to tell
    anything.
    """
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
    """The first sample of a new level, as exactly as groups of neighbours allow, by Pettitt's test on their
    medians; 0 where there is no evidence of one that matters.
    """
    groups = min(_GROUPS, len(samples) // 2)
    if groups < _FEWEST_GROUPS:
        return 0
    ranks = rankdata(batch_medians(samples, groups))
    distances = np.abs(np.cumsum(2 * ranks - (groups + 1))[:-1])
    if 2 * math.exp(-6 * distances.max() ** 2 / (groups**3 + groups**2)) > _SIGNIFICANCE:
        return 0
    index = len(samples) * int(distances.argmax() + 1) // groups
    before, after = np.median(samples[:index]), np.median(samples[index:])
    return index if abs(after - before) > _TOLERANCE * min(abs(before), abs(after)) else 0


def _mser(samples: Sequence[float]) -> int:
    """The number of leading samples, at most half, without which the mean of the rest is known best."""
    levels = batch_medians(samples, len(samples) // _BATCH)
    backwards, kept = (levels - np.median(levels))[::-1], np.arange(1, len(levels) + 1)
    variances = np.cumsum(backwards**2) / kept - (np.cumsum(backwards) / kept) ** 2
    # shorter rests are judged by chance (their spread may be small by luck): never more than half is cut
    errors = (variances / kept)[::-1][: len(levels) // 2 + 1]
    return len(samples) * int(errors.argmin()) // len(levels)
