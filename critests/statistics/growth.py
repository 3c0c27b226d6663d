"""How a value grows with a number of things: not at all, in proportion, or worse; and what one more costs.

Two curves are fitted to the values at several numbers, by least squares in which each value counts by how
surely it is known: a line, whose slope is the cost of one more, and `base + part * number ** exponent`, whose
exponent says whether it is a line. What the fits leave open is found by a bootstrap: both are made again for
values drawn anew around those that were measured, always with the same random numbers.

Sources: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapters 6 and 13, for the
parametric bootstrap and the percentile interval.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

import numpy as np
from numpy.typing import NDArray

from critests.statistics.quantiles import Interval

FEWEST_LEVELS: Final = 3
"""Different numbers: with two of them every curve is a line."""
FLOOR: Final = 0.01
"""Two looks at the same thing, minutes apart, deviate by this share of it, whatever the samples of each
say.
"""
SMALLEST_RISE: Final = 0.05
"""Growth over the whole range below this share of the first value is none that a reader would notice."""
RESOLUTION: Final = 0.5
"""If a rise of this share of the first value could have stayed unseen, nothing is said to be constant."""
MARGIN: Final = 0.15
"""An exponent is other than 1 where its whole interval lies further from 1 than this."""
STRAIGHT: Final = 0.35
"""Growth is called linear where the whole interval of the exponent lies closer to 1 than this: one that
reaches from 0.2 to 1.0 holds a root as well as a line.
"""
DRAWS: Final = 300
_EXPONENTS: Final = np.arange(2, 31) / 10
"""Exponents that are tried; the best is known to a tenth. Below the first a curve is a logarithm."""
_SEED: Final = 20
_CONFIDENCE: Final = 0.95


@unique
class Form(StrEnum):
    """How a value grows."""

    CONSTANT = "constant"
    LESS = "less than linear"
    LINEAR = "linear"
    WORSE = "worse than linear"
    GROWS = "grows, the data do not decide how"
    """The rise is proven, and the numbers are too few or the values too noisy for its form."""
    UNKNOWN = "too noisy to tell"
    """A rise that matters could have stayed unseen."""


@dataclass(frozen=True, slots=True)
class GrowthLevel:
    """What was measured with one number of things."""

    number: float
    value: float
    """The median, in the unit of the caller."""
    deviation: float
    """The standard deviation of the median, in the same unit; 0 where all samples are the same."""


@dataclass(frozen=True, slots=True)
class Growth:
    """What the values say."""

    form: Form
    slope: float
    """Of the line: what one more costs, in the unit of the values."""
    slope_interval: Interval
    base: float
    """Of the line: the value without any, as far as a line tells."""
    exponent: float
    exponent_interval: Interval
    marginal: float
    """What one more costs at the largest number, by the curve with the exponent."""
    rise: float
    """From the smallest to the largest number by the line, as a share of the value at the smallest."""
    levels: tuple[GrowthLevel, ...]

    def line(self, number: float) -> float:
        """Return what the line says."""
        return self.base + self.slope * number


def fit_growth(levels: Sequence[GrowthLevel]) -> Growth:
    """Fit a line and a curve to the values at several numbers, and name the form.

    Args:
        levels: at least three different numbers, each once.

    Raises:
        ValueError: there are fewer numbers, one is there twice or below 0, or a value is below 0 or
            not finite.
    """
    points = tuple(sorted(levels, key=lambda level: level.number))
    _check(points)
    least = _least(points)
    numbers = np.array([point.number for point in points])
    values = np.array([point.value for point in points])
    deviations = np.maximum([point.deviation for point in points], FLOOR * np.maximum(values, least))
    drawn = np.random.default_rng(_SEED).normal(values, deviations, (DRAWS, len(points)))
    straight = _Fit(numbers, deviations, 1.0)
    curves = [_Fit(numbers, deviations, exponent) for exponent in _EXPONENTS]
    base, slope = map(float, straight.coefficients(values))
    best = curves[int(np.argmax([curve.explained(values) for curve in curves]))]
    slope_interval = _middle(straight.coefficients(drawn)[1])
    exponents = _EXPONENTS[np.argmax([curve.explained(drawn) for curve in curves], axis=0)]
    exponent_interval = _middle(exponents)
    span = float(numbers[-1] - numbers[0])
    first = max(base + slope * float(numbers[0]), least)
    return Growth(
        form=_form(slope * span / first, span / first, slope_interval, exponent_interval),
        slope=slope,
        slope_interval=slope_interval,
        base=base,
        exponent=best.exponent,
        exponent_interval=exponent_interval,
        marginal=float(best.coefficients(values)[1] * best.exponent * numbers[-1] ** (best.exponent - 1)),
        rise=slope * span / first,
        levels=points,
    )


class _Fit:
    """Weighted least squares of `base + part * number ** exponent`, the exponent given, for values along the
    last axis: the bootstrap asks for hundreds at once.
    """

    def __init__(
        self, numbers: NDArray[np.float64], deviations: NDArray[np.float64], exponent: float
    ) -> None:
        self.exponent = float(exponent)
        self._shares = deviations**-2 / (deviations**-2).sum()
        powers = numbers**exponent
        self._mean = powers @ self._shares
        self._pulls = self._shares * (powers - self._mean)
        self._spread = self._pulls @ powers

    def coefficients(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return base and part."""
        part = values @ self._pulls / self._spread
        return values @ self._shares - part * self._mean, part

    def explained(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how much the curve lessens the weighted sum of squares around the mean: the best curve
        lessens it most.
        """
        squares: NDArray[np.float64] = (values @ self._pulls) ** 2 / self._spread
        return squares


def _form(rise: float, span_by_first: float, slope: Interval, exponent: Interval) -> Form:
    """Name the form, from the rise and the intervals; `span_by_first` turns a slope into a rise."""
    if slope.low <= 0 or rise < SMALLEST_RISE:
        return Form.CONSTANT if slope.high * span_by_first < RESOLUTION else Form.UNKNOWN
    if exponent.low > 1 + MARGIN:
        return Form.WORSE
    if exponent.high < 1 - MARGIN:
        return Form.LESS
    straight = exponent.low >= 1 - STRAIGHT and exponent.high <= 1 + STRAIGHT
    return Form.LINEAR if straight else Form.GROWS


def _middle(values: NDArray[np.float64]) -> Interval:
    tail = (1 - _CONFIDENCE) / 2
    low, high = np.quantile(values, (tail, 1 - tail))
    return Interval(float(low), float(high), _CONFIDENCE)


def _least(points: Sequence[GrowthLevel]) -> float:
    """A value that counts as nothing beside the largest one; where all are 0, any."""
    return FLOOR * FLOOR * max(point.value for point in points) or 1.0


def _check(points: Sequence[GrowthLevel]) -> None:
    numbers = [point.number for point in points]
    if len(numbers) < FEWEST_LEVELS or len(set(numbers)) < len(numbers):
        msg = f"growth takes {FEWEST_LEVELS} different numbers, each once, not {numbers}"
        raise ValueError(msg)
    if numbers[0] < 0 or any(not 0 <= point.value < math.inf for point in points):
        msg = "numbers are at least 0, and values finite and at least 0"
        raise ValueError(msg)
