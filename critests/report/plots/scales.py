"""Axes: the mapping from values to coordinates, and the ticks."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_DECADE: Final = 10.0
_MANY_DECADES: Final = 2.2
"""Above this number of decades a logarithmic axis has ticks only at powers of ten."""


@dataclass(frozen=True)
class Scale:
    """One axis.

    Attributes:
        low: Value at its start.
        high: Value at its end; above `low`.
        start: Coordinate of `low`.
        end: Coordinate of `high`.
        logarithmic: Whether the axis is logarithmic.
        ticks: Values of the ticks, ascending.
    """

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool
    ticks: tuple[float, ...]

    def __call__(self, value: float) -> float:
        """Return the coordinate of a value; values outside are clamped to the edge."""
        bounded = min(max(value, self.low), self.high)
        if self.logarithmic:
            part = math.log(bounded / self.low) / math.log(self.high / self.low)
        else:
            part = (bounded - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)


def spans_a_decade(values: Iterable[float]) -> bool:
    """Return whether positive values differ by more than a factor of ten."""
    positive = [value for value in values if value > 0]
    return bool(positive) and max(positive) > _DECADE * min(positive)


def linear(values: Iterable[float], start: float, end: float, *, zero: bool = False, count: int = 5) -> Scale:
    """Return a linear axis for the values, with about `count` ticks at round numbers.

    Args:
        values: The values; without any the axis goes from 0 to 1.
        start: Coordinate of the smallest.
        end: Coordinate of the largest.
        zero: Whether the axis starts at 0.
        count: Approximate number of ticks.
    """
    finite = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    low, high = (0.0 if zero else min(finite)), max(finite)
    if high <= low:
        low, high = (0.0, high) if high > 0 else (low, low + 1.0)
    step = nice_step((high - low) / max(count - 1, 1))
    low = 0.0 if zero else math.floor(low / step + 1e-9) * step
    high = math.ceil(high / step - 1e-9) * step
    number = round((high - low) / step)
    return Scale(low, high, start, end, False, tuple(low + step * index for index in range(number + 1)))


def logarithmic(values: Iterable[float], start: float, end: float) -> Scale:
    """Return a logarithmic axis for the positive values, with ticks at 1, 2, 5, 10 or at powers of ten.

    Raises:
        ValueError: no value is above 0.
    """
    positive = [value for value in values if value > 0 and math.isfinite(value)]
    if not positive:
        msg = "a logarithmic axis needs a value above 0"
        raise ValueError(msg)
    low, high = min(positive), max(positive)
    factors = (1.0, 2.0, 5.0) if math.log10(high / low) <= _MANY_DECADES else (1.0,)
    marks = [
        factor * 10.0**exponent
        for exponent in range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
        for factor in factors
    ]
    first = max(index for index, mark in enumerate(marks) if mark <= low * (1 + 1e-9))
    last = min(index for index, mark in enumerate(marks) if mark >= high * (1 - 1e-9))
    if first == last:
        last += 1
    return Scale(marks[first], marks[last], start, end, True, tuple(marks[first : last + 1]))


def levels(values: Sequence[float], start: float, end: float) -> Scale:
    """Return an axis for fixed levels, such as 1, 2, 4 … 64: a tick at each, logarithmic if they span more
    than a decade.
    """
    ticks = tuple(sorted(set(values)))
    low, high = ticks[0], ticks[-1]
    if low == high:
        low, high = low - 0.5, high + 0.5
    log = low > 0 and spans_a_decade(ticks)
    return Scale(low, high, start, end, log, ticks)


def nice_step(rough: float) -> float:
    """Return the smallest of 1, 2, 2.5, 5 times a power of ten that is not below `rough`."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next(
        factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= rough * (1 - 1e-9)
    )


def tick_texts(scale: Scale, factor: float = 1.0) -> list[str]:
    """Return the labels of the ticks of an axis without superfluous digits: `0`, `2.5`, `5`, `7.5`, `1,000`.

    Args:
        scale: The axis.
        factor: Size of the displayed unit in the unit of the axis.
    """
    return [f"{round(tick / factor, 9) + 0.0:,.10g}" for tick in scale.ticks]
