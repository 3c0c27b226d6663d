"""Changes of level in a series over many runs: E-divisive with permutation tests, for one value per run.

Matteson and James, "A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data" (2014),
in the form used for performance histories (Daly and others, "The Use of Change Point Detection to
Identify Software Performance Regressions in a Continuous Integration System", 2020): the series is split
where the energy distance between both parts is largest, if the permutation test is significant, and each part
is then split recursively.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_SIGNIFICANCE = 0.01
"""The significance level of each tested split."""
_PERMUTATIONS = 199
"""The smallest p-value is then 1/200, half of the significance level."""
_SHORTEST = 2
"""A single value has no distances within its part."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A change of the level of a series."""

    index: int
    """The first value of the new level."""
    before: float
    """The median between the change point before this one and this one."""
    after: float
    """The median from here to the next change point."""
    p_value: float

    @property
    def ratio(self) -> float | None:
        """The new level as a multiple of the old one; None where the old one is 0."""
        return self.after / self.before if self.before else None


def change_points(values: Sequence[float], *, seed: int, shortest: int = 5) -> list[ChangePoint]:
    """Find the changes of level in a series, in the order of time.

    The runs are assumed to be independent; autocorrelation between runs gives false alarms.

    Args:
        values: one per run, in the order of time.
        seed: of the permutations, so that the same history gives the same result.
        shortest: the fewest values of one level, at least 2; a single outlier is not a change.
    """
    source = np.random.default_rng(seed)
    series = np.asarray(values, dtype=float)
    found: dict[int, float] = {}
    parts = [(0, len(series))]
    while parts:
        start, end = parts.pop()
        if end - start < 2 * shortest:
            continue
        part = series[start:end]
        distances = np.abs(np.subtract.outer(part, part))
        index, distance = best_split(distances, shortest)
        p_value = _p_value(distances, distance, shortest, source)
        if p_value <= _SIGNIFICANCE:
            found[start + index] = p_value
            parts += [(start, start + index), (start + index, end)]
    edges = [0, *sorted(found), len(series)]
    return [
        ChangePoint(
            edge,
            float(np.median(series[edges[place - 1] : edge])),
            float(np.median(series[edge : edges[place + 1]])),
            found[edge],
        )
        for place, edge in enumerate(edges[1:-1], start=1)
    ]


def best_split(distances: NDArray[np.float64], shortest: int = _SHORTEST) -> tuple[int, float]:
    """Return where the scaled energy distance between the parts of a series is largest, and that distance.

    Args:
        distances: of each value of the series to each; at least twice as many as `shortest`.
        shortest: the fewest values of a part, at least 2.
    """
    count = len(distances)
    left = np.arange(shortest, count - shortest + 1)
    right = count - left
    sums = np.cumsum(np.cumsum(distances, axis=0), axis=1)
    within_left = sums[left - 1, left - 1] / 2
    within_right = (sums[-1, -1] - 2 * sums[left - 1, -1]) / 2 + within_left
    across = sums[-1, -1] / 2 - within_left - within_right
    means = across / (left * right) - within_left / (left * (left - 1)) - within_right / (right * (right - 1))
    scaled = means * 2 * left * right / count
    best = int(scaled.argmax())
    return int(left[best]), float(scaled[best])


def _p_value(
    distances: NDArray[np.float64], distance: float, shortest: int, source: np.random.Generator
) -> float:
    """The share of permutations with at least this distance; stops early once it cannot be significant."""
    as_good = 0
    for done in range(1, _PERMUTATIONS + 1):
        order = source.permutation(len(distances))
        as_good += best_split(distances[np.ix_(order, order)], shortest)[1] >= distance
        if (as_good + 1) / (_PERMUTATIONS + 1) > _SIGNIFICANCE:
            return (as_good + 1) / (done + 1)
    return (as_good + 1) / (_PERMUTATIONS + 1)
