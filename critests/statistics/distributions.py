"""Probabilities that the other modules need: binomial, sign-flip sums, rank sums. Exact where the numbers are
small.

The exact counts use one big integer as an array of counters: multiplying the generating polynomial by (1 +
x^m) is a shift and an addition, and the sum of all counters is the remainder of a division by (base - 1).
Both run at the speed of the integer arithmetic.
"""

import math
from functools import lru_cache
from statistics import NormalDist

_EXACT_WORK = 30_000_000
"""Above this number of bytes touched, the normal approximation (with continuity correction) is used; it is
good there.
"""
_EXACT_RANK_SUM = 40
"""The largest number of values of both sides for which a rank sum is counted exactly."""
NORMAL = NormalDist()


def binomial_cdf(successes: int, trials: int, probability: float) -> float:
    """Return P(X <= successes) for X binomial, by the incomplete beta function (DLMF 8.17.5).

    Raises:
        ValueError: the probability is not within 0 and 1, or there are fewer than 0 trials.
    """
    if trials < 0 or not 0 <= probability <= 1:
        msg = f"no binomial distribution of {trials} trials with probability {probability}"
        raise ValueError(msg)
    if successes < 0:
        return 0.0
    if successes >= trials:
        return 1.0
    return _incomplete_beta(trials - successes, successes + 1, 1 - probability)


def binomial_quantile(level: float, trials: int, probability: float) -> int:
    """Return the smallest k with P(X <= k) >= level for X binomial."""
    low, high = -1, trials
    while high - low > 1:
        middle = (low + high) // 2
        if binomial_cdf(middle, trials, probability) >= level:
            high = middle
        else:
            low = middle
    return high


def sign_flip_tails(differences: list[int]) -> tuple[float, float]:
    """Return how often random signs give a sum as small, and as large, as the one seen: (lower, upper), each
    with equality.

    The distribution is that of sum(s_i * |d_i|) with independent fair signs s_i, as the labels of two sides
    are exchanged within blocks at random (Fisher's randomisation test). No differences, or zeros only: both
    tails are 1.
    """
    magnitudes = sorted(abs(value) for value in differences if value)
    if not magnitudes:
        return 1.0, 1.0
    total = sum(magnitudes)
    positive = sum(value for value in differences if value > 0)
    return _subset_tail(tuple(magnitudes), total - positive), _subset_tail(tuple(magnitudes), positive)


@lru_cache(maxsize=128)
def signed_rank_critical(count: int, tail: float) -> int:
    """Return the largest k with P(W+ < k) <= tail for Wilcoxon's signed-rank sum of `count` untied
    differences; 0 where none is.

    The k-th smallest and the k-th largest Walsh average then bound the shift with confidence 1 - 2 * tail
    (Hollander and Wolfe, Nonparametric Statistical Methods, 3.3).
    """
    total = count * (count + 1) // 2
    ranks = tuple(range(1, count + 1))
    if not _countable(count, total):
        spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return max(0, math.floor(total / 2 + NORMAL.inv_cdf(tail) * spread))
    low, high = 0, total
    while high - low > 1:
        middle = (low + high) // 2
        if (
            _subset_tail(ranks, total - middle + 1) <= tail
        ):  # by symmetry P(W+ <= k - 1) = P(W+ >= total - k + 1)
            low = middle
        else:
            high = middle
    return low


def rank_sum_tails(doubled_ranks: tuple[int, ...], size: int, observed: int) -> tuple[float, float]:
    """Return P(S <= observed) and P(S >= observed) for the sum S of `size` ranks drawn without replacement.

    Args:
        doubled_ranks: twice the midranks of all values, so that ties stay whole numbers.
        size: how many of them the side has.
        observed: the sum of the side's doubled ranks.
    """
    count, total = len(doubled_ranks), sum(doubled_ranks)
    if count <= _EXACT_RANK_SUM:
        upper = _choice_tail(doubled_ranks, size, observed)
        lower = _choice_tail(doubled_ranks, count - size, total - observed)
        return lower, upper
    mean = size * total / count
    variance = (
        size
        * (count - size)
        / (count * (count - 1))
        * (sum(rank * rank for rank in doubled_ranks) - total * total / count)
    )
    return _normal_tails(observed, mean, variance, step=1.0)


