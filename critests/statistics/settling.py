"""How many more samples would settle a comparison of two runs that is open: the earlier one cannot get any.

An interval is about as wide as the root of `1 / earlier + 1 / later`, the numbers of samples of both runs;
with the earlier one as it is, the later one can only do away with its own part.
"""

import math
from dataclasses import dataclass
from typing import Final

from critests.statistics.comparison import FEWEST_BATCHES, MOST_BATCHES, TIMES
from critests.statistics.quantiles import samples_needed

MOST_TIMES: Final = 100
"""A run that would have to be so many times as long is not recommended: the difference is too small."""


@dataclass(frozen=True, slots=True)
class Settling:
    """What would settle it."""

    more: int
    """Samples that the later run lacks, at least; 0 where it is not the one that lacks them."""
    obstacle: str
    """Why more samples of the later run would not do; empty where they would."""


def settling(
    counts: tuple[int, int],
    worths: tuple[float, float],
    *,
    quantile: float = 0.5,
    reach: float | None = None,
    wanted: float = 0.0,
) -> Settling:
    """Return how many more samples of the later run would settle a comparison.

    Args:
        counts: steady samples of the earlier and of the later run.
        worths: how many samples of each are worth one independent one (`inefficiency`).
        quantile: that is compared.
        reach: by which factor the interval of the ratio reaches from its estimate, above 1; None where there
            is none, as there are too few samples for any test.
        wanted: by which it may reach at most, above 1.

    Raises:
        ValueError: a factor is not above 1.
    """
    for count, worth, whose in zip(counts, worths, ("earlier", "later"), strict=True):
        lacking = _for_a_test(quantile, worth, FEWEST_BATCHES) - count
        if lacking > 0 and whose == "earlier":
            return Settling(0, f"the earlier run has {count} samples and lacks {lacking}")
        if lacking > 0:
            return Settling(lacking, "")
    if reach is not None and (reach <= 1 or wanted <= 1):
        msg = f"an interval reaches by a factor above 1, not by {reach} or {wanted}"
        raise ValueError(msg)
    if reach is None or reach <= wanted:
        # no interval yet, or a sharp one: what is missing is proof among so many operations, by more batches
        return Settling(max(1, _for_a_test(quantile, worths[1], MOST_BATCHES) - counts[1]), "")
    earlier, later = counts
    spread = 1 / earlier + 1 / later
    left = spread * (math.log(wanted) / math.log(reach)) ** 2 - 1 / earlier
    if left <= 0 or 1 / left > MOST_TIMES * later:
        return Settling(0, f"the {earlier} samples of the earlier run alone leave that much open")
    return Settling(max(1, math.ceil(1 / left) - later), "")


def _for_a_test(quantile: float, worth: float, number: int) -> int:
    """How many samples make so many batches that are independent of each other and have the quantile."""
    tail = min(quantile, 1 - quantile)
    batches = max(math.ceil(number * TIMES * worth), math.ceil(number / tail))
    return max(batches, samples_needed(quantile))
