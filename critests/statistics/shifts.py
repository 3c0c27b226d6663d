"""The shift between two sides: estimates with confidence intervals, and the corresponding rank tests.

The interval excludes 0 exactly when the test rejects (up to ties). scipy has neither these intervals nor
exact tests of many tied values; here the distributions are enumerated, without random numbers. Source:
Hollander and Wolfe, "Nonparametric Statistical Methods", chapters 3 and 4.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu, rankdata

from critests.statistics.quantiles import Interval

MOST_PAIRS = 400
"""Callers merge pairs above this number, because the number of Walsh averages grows with its square."""
_GRAIN = 1000
"""Factor that turns shares of blocks of different sizes into integers; the sign-flip test stays exact under
rounding.
"""
_FURTHEST = math.log(1000.0)
"""An interval that reaches this factor counts as unbounded."""
_SHARP = 1e-4
"""Precision of the search for the ends of an interval."""


@dataclass(frozen=True, slots=True)
class Shift:
    """A shift between two sides, in the unit of the values."""

    estimate: float
    interval: Interval | None
    """None if there are too few values for the confidence."""
    p_value: float
    """Two-sided."""
    smallest_p: float
    """The smallest p-value that this number of values can give."""
    exchangeable: int | None = None
    """Number of pairs or blocks that the test counts; None if the values are in neither."""


def paired_shift(differences: Sequence[float], *, confidence: float) -> Shift:
    """Return the pseudomedian of differences with Wilcoxon's signed-rank test, exact also with ties.

    Under random exchange of the two sides within each pair the test is a permutation test, without
    assumptions about the distribution or the dependence between pairs.

    Args:
        differences: one per pair, at least one; the test leaves out zeros.
        confidence: of the interval.
    """
    values = np.asarray(differences)
    first, second = np.triu_indices(len(values))
    walsh = np.sort(values[first] + values[second]) / 2
    other = values[values != 0]
    ranks = _whole(2 * rankdata(np.abs(other)))  # doubled, so that the ranks of ties are integers
    tails = sign_flip_tails(np.where(other > 0, ranks, -ranks))
    critical = signed_rank_critical(len(values), (1 - confidence) / 2)
    return Shift(
        estimate=float(np.median(walsh)),
        interval=_between(walsh, critical, confidence),
        p_value=min(1.0, 2 * min(tails)),
        smallest_p=2.0 ** (1 - len(values)),
        exchangeable=len(values),
    )


def unpaired_shift(first: Sequence[float], second: Sequence[float], *, confidence: float) -> Shift:
    """Return the shift of the second side against the first, with the exact Mann-Whitney test.

    Args:
        first: independent values of one side, at least one.
        second: independent values of the other.
        confidence: of the interval.
    """
    between = np.sort(np.subtract.outer(np.asarray(second), np.asarray(first)), axis=None)
    critical = rank_sum_critical(len(first), len(second), (1 - confidence) / 2)
    return Shift(
        estimate=float(np.median(between)),
        interval=_between(between, critical, confidence),
        p_value=float(mannwhitneyu(first, second, method="exact").pvalue),
        smallest_p=2 / math.comb(len(first) + len(second), len(first)),
    )


def exceedance_shift(
    blocks: Sequence[tuple[Sequence[float], Sequence[float]]], at: float, *, confidence: float
) -> Shift:
    """Return the shift of the logarithm of the second side's tail quantile against the first's, if a single
    block has too few samples for that quantile.

    Each block gives the difference between the shares of both sides above their common quantile. Under random
    exchange of the sides within each block these differences have random signs, so the test is a permutation
    test within blocks, exact for any distribution and dependence. The interval holds the ratios by which one
    side can be scaled without the test rejecting.

    Args:
        blocks: the samples of both sides, per block, all above 0; at least one of each.
        at: the quantile.
        confidence: of the interval.
    """
    first, second = (np.concatenate([np.log(block[side]) for block in blocks]) for side in (0, 1))
    sizes = np.array([(len(left), len(right)) for left, right in blocks])
    starts = np.cumsum(sizes, axis=0) - sizes

    def differences(shift: float) -> NDArray[np.int64]:
        """Return per block the share of the second side above the common quantile, minus that of the shifted
        first side.
        """
        shifted = first + shift
        threshold = np.quantile(np.concatenate([shifted, second]), at, method="inverted_cdf")
        left: NDArray[np.int64] = np.add.reduceat((shifted > threshold).astype(int), starts[:, 0])
        right: NDArray[np.int64] = np.add.reduceat((second > threshold).astype(int), starts[:, 1])
        if (sizes == sizes[0, 0]).all():
            return right - left
        return _whole(_GRAIN * (right / sizes[:, 1] - left / sizes[:, 0]))

    estimate = math.log(np.quantile(np.exp(second), at) / np.quantile(np.exp(first), at))
    unshifted = differences(0.0)
    differing = int(np.count_nonzero(unshifted))
    tail = (1 - confidence) / 2
    low = _edge(estimate, -1, lambda shift: sign_flip_tails(differences(shift))[1] > tail)
    high = _edge(estimate, 1, lambda shift: sign_flip_tails(differences(shift))[0] > tail)
    return Shift(
        estimate=estimate,
        interval=None if low is None or high is None else Interval(low, high, confidence),
        p_value=min(1.0, 2 * min(sign_flip_tails(unshifted))),
        smallest_p=min(1.0, 2.0 ** (1 - differing)),
        exchangeable=differing,
    )


def sign_flip_tails(differences: NDArray[np.int64]) -> tuple[float, float]:
    """Return the probabilities (lower, upper) that random signs give a sum at most, and at least, the
    observed one.

    The distribution is that of sum(s_i * |d_i|) with independent fair signs s_i, because the labels of the
    two sides are exchanged within blocks at random (Fisher's randomisation test). Without differences, or
    with zeros only, both tails are 1.
    """
    positive = int(differences[differences > 0].sum())
    shares = _subset_sums(tuple(sorted(map(int, np.abs(differences)))))
    return min(1.0, float(shares[: positive + 1].sum())), min(1.0, float(shares[positive:].sum()))


@lru_cache(maxsize=32)
def _subset_sums(magnitudes: tuple[int, ...]) -> NDArray[np.float64]:
    """The probability of each sum of a random subset."""
    shares = np.ones(1)
    for value in magnitudes:
        half = shares / 2
        shares = np.concatenate([half, np.zeros(value)])
        shares[value:] += half
    return shares


@lru_cache(maxsize=128)
def signed_rank_critical(count: int, tail: float) -> int:
    """Return the largest k with P(W+ < k) <= tail for Wilcoxon's signed-rank sum of `count` untied
    differences; 0 if there is none.

    The k-th smallest and the k-th largest Walsh average then bound the shift with confidence 1 - 2 * tail
    (Hollander and Wolfe, 3.3).
    """
    return int(np.searchsorted(np.cumsum(_subset_sums(tuple(range(1, count + 1)))), tail, side="right"))


@lru_cache(maxsize=128)
def rank_sum_critical(first: int, second: int, tail: float) -> int:
    """Return the largest k with P(U < k) <= tail for the Mann-Whitney count U of untied sides; 0 if there is
    none.

    The k-th smallest and k-th largest difference between the sides bound the shift (Hollander and Wolfe,
    4.3).
    """
    # number of ways to choose `first` of all ranks with a given count U, by dynamic programming over the
    # ranks
    ways = np.zeros((first + 1, first * second + 1))
    ways[0, 0] = 1
    for rank in range(first + second):
        for placed in range(min(rank, first - 1), -1, -1):
            below = rank - placed
            ways[placed + 1, below:] += ways[placed, : ways.shape[1] - below]
    shares = np.cumsum(ways[first]) / math.comb(first + second, first)
    return int(np.searchsorted(shares, tail, side="right"))


def _whole(values: NDArray[np.float64]) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = np.rint(values).astype(int)
    return numbers


def _between(ordered: NDArray[np.float64], critical: int, confidence: float) -> Interval | None:
    if not critical:
        return None
    return Interval(float(ordered[critical - 1]), float(ordered[-critical]), confidence)


def _edge(start: float, direction: int, accepted: Callable[[float], bool]) -> float | None:
    """Return the end of the accepted shifts on one side of `start`; None if all shifts are accepted."""
    inside, step = start, 0.01
    while accepted(start + direction * step):
        inside = start + direction * step
        step *= 2
        if step > _FURTHEST:
            return None
    outside = start + direction * step
    while abs(outside - inside) >= _SHARP:
        middle = (inside + outside) / 2
        if accepted(middle):
            inside = middle
        else:
            outside = middle
    return outside
