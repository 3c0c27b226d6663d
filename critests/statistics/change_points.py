"""Where a series over many runs changed its level: E-divisive with permutation significance, for one number
per night.

Matteson and James, "A Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data" (2014),
in the form that is used for performance histories (Daly and others, "The Use of Change Point Detection to
Identify Software Performance Regressions in a Continuous Integration System", 2020): the series is split
where the energy distance between both parts is largest, if so large a distance is rare among permutations,
and each part is then looked at in the same way.
"""

import math
import random
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

_SHORTEST = 2
"""A single value has no distances within."""


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


def change_points(
    values: Sequence[float],
    *,
    seed: int,
    significance: float = 0.01,
    permutations: int = 199,
    shortest: int = 5,
) -> list[ChangePoint]:
    """Find the changes of level in a series, in the order of time.

    The runs are taken as independent of each other; a history in which each night resembles the one before
    gives false alarms.

    Args:
        values: one per run, in the order of time.
        seed: of the permutations, so that the same history gives the same answer.
        significance: the accepted chance of a false alarm of each split that is tried.
        permutations: how many; at least 1 / significance - 1, or nothing could be significant.
        shortest: the fewest values of one level; a single odd night is not a change.

    Raises:
        ValueError: the permutations cannot reach the significance, or a level would be shorter than 2.
    """
    if (permutations + 1) * significance < 1 or shortest < _SHORTEST:
        msg = (
            f"{permutations} permutations cannot show a significance of {significance}, or levels of"
            f" {shortest} are too short"
        )
        raise ValueError(msg)
    source = random.Random(seed)  # noqa: S311 - permutations need a repeatable sequence, not a secret one
    found: dict[int, float] = {}
    parts = [(0, len(values))]
    while parts:
        start, end = parts.pop()
        part = list(values[start:end])
        if len(part) < 2 * shortest:
            continue
        index, distance = best_split(part, shortest)
        p_value = _p_value(part, distance, shortest, source, permutations, significance)
        if p_value <= significance:
            found[start + index] = p_value
            parts += [(start, start + index), (start + index, end)]
    edges = [0, *sorted(found), len(values)]
    return [
        ChangePoint(
            edge,
            median(values[edges[place - 1] : edge]),
            median(values[edge : edges[place + 1]]),
            found[edge],
        )
        for place, edge in enumerate(edges[1:-1], start=1)
    ]


def best_split(values: Sequence[float], shortest: int = 2) -> tuple[int, float]:
    """Return where the scaled energy distance between the parts of a series is largest, and that distance.

    Raises:
        ValueError: the series is too short to be split, or a part would be shorter than 2.
    """
    if shortest < _SHORTEST or len(values) < 2 * shortest:
        msg = f"a series of {len(values)} cannot be split into parts of at least {shortest}"
        raise ValueError(msg)
    return _best_split(values, shortest, _distances(values))


def _best_split(
    values: Sequence[float], shortest: int, distances: Mapping[float, float]
) -> tuple[int, float]:
    """The best split, given for each value the sum of its distances to all others: it is the same for every
    permutation.
    """
    count = len(values)
    within_left, within_right = 0.0, sum(distances[value] for value in values) / 2
    total = within_right
    best, best_index = -math.inf, shortest
    ordered: list[float] = []
    seen = 0.0
    for left, value in enumerate(values):
        right = count - left
        if left >= shortest and right >= shortest:
            across = (total - within_left - within_right) / (left * right)
            scaled = (
                (across - within_left / (left * (left - 1)) - within_right / (right * (right - 1)))
                * 2
                * left
                * right
                / count
            )
            if scaled > best:
                best, best_index = scaled, left
        place = bisect_left(ordered, value)
        to_left = value * (2 * place - left) + seen - 2 * sum(ordered[:place])
        ordered.insert(place, value)
        seen += value
        within_left += to_left
        within_right -= distances[value] - to_left
    return best_index, best


def _distances(values: Sequence[float]) -> dict[float, float]:
    """For each value the sum of its distances to all values."""
    ordered = sorted(values)
    total, below = sum(ordered), 0.0
    distances = {}
    for place, value in enumerate(ordered):
        distances[value] = value * (2 * place - len(ordered)) + total - 2 * below
        below += value
    return distances


def _p_value(
    part: list[float],
    distance: float,
    shortest: int,
    source: random.Random,
    permutations: int,
    significance: float,
) -> float:
    """The share of permutations that split as well; counting ends once it cannot be significant any more."""
    as_good = 0
    shuffled, distances = part.copy(), _distances(part)
    for done in range(1, permutations + 1):
        source.shuffle(shuffled)
        as_good += _best_split(shuffled, shortest, distances)[1] >= distance
        if (as_good + 1) / (permutations + 1) > significance:
            return (as_good + 1) / (done + 1)
    return (as_good + 1) / (permutations + 1)
