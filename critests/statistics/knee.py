"""Where more concurrency stops paying: the universal scalability law fitted to throughput, its peak, and the
knee of the curve.

Sources: Gunther, "Guerrilla Capacity Planning" (2007) for the law; Satopää and others, "Finding a Kneedle in
a Haystack" (2011) for the knee as the point furthest above the chord.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

_FEWEST_LEVELS = 4
_FLAT = 0.05
"""A curve that rises above its chord by less than this share of its height has no knee."""
_STEPS = 1000


@dataclass(frozen=True, slots=True)
class Scalability:
    """Throughput as a function of concurrency: rate * n / (1 + contention * (n - 1) + coherency * n * (n -
    1)).
    """

    rate: float
    """Throughput at concurrency 1, in operations per second if that was the unit."""
    contention: float
    """The share of the work that waits in one queue (sigma)."""
    coherency: float
    """What each pair of workers costs (kappa); above 0 the throughput falls again."""
    determination: float
    """The share of the throughputs' variance that the curve explains (R squared); below 0.9 the law does not
    describe the runtime.
    """
    peak: float | None
    """The concurrency at which the fitted throughput is largest; None where it only rises."""
    knee: float | None
    """The concurrency within the measured range from which on more of it pays little; None for a curve close
    to a line.
    """

    def throughput(self, concurrency: float) -> float:
        """Return the fitted throughput."""
        return (
            self.rate
            * concurrency
            / (1 + self.contention * (concurrency - 1) + self.coherency * concurrency * (concurrency - 1))
        )


def fit_scalability(throughputs: Mapping[float, float] | Sequence[tuple[float, float]]) -> Scalability:
    """Fit the universal scalability law by least squares of relative errors, with coefficients of at least 0.

    Args:
        throughputs: concurrency and throughput, repeated measurements allowed; at least four different
            concurrencies.

    Raises:
        ValueError: there are fewer than four concurrencies, one is below 1, or a throughput is not above 0.
    """
    points = sorted(throughputs.items() if isinstance(throughputs, Mapping) else throughputs)
    levels = sorted({level for level, _ in points})
    if len(levels) < _FEWEST_LEVELS:
        msg = (
            f"the law has three coefficients: it takes {_FEWEST_LEVELS} concurrencies to fit, not"
            f" {len(levels)}"
        )
        raise ValueError(msg)
    if levels[0] < 1 or any(not 0 < value < math.inf for _, value in points):
        msg = "concurrency is at least 1 and throughput is finite and above 0"
        raise ValueError(msg)
    base, linear, square = _fit(points)
    law = Scalability(1 / base, linear / base, square / base, 0.0, None, None)
    seen = [value for _, value in points]
    mean = sum(seen) / len(seen)
    spread = sum((value - mean) ** 2 for value in seen)
    error = sum((value - law.throughput(level)) ** 2 for level, value in points)
    return Scalability(
        rate=law.rate,
        contention=law.contention,
        coherency=law.coherency,
        determination=1 - error / spread if spread else float(error == 0),
        peak=math.sqrt(max(0.0, 1 - law.contention) / law.coherency) if law.coherency > 0 else None,
        knee=_knee(law, levels[0], levels[-1]),
    )


def _fit(points: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Non-negative b of n / x = b0 + b1 (n - 1) + b2 n (n - 1), each row divided by n / x, so that relative
    errors count.

    With three coefficients every set that may be above 0 is tried; the best admissible one is the optimum.
    """
    rows = [(value / level, value * (level - 1) / level, value * (level - 1)) for level, value in points]
    best, best_error = (1.0, 0.0, 0.0), math.inf
    for size in (1, 2, 3):
        for active in combinations((0, 1, 2), size):
            solution = _least_squares([[row[index] for index in active] for row in rows])
            if 0 not in active or solution is None or min(solution) < 0 or solution[0] == 0:
                continue
            error = sum(
                (1 - sum(row[index] * part for index, part in zip(active, solution, strict=True))) ** 2
                for row in rows
            )
            if error < best_error:
                spread = dict(zip(active, solution, strict=True))
                best, best_error = (spread.get(0, 0.0), spread.get(1, 0.0), spread.get(2, 0.0)), error
    return best


def _least_squares(rows: Sequence[Sequence[float]]) -> list[float] | None:
    """Solve rows * b = 1 in the least-squares sense by its normal equations; None where they are singular."""
    size = len(rows[0])
    scales = [math.sqrt(sum(row[column] ** 2 for row in rows)) or 1.0 for column in range(size)]
    matrix = [
        [
            sum(row[left] * row[right] for row in rows) / (scales[left] * scales[right])
            for right in range(size)
        ]
        + [sum(row[left] for row in rows) / scales[left]]
        for left in range(size)
    ]
    for column in range(size):
        pivot = max(range(column, size), key=lambda row: abs(matrix[row][column]))
        matrix[column], matrix[pivot] = matrix[pivot], matrix[column]
        if abs(matrix[column][column]) < 1e-12:
            return None
        for row in range(size):
            if row != column:
                factor = matrix[row][column] / matrix[column][column]
                matrix[row] = [
                    value - factor * lead for value, lead in zip(matrix[row], matrix[column], strict=True)
                ]
    return [matrix[row][size] / matrix[row][row] / scales[row] for row in range(size)]


def _knee(law: Scalability, low: float, high: float) -> float | None:
    """The point of the fitted curve, up to its highest, that lies furthest above the chord of both."""
    grid = [low + (high - low) * step / _STEPS for step in range(_STEPS + 1)]
    heights = [law.throughput(level) for level in grid]
    top, bottom = max(heights), heights[0]
    end = heights.index(top)
    if end == 0 or top == bottom:
        return None
    above = [
        (height - bottom) / (top - bottom) - step / end for step, height in enumerate(heights[: end + 1])
    ]
    furthest = max(above)
    return grid[above.index(furthest)] if furthest >= _FLAT else None
