"""P-values of many questions at once, and of failed calls."""

from collections.abc import Hashable, Mapping
from typing import TypeVar

from scipy import stats

K = TypeVar("K", bound=Hashable)


def holm(p_values: Mapping[K, float]) -> dict[K, float]:
    """Return p-values adjusted so that the chance of even one false alarm among all is at most the level
    (Holm, 1979).
    """
    adjusted: dict[K, float] = {}
    largest = 0.0
    for number, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - number) * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}


def fisher(failed_a: int, calls_a: int, failed_b: int, calls_b: int) -> float:
    """Return the two-sided p-value of equal failure rates by Fisher's exact test, which takes failures for
    independent of each other; 1 where there is nothing to compare.
    """
    table = [[failed_a, calls_a - failed_a], [failed_b, calls_b - failed_b]]
    return float(stats.fisher_exact(table).pvalue)


def at_least(failed: int, calls: int, rate: float) -> float:
    """Return the chance that at least so many of so many calls fail when each fails with this rate (exact
    binomial).
    """
    return float(stats.binom.sf(failed - 1, calls, rate))
