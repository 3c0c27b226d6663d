"""The universal scalability law fitted to throughput by concurrency, and the knee of the curve.

Sources: Gunther, "Guerrilla Capacity Planning" (2007) for the law; Satopää and others, "Finding a Kneedle in
a Haystack" (2011) for the knee as the point furthest above the chord.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import nnls

_FEWEST_LEVELS = 4  # one more than the coefficients
_FLAT = 0.05
"""A curve that rises above its chord by less than this share of its height has no knee."""
_STEPS = 1000


@dataclass(frozen=True, slots=True)
class Scalability:
    """Throughput as a function of concurrency: rate * n / (1 + contention * (n - 1) + coherency * n * (n -
    1)).
    """

    rate: float
    """Throughput at concurrency 1, in the unit of the throughputs."""
    contention: float
    """The serial share of the work (sigma)."""
    coherency: float
    """The cost of coordination of each pair of workers (kappa); above 0 the throughput falls again."""
    determination: float
    """The share of the variance that the curve explains (R squared); below 0.9 the law does not fit."""
    knee: float | None
    """The concurrency within the measured range above which throughput grows little; None for a curve close
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
    level, measured = np.array(points).T
    # n / throughput = b0 + b1 (n - 1) + b2 n (n - 1); each row is divided by n / throughput, so that
    # relative errors count
    rows = np.column_stack([measured / level, measured * (level - 1) / level, measured * (level - 1)])
    (base, linear, square), _ = nnls(rows, np.ones(len(rows)))
    if not base:
        raise ValueError("the throughputs do not begin at a rate above 0: no such law describes them")
    law = Scalability(float(1 / base), float(linear / base), float(square / base), 0.0, None)
    error = sum((value - law.throughput(at)) ** 2 for at, value in points)
    spread = float(measured.var() * len(measured))
    return replace(
        law,
        determination=1 - error / spread if spread else float(error == 0),
        knee=_knee(law, levels[0], levels[-1]),
    )


def _knee(law: Scalability, low: float, high: float) -> float | None:
    """Return the point furthest above the chord from the first point of the curve to its maximum."""
    grid = np.linspace(low, high, _STEPS + 1)
    heights = np.array([law.throughput(level) for level in grid])
    end = int(heights.argmax())
    if end == 0:
        return None
    above = (heights[: end + 1] - heights[0]) / (heights[end] - heights[0]) - np.arange(end + 1) / end
    return float(grid[above.argmax()]) if above.max() >= _FLAT else None
