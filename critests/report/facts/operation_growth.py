"""How the cost of operations grows with the number of objects, such as pods: the form, and the cost of one
more.

It is computed from the numbers of the record, so old runs have it too. An operation must be measured at three
or more values of one dimension, with all others equal.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from critests.record.operations import OperationResult
from critests.record.units import BYTES, COUNT, SECONDS
from critests.report.facts.operation_names import label, median
from critests.report.wording.quantities import digits, quantity, reading
from critests.statistics.growth import FEWEST_LEVELS, Form, Growth, GrowthLevel, fit_growth

CONCURRENCY: Final = frozenset({"concurrency", "parallel", "users"})
"""Dimensions that are a number of concurrent calls."""
UNITS: Final = frozenset({SECONDS, BYTES, COUNT})
"""Units of a cost; a rate is none."""
_TO_DEVIATION: Final = 1 / (2 * 1.96)
"""Standard deviation of a normal distribution per width of its 95 % interval."""
_OF_MAD: Final = 1.4826 * 1.2533
"""Factor from the median absolute deviation to the standard deviation of a median, before the division by the
square root of the number of samples: 1.4826 estimates the standard deviation of a normal distribution, of
whose median the error is 1.2533 times that of the mean.
"""
FEWEST_SAMPLES: Final = 3
"""Samples at each value; fewer say nothing about their spread."""
_ENOUGH_FOR_MAD: Final = 5
"""Samples; the median absolute deviation of fewer is often far too small."""
_GROWING: Final = (Form.LINEAR, Form.LESS, Form.WORSE, Form.GROWS)
"""Forms with a cost per object."""


@dataclass(frozen=True)
class Grown:
    """The growth of an operation, with its texts.

    Attributes:
        scenario: Id of its scenario.
        operation: What was timed or measured.
        dimensions: Dimensions that were the same at all values.
        of: The dimension that grows, such as `pods`.
        side: `a`, `b` or empty.
        unit: Unit of the cost.
        growth: The fitted growth.
    """

    scenario: str
    operation: str
    of: str
    side: str
    unit: str
    growth: Growth
    dimensions: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The operation, with its fixed dimensions."""
        return label(self.operation, self.dimensions)

    @property
    def thing(self) -> str:
        """Singular of the dimension: `pod`."""
        return self.of.removesuffix("s")

    @property
    def form(self) -> str:
        """Form of the growth, in words."""
        return self.growth.form.value

    @property
    def worse(self) -> bool:
        """Whether it grows worse than linearly."""
        return self.growth.form is Form.WORSE

    @property
    def grows(self) -> bool:
        """Whether the growth is significant, so that there is a cost per object."""
        return self.growth.form in _GROWING

    @property
    def cost(self) -> str:
        """The cost of one more object with its interval; empty unless the growth is significant."""
        found = self.growth
        if not self.grows:
            return ""
        shown = reading(self.unit, found.slope)
        bounds = f"{shown.number(found.slope_interval.low)} to {shown.number(found.slope_interval.high)}"
        return f"{shown.text(found.slope)} per {self.thing} ({bounds})"

    @property
    def bends(self) -> str:
        """The exponent with its interval and, unless the growth is linear, the cost of the next object."""
        found = self.growth
        if not self.grows:
            return ""
        bounds = f"{digits(found.exponent_interval.low)} to {digits(found.exponent_interval.high)}"
        last = ""
        if found.form in {Form.LESS, Form.WORSE}:
            largest = f"{found.levels[-1].number:,.10g}"
            last = f"; at {largest} the next {self.thing} costs {quantity(found.marginal, self.unit)}"
        return f"exponent {digits(found.exponent)} ({bounds}){last}"

    @property
    def range(self) -> str:
        """The cost at the smallest and at the largest number of objects."""
        first, last = self.growth.levels[0], self.growth.levels[-1]
        return " to ".join(
            f"{quantity(level.value, self.unit)} at {level.number:,.10g}" for level in (first, last)
        )

    @property
    def sentence(self) -> str:
        """Form, cost, range and exponent in one line, without the name."""
        return "; ".join(filter(None, (self.form, self.cost, self.range, self.bends)))


@dataclass(frozen=True)
class GrowthDifference:
    """An operation that grows differently on two sides.

    Attributes:
        scenario: Id of the scenario.
        sentence: The difference, with the cost on both sides, the lower one first.
    """

    scenario: str
    sentence: str


class _Key(NamedTuple):
    """The key of a curve."""

    scenario: str
    operation: str
    unit: str
    of: str
    rest: tuple[tuple[str, str], ...]
    side: str


