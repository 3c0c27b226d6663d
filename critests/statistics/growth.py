"""Growth of a value with the number of objects: none, linear, or worse; and the cost of one more.

Two curves are fitted to the values at several numbers by weighted least squares: a line, whose slope is the
cost of one more, and `base + part * number ** exponent`, whose exponent shows whether the growth is linear. A
parametric bootstrap with a fixed seed gives the confidence intervals of both fits.

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
SMALLEST_DEVIATION: Final = 0.01
"""Two measurements of the same value, minutes apart, deviate by this share of it, whatever the deviation
within each.
"""
SMALLEST_RISE: Final = 0.05
"""Growth over the whole range below this share of the first value counts as constant."""
RESOLUTION: Final = 0.5
"""If a rise of this share of the first value could have stayed undetected, nothing is called constant."""
MARGIN: Final = 0.15
"""An exponent differs from 1 if its whole interval lies further from 1 than this."""
STRAIGHT: Final = 0.35
"""Growth is called linear if the whole interval of the exponent lies closer to 1 than this: an interval from
0.2 to 1.0 permits a square root as well as a line.
"""
DRAWS: Final = 300
_EXPONENTS: Final = np.arange(2, 31) / 10
"""Candidate exponents, in steps of a tenth. A curve with a smaller exponent resembles a logarithm."""
_SEED: Final = 20
_CONFIDENCE: Final = 0.95


@unique
class Form(StrEnum):
    """The form of growth."""

    CONSTANT = "constant"
    LESS = "less than linear"
    LINEAR = "linear"
    WORSE = "worse than linear"
    GROWS = "grows, the data do not decide how"
    """The rise is significant, but the numbers are too few or the values too noisy for its form."""
    UNKNOWN = "too noisy to decide"
    """A relevant rise could have stayed undetected."""


@dataclass(frozen=True, slots=True)
class GrowthLevel:
    """The value measured at one number of objects."""

    number: float
    value: float
    """The median, in the unit of the caller."""
    deviation: float
    """The standard deviation of the median, in the same unit; 0 if all samples are equal."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The fitted growth."""

    form: Form
    slope: float
    """Of the line: the cost of one more, in the unit of the values."""
    slope_interval: Interval
    base: float
    """Of the line: the value at number 0."""
    exponent: float
    exponent_interval: Interval
    marginal: float
    """The cost of one more at the largest number, by the curve with the exponent."""
    rise: float
    """From the smallest to the largest number by the line, as a share of the value at the smallest."""
    levels: tuple[GrowthLevel, ...]

    def line(self, number: float) -> float:
        """Return the value of the fitted line."""
        return self.base + self.slope * number


def fit_growth(levels: Sequence[GrowthLevel]) -> Growth:
    """Fit a line and a curve to the values at several numbers, and name the form.

    Args:
        levels: at least three different numbers, each once.

    Raises:
        ValueError: there are fewer numbers, a number is repeated or below 0, or a value is below 0 or not
            finite.
    """
    points = tuple(sorted(levels, key=lambda level: level.number))
    _check(points)
    smallest = _smallest(points)
    numbers = np.array([point.number for point in points])
    values = np.array([point.value for point in points])
    deviations = np.maximum(
        [point.deviation for point in points], SMALLEST_DEVIATION * np.maximum(values, smallest)
    )
    drawn = np.random.default_rng(_SEED).normal(values, deviations, (DRAWS, len(points)))
    straight = _Fit(numbers, deviations, 1.0)
    curves = [_Fit(numbers, deviations, exponent) for exponent in _EXPONENTS]
    base, slope = map(float, straight.coefficients(values))
    best = curves[int(np.argmax([curve.explained(values) for curve in curves]))]
    slope_interval = _middle(straight.coefficients(drawn)[1])
    exponents = _EXPONENTS[np.argmax([curve.explained(drawn) for curve in curves], axis=0)]
    exponent_interval = _middle(exponents)
    span = float(numbers[-1] - numbers[0])
    first = max(base + slope * float(numbers[0]), smallest)
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
    """Weighted least squares of `base + part * number ** exponent` with a fixed exponent, for values along
    the last axis, so that one call fits all bootstrap draws.
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
        """Return the explained part of the weighted sum of squares around the mean: largest for the best
        curve.
        """
        squares: NDArray[np.float64] = (values @ self._pulls) ** 2 / self._spread
        return squares


def _form(rise: float, span_by_first: float, slope: Interval, exponent: Interval) -> Form:
    """Return the form of growth from the rise and the intervals; `span_by_first` converts a slope to a
    rise.
    """
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


def _smallest(points: Sequence[GrowthLevel]) -> float:
    """Return a value that is negligible against the largest one; 1 if all are 0."""
    return SMALLEST_DEVIATION * SMALLEST_DEVIATION * max(point.value for point in points) or 1.0


def _check(points: Sequence[GrowthLevel]) -> None:
    numbers = [point.number for point in points]
    if len(numbers) < FEWEST_LEVELS or len(set(numbers)) < len(numbers):
        msg = f"growth takes {FEWEST_LEVELS} different numbers, each once, not {numbers}"
        raise ValueError(msg)
    if numbers[0] < 0 or any(not 0 <= point.value < math.inf for point in points):
        msg = "numbers are at least 0, and values finite and at least 0"
        raise ValueError(msg)
