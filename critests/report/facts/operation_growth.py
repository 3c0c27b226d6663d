"""How the operations of a run grow with a number of things, such as pods: the form, and what one more costs.

Worked out from the numbers of the record, so that a run of last year has its growth too. An operation has one
where it was measured at three numbers or more of one dimension, all else being equal.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from critests.record.operations import OperationResult
from critests.record.samples import BYTES, COUNT, SECONDS
from critests.report.facts.operation_names import label, median
from critests.report.wording.quantities import digits, quantity, reading
from critests.statistics.growth import FEWEST_LEVELS, Form, Growth, GrowthLevel, fit_growth

CONCURRENCY: Final = frozenset({"concurrency", "parallel", "users"})
"""Dimensions that say how many calls were under way at once."""
UNITS: Final = frozenset({SECONDS, BYTES, COUNT})
"""Of what can cost something; a rate costs nothing."""
_TO_DEVIATION: Final = 1 / (2 * 1.96)
"""Of the width of a 95 % interval."""
_OF_MAD: Final = 1.4826 * 1.2533
"""The standard deviation of a median by the median absolute deviation, for the square root of the number."""
FEWEST_SAMPLES: Final = 3
"""At each number: of fewer nobody knows how far they lie apart."""
_ENOUGH_FOR_MAD: Final = 5
"""Samples; the median absolute deviation of fewer is often far too small."""
_SAID: Final = (Form.LINEAR, Form.LESS, Form.WORSE, Form.GROWS)
"""Forms of which a cost per thing can be told."""


@dataclass(frozen=True)
class Grown:
    """An operation and how it grows; texts are ready to be printed.

    Attributes:
        scenario: Id of its scenario.
        operation: What was timed, or looked at.
        dimensions: What was the same at all numbers.
        of: The dimension that differs, such as `pods`.
        side: `a`, `b` or empty.
        unit: Of its values.
        growth: What the values say.
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
        """The operation, with what was held fixed."""
        return label(self.operation, self.dimensions)

    @property
    def thing(self) -> str:
        """What one more of it is called: `pod`."""
        return self.of.removesuffix("s")

    @property
    def form(self) -> str:
        """How it grows, in words."""
        return self.growth.form.value

    @property
    def worse(self) -> bool:
        """Whether it grows faster than what it grows with."""
        return self.growth.form is Form.WORSE

    @property
    def grows(self) -> bool:
        """Whether it is proven to grow, so that a cost per thing can be told."""
        return self.growth.form in _SAID

    @property
    def cost(self) -> str:
        """What one more costs, with its interval; empty where nothing can be said, or nothing is to be."""
        found = self.growth
        if not self.grows:
            return ""
        shown = reading(self.unit, found.slope)
        bounds = f"{shown.number(found.slope_interval.low)} to {shown.number(found.slope_interval.high)}"
        return f"{shown.text(found.slope)} a {self.thing} ({bounds})"

    @property
    def bends(self) -> str:
        """The exponent with its interval, and what the next one costs where each has not cost the same."""
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
        """The values at the smallest and at the largest number."""
        first, last = self.growth.levels[0], self.growth.levels[-1]
        return " to ".join(
            f"{quantity(level.value, self.unit)} at {level.number:,.10g}" for level in (first, last)
        )

    @property
    def sentence(self) -> str:
        """All of it in one line, without the name."""
        return "; ".join(filter(None, (self.form, self.cost, self.range, self.bends)))


@dataclass(frozen=True)
class GrowthDifference:
    """Where two sides grow differently.

    Attributes:
        scenario: Id of the scenario.
        sentence: What differs, with what it costs either side; the cheaper one first.
    """

    scenario: str
    sentence: str


class _Key(NamedTuple):
    """What the points of one curve have in common."""

    scenario: str
    operation: str
    unit: str
    of: str
    rest: tuple[tuple[str, str], ...]
    side: str


def growths(operations: Iterable[OperationResult]) -> list[Grown]:
    """Return the growth of every operation that was measured at three numbers or more, in the order in which
    they were measured, the sides of each together.
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


def beside(found: Iterable[Grown], names: dict[str, str]) -> list[GrowthDifference]:
    """Return where the two sides of a live comparison grow differently: where what one more costs does not
    overlap in its intervals, or where only one of them grows worse than linearly.

    Args:
        found: Both sides, as `growths` has them.
        names: `a` and `b` to what the sides are called.
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
    """Return what one more costs, of a growth that is not proven only what it does not exceed."""
    if each.grows:
        return quantity(each.growth.slope, each.unit)
    most = each.growth.slope_interval.high
    return f"at most {quantity(most, each.unit)}" if most > 0 else "nothing"


def counted(dimension: str, dimensions: dict[str, str]) -> float | None:
    """Return the number of things that a dimension holds; None where it is no number, or one of calls at
    once.
    """
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
    """Whether a curve can be fitted: a gauge may be negative, and nothing grows from there."""
    values = [found.value for found in map(median, points.values()) if found is not None]
    return all(0 <= value < math.inf for value in values)


def _level(number: float, found: OperationResult) -> GrowthLevel:
    middle = median(found)
    assert middle is not None  # `growths` takes no other
    return GrowthLevel(number, middle.value, _deviation(found))


def _deviation(found: OperationResult) -> float:
    """Return how surely the median is known: by its interval, by the spread of few samples, by their
    range.
    """
    middle = median(found)
    if middle is not None and middle.low is not None and middle.high is not None:
        return (middle.high - middle.low) * _TO_DEVIATION
    if found.mad and found.count >= _ENOUGH_FOR_MAD:
        return _OF_MAD * found.mad / math.sqrt(found.count)
    if found.minimum is not None and found.maximum is not None:
        return (found.maximum - found.minimum) / 2
    return 0.0