def growths(operations: Iterable[OperationResult]) -> list[Grown]:
    """Return the growth of every operation that was measured at three or more values, in the order of the
    measurements, with both sides of an operation next to each other.
    """
    curves: dict[_Key, dict[float, OperationResult]] = {}
    for found in operations:
        for of in found.dimensions if found.unit in UNITS else ():
            number = counted(of, found.dimensions)
            if number is not None and found.count >= FEWEST_SAMPLES and median(found) is not None:
                rest = tuple(sorted((name, value) for name, value in found.dimensions.items() if name != of))
                key = _Key(found.scenario, found.operation, found.unit, of, rest, found.side)
                curves.setdefault(key, {})[number] = found
    fitted = [
        _grown(key, points)
        for key, points in curves.items()
        if len(points) >= FEWEST_LEVELS and _fits(points)
    ]
    order: dict[tuple[str, str, str], int] = {}
    for each in fitted:
        order.setdefault((each.scenario, each.name, each.of), len(order))
    return sorted(fitted, key=lambda each: (order[each.scenario, each.name, each.of], each.side))


def growth_differences(found: Iterable[Grown], names: dict[str, str]) -> list[GrowthDifference]:
    """Return where the two sides of a live comparison grow differently: the intervals of the cost of one more
    object do not overlap, or only one side grows worse than linearly.

    Args:
        found: Both sides, as `growths` returns them.
        names: `a` and `b` to the names of the sides.
    """
    pairs: dict[tuple[str, str, str, str], dict[str, Grown]] = {}
    for each in found:
        pairs.setdefault((each.scenario, each.name, each.of, each.unit), {})[each.side] = each
    compared = [
        sorted((pair["a"], pair["b"]), key=lambda each: each.growth.slope)
        for pair in pairs.values()
        if pair.keys() >= {"a", "b"}
    ]
    return [
        GrowthDifference(less.scenario, _difference(less, more, names))
        for less, more in compared
        if less.worse != more.worse
        or (less.growth.slope_interval.high < more.growth.slope_interval.low and more.grows)
    ]


def _difference(less: Grown, more: Grown, names: dict[str, str]) -> str:
    costs = " and ".join(f"{names.get(each.side, each.side)} {_cost(each)}" for each in (less, more))
    bent = [names.get(each.side, each.side) for each in (less, more) if each.worse]
    worse = f"; {bent[0]} grows worse than linearly" if len(bent) == 1 else ""
    return f"{less.name}: one more {less.thing} costs {costs}{worse}"


def _cost(each: Grown) -> str:
    """Return the cost of one more object; its upper bound if the growth is not significant."""
    if each.grows:
        return quantity(each.growth.slope, each.unit)
    most = each.growth.slope_interval.high
    return f"at most {quantity(most, each.unit)}" if most > 0 else "nothing"


def counted(dimension: str, dimensions: dict[str, str]) -> float | None:
    """Return the number of objects of a dimension; None if it is not a number, or one of concurrent calls."""
    if dimension in CONCURRENCY:
        return None
    try:
        number = float(dimensions.get(dimension, ""))
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def _grown(key: _Key, points: dict[float, OperationResult]) -> Grown:
    return Grown(
        scenario=key.scenario,
        operation=key.operation,
        of=key.of,
        side=key.side,
        unit=key.unit,
        growth=fit_growth([_level(number, found) for number, found in points.items()]),
        dimensions=dict(key.rest),
    )


def _fits(points: dict[float, OperationResult]) -> bool:
    """Whether a curve can be fitted: the medians must not be negative, as those of a gauge may be."""
    values = [found.value for found in map(median, points.values()) if found is not None]
    return all(0 <= value < math.inf for value in values)


def _level(number: float, found: OperationResult) -> GrowthLevel:
    middle = median(found)
    assert middle is not None  # `growths` skips the others
    return GrowthLevel(number, middle.value, _deviation(found))


def _deviation(found: OperationResult) -> float:
    """Return the standard deviation of the median: from its interval, or else from the median absolute
    deviation, or else half the range.
    """
    middle = median(found)
    if middle is not None and middle.low is not None and middle.high is not None:
        return (middle.high - middle.low) * _TO_DEVIATION
    if found.mad and found.count >= _ENOUGH_FOR_MAD:
        return _OF_MAD * found.mad / math.sqrt(found.count)
    if found.minimum is not None and found.maximum is not None:
        return (found.maximum - found.minimum) / 2
    return 0.0
