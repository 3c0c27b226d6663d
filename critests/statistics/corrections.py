"""Correction of p-values for multiple tests, and tests of failure rates."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

from scipy import stats

K = TypeVar("K", bound=Hashable)


def holm(p_values: Mapping[K, float]) -> dict[K, float]:
    """Return p-values adjusted to control the family-wise error rate (Holm, 1979)."""
    adjusted: dict[K, float] = {}
    largest = 0.0
    for number, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - number) * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}


def fisher(failed_a: int, calls_a: int, failed_b: int, calls_b: int) -> float:
    """Return the two-sided p-value of equal failure rates by Fisher's exact test, which assumes independent
    failures; 1 without any calls.
    """
    table = [[failed_a, calls_a - failed_a], [failed_b, calls_b - failed_b]]
    return float(stats.fisher_exact(table).pvalue)


def at_least(failed: int, calls: int, rate: float) -> float:
    """Return the probability that at least `failed` of `calls` fail at this failure rate (exact binomial)."""
    return float(stats.binom.sf(failed - 1, calls, rate))
