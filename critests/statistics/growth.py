"""How a value grows with a number of things: not at all, in proportion, or worse; and what one more costs.

Two curves are fitted to the values at several numbers, by least squares in which each value counts by how
surely it is known: a line, whose slope is the cost of one more, and `base + part * number ** exponent`, whose
exponent says whether it is a line. What the fits leave open is found by a bootstrap: both are made again for
values drawn anew around those that were measured, always with the same random numbers.

Sources: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapters 6 and 13, for the
parametric bootstrap and the percentile interval.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum, unique
from typing import Final

from critests.statistics.quantiles import Interval, quantile_of_sorted

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
_EXPONENTS: Final = tuple(step / 10 for step in range(2, 31))
"""Exponents that are tried; the best is known to a tenth. Below the first a curve is a logarithm."""
_SEED: Final = 20


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
class Level:
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
    levels: tuple[Level, ...]

    def line(self, number: float) -> float:
        """Return what the line says."""
        return self.base + self.slope * number


def fit_growth(levels: Sequence[Level], *, confidence: float = 0.95) -> Growth:
    """Fit a line and a curve to the values at several numbers, and name the form.

    Args:
        levels: at least three different numbers, each once.
        confidence: of the intervals.

    Raises:
        ValueError: there are fewer numbers, one is there twice or below 0, or a value is below 0 or
            not finite.
    """
    points = tuple(sorted(levels, key=lambda level: level.number))
    _check(points)
    least = _least(points)
    deviations = [max(point.deviation, FLOOR * point.value, FLOOR * least) for point in points]
    weights = [1 / deviation**2 for deviation in deviations]
    numbers, values = [point.number for point in points], [point.value for point in points]
    straight = _Fit(numbers, weights, 1.0)
    curves = [_Fit(numbers, weights, exponent) for exponent in _EXPONENTS]
    base, slope = straight.coefficients(values)
    best = max(curves, key=lambda curve: curve.explained(values))
    drawn = _drawn(values, deviations)
    slopes = sorted(straight.coefficients(each)[1] for each in drawn)
    exponents = sorted(max(curves, key=lambda curve: curve.explained(each)).exponent for each in drawn)
    slope_interval, exponent_interval = _middle(slopes, confidence), _middle(exponents, confidence)
    span = numbers[-1] - numbers[0]
    first = max(base + slope * numbers[0], least)
    return Growth(
        form=_form(slope * span / first, span / first, slope_interval, exponent_interval),
        slope=slope,
        slope_interval=slope_interval,
        base=base,
        exponent=best.exponent,
        exponent_interval=exponent_interval,
        marginal=best.coefficients(values)[1] * best.exponent * numbers[-1] ** (best.exponent - 1),
        rise=slope * span / first,
        levels=points,
    )


class _Fit:
    """Weighted least squares of `base + part * number ** exponent`, the exponent given: what does not depend
    on the values is worked out once, as the bootstrap asks hundreds of times.
    """

    def __init__(self, numbers: Sequence[float], weights: Sequence[float], exponent: float) -> None:
        self.exponent = exponent
        self._weights = weights
        self._powers: list[float] = [number**exponent for number in numbers]
        self._total = sum(weights)
        self._mean = sum(w * x for w, x in zip(weights, self._powers, strict=True)) / self._total
        self._pulls = [w * (x - self._mean) for w, x in zip(weights, self._powers, strict=True)]
        self._spread = sum(p * (x - self._mean) for p, x in zip(self._pulls, self._powers, strict=True))

    def coefficients(self, values: Sequence[float]) -> tuple[float, float]:
        """Return base and part."""
        part = sum(p * y for p, y in zip(self._pulls, values, strict=True)) / self._spread
        mean = sum(w * y for w, y in zip(self._weights, values, strict=True)) / self._total
        return mean - part * self._mean, part

    def explained(self, values: Sequence[float]) -> float:
        """Return by how much the curve lessens the weighted sum of squares around the mean: the best curve
        lessens it most.
        """
        return sum(p * y for p, y in zip(self._pulls, values, strict=True)) ** 2 / self._spread


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


def _drawn(values: Sequence[float], deviations: Sequence[float]) -> list[list[float]]:
    """Return values drawn anew around the measured ones, the same for the same values."""
    source = random.Random(_SEED)  # noqa: S311 - repeatable, not secret
    return [
        [source.gauss(value, deviation) for value, deviation in zip(values, deviations, strict=True)]
        for _ in range(DRAWS)
    ]


def _middle(ordered: Sequence[float], confidence: float) -> Interval:
    tail = (1 - confidence) / 2
    return Interval(quantile_of_sorted(ordered, tail), quantile_of_sorted(ordered, 1 - tail), confidence)


def _least(points: Sequence[Level]) -> float:
    """A value that counts as nothing beside the largest one; where all are 0, any."""
    return FLOOR * FLOOR * max(point.value for point in points) or 1.0


def _check(points: Sequence[Level]) -> None:
    numbers = [point.number for point in points]
    if len(numbers) < FEWEST_LEVELS or len(set(numbers)) < len(numbers):
        msg = f"growth takes {FEWEST_LEVELS} different numbers, each once, not {numbers}"
        raise ValueError(msg)
    if numbers[0] < 0 or any(not 0 <= point.value < math.inf for point in points):
        msg = "numbers are at least 0, and values finite and at least 0"
        raise ValueError(msg)