@lru_cache(maxsize=128)
def rank_sum_critical(first: int, second: int, tail: float) -> int:
    """Return the largest k with P(U < k) <= tail for the Mann-Whitney count U of untied sides; 0 where none
    is.

    The k-th smallest and k-th largest difference between the sides bound the shift (Hollander and Wolfe,
    4.3).
    """
    count = first + second
    if count > _EXACT_RANK_SUM:
        spread = math.sqrt(first * second * (count + 1) / 12)
        return max(0, math.floor(first * second / 2 + NORMAL.inv_cdf(tail) * spread))
    ranks = tuple(2 * rank for rank in range(1, count + 1))
    smallest = first * (first + 1) // 2
    low, high = 0, first * second
    while high - low > 1:
        middle = (low + high) // 2
        if rank_sum_tails(ranks, first, 2 * (smallest + middle - 1))[0] <= tail:
            low = middle
        else:
            high = middle
    return low


def _countable(count: int, total: int) -> bool:
    return count * total * (count + 2) // 8 <= _EXACT_WORK


def _subset_tail(magnitudes: tuple[int, ...], at_least: int) -> float:
    """P(the sum of a random subset >= at_least)."""
    count, total = len(magnitudes), sum(magnitudes)
    if at_least <= 0:
        return 1.0
    if at_least > total:
        return 0.0
    if not _countable(count, total):
        return _normal_tails(at_least, total / 2, sum(value * value for value in magnitudes) / 4, step=0.5)[1]
    width = count + 2
    return _digit_sum(_subset_counts(magnitudes) >> (at_least * width), width) / (1 << count)


@lru_cache(maxsize=32)
def _subset_counts(magnitudes: tuple[int, ...]) -> int:
    width = len(magnitudes) + 2
    counts = 1
    for value in magnitudes:
        counts += counts << (value * width)
    return counts


def _choice_tail(values: tuple[int, ...], size: int, at_least: int) -> float:
    """P(the sum of `size` of the values, drawn without replacement, >= at_least)."""
    width = len(values) + 2
    counts = _choice_counts(values, size)
    if at_least <= 0:
        return 1.0
    return _digit_sum(counts >> (at_least * width), width) / math.comb(len(values), size)


@lru_cache(maxsize=32)
def _choice_counts(values: tuple[int, ...], size: int) -> int:
    width = len(values) + 2
    by_size = [1] + [0] * size
    for value in values:
        for chosen in range(size, 0, -1):
            by_size[chosen] += by_size[chosen - 1] << (value * width)
    return by_size[size]


def _digit_sum(counts: int, width: int) -> int:
    return counts % ((1 << width) - 1)


def _normal_tails(observed: float, mean: float, variance: float, *, step: float) -> tuple[float, float]:
    if variance <= 0:
        return 1.0, 1.0
    spread = math.sqrt(variance)
    return min(1.0, NORMAL.cdf((observed - mean + step) / spread)), min(
        1.0, NORMAL.cdf((mean - observed + step) / spread)
    )


def _incomplete_beta(first: float, second: float, at: float) -> float:
    """The regularised incomplete beta function I_at(first, second), by its continued fraction (DLMF
    8.17.22).
    """
    if at <= 0:
        return 0.0
    if at >= 1:
        return 1.0
    if at > (first + 1) / (first + second + 2):
        return 1.0 - _incomplete_beta(second, first, 1 - at)
    log_front = (
        math.lgamma(first + second)
        - math.lgamma(first)
        - math.lgamma(second)
        + first * math.log(at)
        + second * math.log1p(-at)
    )
    return math.exp(log_front) / first * _beta_fraction(first, second, at)


def _beta_fraction(first: float, second: float, at: float) -> float:
    """The continued fraction by Lentz's method; its terms needed grow with the root of the larger
    argument.
    """
    tiny, enough = 1e-300, 1e-15
    ratio, inverse = 1.0, 1.0 / _away_from_zero(1.0 - (first + second) * at / (first + 1), tiny)
    value = inverse
    for term in range(1, 100_000):
        double = 2 * term
        even = term * (second - term) * at / ((first + double - 1) * (first + double))
        odd = -(first + term) * (first + second + term) * at / ((first + double) * (first + double + 1))
        for coefficient in (even, odd):
            inverse = 1.0 / _away_from_zero(1.0 + coefficient * inverse, tiny)
            ratio = _away_from_zero(1.0 + coefficient / ratio, tiny)
            change = ratio * inverse
            value *= change
        if abs(change - 1.0) < enough:
            break
    return value


def _away_from_zero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
