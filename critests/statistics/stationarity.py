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
from statistics import median

from critests.statistics.autocorrelation import batch_medians
from critests.statistics.shifts import doubled_midranks

_BATCH = 5
_FEWEST = 40
_GROUPS = 40
_SIGNIFICANCE = 0.01
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
    """How many samples at the start belong to the warm-up; 0 where that could not be told."""
    steadiness: Steadiness
    reason: str
    """One sentence without a full stop."""


def warm_up(samples: Sequence[float], *, tolerance: float = 0.05) -> WarmUp:
    """Find the end of the warm-up.

    Args:
        samples: in the order in which they were taken, at least 40 to tell anything.
        tolerance: level changes up to this share of the level do not matter.

    Raises:
        ValueError: the tolerance is negative.
    """
    if tolerance < 0:
        msg = f"a tolerance is at least 0, not {tolerance}"
        raise ValueError(msg)
    if len(samples) < _FEWEST:
        return WarmUp(0, Steadiness.TOO_SHORT, f"{len(samples)} samples, {_FEWEST} are needed")
    latest = int(_LATEST * len(samples))
    cut = _mser(samples)
    while cut <= latest:
        change = level_change(samples[cut:])
        if change is None or change.share <= tolerance:
            return WarmUp(
                cut, Steadiness.STEADY, f"no level change above {tolerance:.0%} after the first {cut} samples"
            )
        if cut + change.index > latest:
            return WarmUp(
                cut,
                Steadiness.NEVER_STEADY,
                f"the level changed by {change.share:.0%} at sample {cut + change.index}",
            )
        cut += change.index
    return WarmUp(0, Steadiness.NEVER_STEADY, "the level is known best without the whole first half")


@dataclass(frozen=True, slots=True)
class LevelChange:
    """The most probable change of level in a series."""

    index: int
    """The first sample of the new level, as exactly as groups of neighbours allow."""
    share: float
    """The difference of the medians before and after, as a share of the smaller one."""
    p_value: float


def level_change(samples: Sequence[float]) -> LevelChange | None:
    """Return the change of level that Pettitt's test finds in medians of up to 40 groups of neighbours; None
    for no evidence of one.
    """
    groups = min(_GROUPS, len(samples) // 2)
    if groups < 10:  # the test cannot reach its significance with fewer
        return None
    ranks = doubled_midranks(batch_medians(samples, groups))
    total, largest, at = 0, 0, 0
    for number, rank in enumerate(ranks[:-1], start=1):
        total += rank - (groups + 1)  # Pettitt's U, as 2 * sum of ranks - number * (groups + 1)
        if abs(total) > largest:
            largest, at = abs(total), number
    p_value = min(1.0, 2 * math.exp(-6 * largest**2 / (groups**3 + groups**2)))
    if p_value > _SIGNIFICANCE:
        return None
    index = len(samples) * at // groups
    before, after = median(samples[:index]), median(samples[index:])
    smaller = min(abs(before), abs(after))
    share = abs(after - before) / smaller if smaller else math.inf
    return LevelChange(index, share, p_value)


def _mser(samples: Sequence[float]) -> int:
    """The number of leading samples, at most half, without which the mean of the rest is known best."""
    levels = batch_medians(samples, len(samples) // _BATCH)
    mean = squares = 0.0
    best, best_error = 0, math.inf
    for kept, index in enumerate(range(len(levels) - 1, -1, -1), start=1):
        difference = levels[index] - mean
        mean += difference / kept
        squares += difference * (levels[index] - mean)
        # shorter rests are judged by chance (their spread may be small by luck), so that the rule is never to
        # cut more than half
        if 2 * kept >= len(levels) and squares / kept**2 <= best_error:
            best, best_error = index, squares / kept**2
    return len(samples) * best // len(levels)
