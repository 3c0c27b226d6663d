"""Cost against a number of objects: latency by the number of containers, images, layers or mounts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from critests.report.plots.drawing import COLOURS, LEFT, RIGHT, WIDTH, Key, Sheet, path
from critests.report.plots.scales import linear, tick_texts
from critests.report.wording.quantities import reading

HEIGHT: Final = 200.0


@dataclass(frozen=True)
class ScalingPoint:
    """The values at one number of objects.

    Attributes:
        number: The number of objects.
        median: Median, in the unit of the plot.
        low: Lower end of its confidence interval, or None.
        high: Upper end, or None.
        p99: 99th percentile if the number of samples supports it, or None.
    """

    number: float
    median: float
    low: float | None = None
    high: float | None = None
    p99: float | None = None


def against_number(
    curves: Sequence[tuple[str, Sequence[ScalingPoint]]], *, of: str, title: str, unit: str = "s"
) -> str:
    """Draw medians against a number of objects, with bands of their confidence intervals, and p99 as rings.

    Both axes are linear, so that the slope is the cost per object.

    Args:
        curves: A name and its levels each; at most six are drawn.
        of: The counted objects, such as `containers`.
        title: Name of the plot.
        unit: Unit of the values.

    Returns:
        The SVG, or an empty text if no curve has two points.
    """
    drawn = [
        (name, sorted(levels, key=lambda level: level.number)) for name, levels in curves if len(levels) > 1
    ][:COLOURS]
    if not drawn:
        return ""
    every = [level for _, levels in drawn for level in levels]
    heights = [
        value
        for level in every
        for value in (level.median, level.low, level.high, level.p99)
        if value is not None
    ]
    shown = reading(unit, max(heights))
    tails = any(level.p99 is not None for level in every)
    bands = any(level.low is not None for level in every)
    keys = [Key(f"{name}, median", f"line c{number}") for number, (name, _) in enumerate(drawn, 1)]
    keys += [Key("95 % interval of the median", "band c1")] * bands + [Key("p99", "ring c1")] * tails
    sheet = Sheet(HEIGHT, keys)
    x = linear([level.number for level in every], LEFT, WIDTH - RIGHT, zero=True, count=6)
    y = linear(heights, sheet.bottom, sheet.top, zero=True)
    sheet.axes(x, y, f"number of {of}", shown.suffix, tick_texts(x), tick_texts(y, shown.factor))
    for number, (_, levels) in enumerate(drawn, 1):
        upper = [(x(level.number), y(level.median if level.high is None else level.high)) for level in levels]
        lower = [(x(level.number), y(level.median if level.low is None else level.low)) for level in levels]
        sheet.add("path", kind=f"band c{number}", d=f"{path([*upper, *reversed(lower)])}Z")
        sheet.line(f"line c{number}", [(x(level.number), y(level.median)) for level in levels])
        for level in levels:
            sheet.add("circle", kind=f"dot c{number}", cx=x(level.number), cy=y(level.median), r=3.4)
            if level.p99 is not None:
                sheet.add("circle", kind=f"ring c{number}", cx=x(level.number), cy=y(level.p99), r=3.2)
    words = "; ".join(
        f"{name}: " + ", ".join(f"{shown.text(level.median)} at {level.number:,.10g}" for level in levels)
        for name, levels in drawn
    )
    return sheet.svg(title, f"Median against the number of {of}. {words}.")
