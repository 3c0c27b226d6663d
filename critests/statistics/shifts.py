"""By how much one side is shifted against the other: Hodges-Lehmann estimates with intervals and tests of the
same ranks.

The interval and the test belong together: the interval leaves out 0 exactly where the test rejects (up to
ties). Source: Hollander and Wolfe, "Nonparametric Statistical Methods", chapters 3 and 4. Nothing is drawn at
random.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import median

from critests.statistics.distributions import (
    rank_sum_critical,
    rank_sum_tails,
    sign_flip_tails,
    signed_rank_critical,
)
from critests.statistics.quantiles import Interval

MOST_PAIRS = 400
"""Callers merge pairs above this number: the Walsh averages grow with its square."""


@dataclass(frozen=True, slots=True)
class Shift:
    """A shift between two sides, in the unit of the values."""

    estimate: float
    interval: Interval | None
    """None where there are too few values for the confidence asked for."""
    p_value: float
    """Two-sided."""
    smallest_p: float
    """The smallest p-value that this many values can give at all."""


def paired_shift(differences: Sequence[float], *, confidence: float) -> Shift:
    """Return the pseudomedian of differences with Wilcoxon's signed-rank test, exact also with ties.

    Under random exchange of the two sides within each pair the test is a permutation test: nothing is assumed
    about the distribution, or about how one pair depends on another.

    Args:
        differences: one per pair; zeros say nothing and are left out of the test.
        confidence: of the interval.

    Raises:
        ValueError: there is no difference at all.
    """
    if not differences:
        msg = "a shift needs at least one pair"
        raise ValueError(msg)
    count = len(differences)
    walsh = sorted(
        (differences[first] + differences[second]) / 2
        for first in range(count)
        for second in range(first, count)
    )
    telling = [value for value in differences if value]
    ranks = doubled_midranks([abs(value) for value in telling])
    lower, upper = sign_flip_tails(
        [rank if value > 0 else -rank for rank, value in zip(ranks, telling, strict=True)]
    )
    critical = signed_rank_critical(count, (1 - confidence) / 2)
    return Shift(
        estimate=median(walsh),
        interval=_between(walsh, critical, confidence),
        p_value=min(1.0, 2 * min(lower, upper)),
        smallest_p=2.0 ** (1 - count),
    )


def unpaired_shift(first: Sequence[float], second: Sequence[float], *, confidence: float) -> Shift:
    """Return by how much the second side lies above the first, with the Mann-Whitney test; exact, also with
    ties, up to 40 values.

    Args:
        first: independent values of one side.
        second: independent values of the other.
        confidence: of the interval.

    Raises:
        ValueError: a side is empty.
    """
    if not first or not second:
        msg = "a shift needs values of both sides"
        raise ValueError(msg)
    between = sorted(right - left for left in first for right in second)
    ranks = doubled_midranks([*first, *second])
    lower, upper = rank_sum_tails(tuple(sorted(ranks)), len(second), sum(ranks[len(first) :]))
    critical = rank_sum_critical(len(first), len(second), (1 - confidence) / 2)
    return Shift(
        estimate=median(between),
        interval=_between(between, critical, confidence),
        p_value=min(1.0, 2 * min(lower, upper)),
        smallest_p=2 / comb(len(first) + len(second), len(first)),
    )


def doubled_midranks(values: Sequence[float]) -> list[int]:
    """Return twice the rank of each value, ties sharing their mean rank."""
    ordered = sorted(values)
    return [bisect_left(ordered, value) + bisect_right(ordered, value) + 1 for value in values]


def _between(ordered: Sequence[float], critical: int, confidence: float) -> Interval | None:
    return Interval(ordered[critical - 1], ordered[-critical], confidence) if critical else None
