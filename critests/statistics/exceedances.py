"""Comparing a tail quantile of two sides measured in blocks, where a single block has too few samples for
that quantile.

Each block says how much larger a share of one side lies above the quantile of both sides together. Under
random exchange of the sides within each block these differences have random signs, so that the test is a
permutation test within blocks, exact for whatever distribution and dependence. The interval holds the ratios
by which one side may be scaled without the test objecting.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from critests.statistics.distributions import sign_flip_tails
from critests.statistics.quantiles import Interval, quantile_of_sorted
from critests.statistics.shifts import Shift

_GRAIN = 1000
"""Shares of blocks of unlike sizes become whole numbers by this factor; a test of random signs stays exact
under rounding.
"""
_HALVINGS = 40
_FURTHEST = math.log(1000.0)


@dataclass(frozen=True, slots=True)
class _Sides:
    """The samples of both sides, sorted as a whole and per block."""

    first: Sequence[float]
    second: Sequence[float]
    blocks: Sequence[tuple[Sequence[float], Sequence[float]]]
    equal_sizes: bool

    def threshold(self, at: float, scale: float) -> float:
        """The quantile of the first side multiplied by `scale` and the second side together."""
        wanted = at * (len(self.first) + len(self.second))
        low = min(self.first[0] * scale, self.second[0])
        high = max(self.first[-1] * scale, self.second[-1])
        for _ in range(60):
            middle = (low + high) / 2
            if bisect_right(self.first, middle / scale) + bisect_right(self.second, middle) < wanted:
                low = middle
            else:
                high = middle
        return high

    def differences(self, at: float, scale: float) -> list[int]:
        """Per block, how much more of the second side lies above the common quantile than of the scaled first
        side.
        """
        threshold = self.threshold(at, scale)
        result = []
        for first, second in self.blocks:
            above_first = len(first) - bisect_right(first, threshold / scale)
            above_second = len(second) - bisect_right(second, threshold)
            if self.equal_sizes:
                result.append(above_second - above_first)
            else:
                result.append(round(_GRAIN * (above_second / len(second) - above_first / len(first))))
        return result


def exceedance_shift(
    blocks: Sequence[tuple[Sequence[float], Sequence[float]]], at: float, *, confidence: float
) -> Shift:
    """Return by how much the logarithm of the second side's quantile lies above the first's.

    Args:
        blocks: the samples of both sides, per block, all above 0.
        at: the quantile.
        confidence: of the interval.

    Raises:
        ValueError: there is no block, or a side of a block is empty.
    """
    if not blocks or not all(first and second for first, second in blocks):
        msg = "a comparison within blocks needs samples of both sides in every block"
        raise ValueError(msg)
    sides = _Sides(
        first=sorted(value for first, _ in blocks for value in first),
        second=sorted(value for _, second in blocks for value in second),
        blocks=[(sorted(first), sorted(second)) for first, second in blocks],
        equal_sizes=len({len(side) for block in blocks for side in block}) == 1,
    )
    estimate = math.log(quantile_of_sorted(sides.second, at) / quantile_of_sorted(sides.first, at))
    differences = sides.differences(at, 1.0)
    lower, upper = sign_flip_tails(differences)
    tail = (1 - confidence) / 2
    low = _edge(estimate, -1, lambda shift: sign_flip_tails(sides.differences(at, math.exp(shift)))[1] > tail)
    high = _edge(estimate, 1, lambda shift: sign_flip_tails(sides.differences(at, math.exp(shift)))[0] > tail)
    return Shift(
        estimate=estimate,
        interval=None if low is None or high is None else Interval(low, high, confidence),
        p_value=min(1.0, 2 * min(lower, upper)),
        smallest_p=min(1.0, 2.0 ** (1 - sum(map(bool, differences)))),
    )


def _edge(start: float, direction: int, accepted: Callable[[float], bool]) -> float | None:
    """The end of the accepted shifts on one side of `start`; None where shifts are accepted without end."""
    inside, step = start, 0.01
    while accepted(start + direction * step):
        inside = start + direction * step
        step *= 2
        if step > _FURTHEST:
            return None
    outside = start + direction * step
    for _ in range(_HALVINGS):
        if abs(outside - inside) < 1e-4:
            break
        middle = (inside + outside) / 2
        if accepted(middle):
            inside = middle
        else:
            outside = middle
    return outside
