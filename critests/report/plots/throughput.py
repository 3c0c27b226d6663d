"""Throughput against concurrency, the fitted universal scalability law, and its knee."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from critests.report.plots.drawing import COLOURS, LEFT, RIGHT, WIDTH, Key, Sheet
from critests.report.plots.scales import levels, linear, tick_texts
from critests.report.wording.quantities import Reading, digits, reading
from critests.statistics.knee import Scalability, fit_scalability

HEIGHT: Final = 200.0
DESCRIBES: Final = 0.9
"""The law is drawn only if it explains more than this share of the variance; otherwise it does not fit."""
_STEPS: Final = 120


def throughput(
    curves: Sequence[tuple[str, Mapping[float, Sequence[float]]]], *, title: str, unit: str = "1/s"
) -> str:
    """Draw throughput against concurrency: the median of each level with its range, and the fitted law with
    its knee.

    Args:
        curves: For each curve its name, and concurrency to throughputs; at most six are drawn.
        title: Name of the plot.
        unit: Unit of the throughputs.

    Returns:
        The SVG, or an empty text if no curve has two levels.
    """
    drawn = [
        (name, points)
        for name, found in curves
        if len(points := {level: found[level] for level in sorted(found) if found[level]}) > 1
    ]
    drawn = drawn[:COLOURS]
    if not drawn:
        return ""
    laws = [law_of(points) for _, points in drawn]
    shown = reading(unit, max(value for _, points in drawn for values in points.values() for value in values))
    keys = []
    for number, ((name, _), law) in enumerate(zip(drawn, laws, strict=True), 1):
        keys.append(Key(f"{name}, measured", f"dot c{number}"))
        if law:
            knee = f", knee at {digits(law.knee)}" if law.knee is not None else ", no knee"
            keys.append(Key(f"fitted{knee}", f"line c{number}"))
    sheet = Sheet(HEIGHT, keys)
    x = levels([level for _, points in drawn for level in points], LEFT + 6, WIDTH - RIGHT)
    y = linear(
        [value for _, points in drawn for values in points.values() for value in values],
        sheet.bottom,
        sheet.top,
        zero=True,
    )
    x_label = f"concurrency{', logarithmic' if x.logarithmic else ''}"
    sheet.axes(x, y, x_label, shown.suffix, tick_texts(x), tick_texts(y, shown.factor))
    for number, ((_, points), law) in enumerate(zip(drawn, laws, strict=True), 1):
        places = {level: median(values) for level, values in points.items()}
        if law:
            sheet.line(
                f"line c{number}",
                [
                    (x(level), y(law.throughput(level)))
                    for level in _between(x.low, x.high, log=x.logarithmic)
                ],
            )
            if law.knee is not None:
                sheet.add(
                    "path",
                    kind=f"line thin c{number}",
                    d=f"M{x(law.knee):.1f} {sheet.bottom:.1f}V{y(law.throughput(law.knee)):.1f}",
                )
        else:
            sheet.line(f"line thin c{number}", [(x(level), y(value)) for level, value in places.items()])
        for level, values in points.items():
            if len(values) > 1:
                sheet.add(
                    "path",
                    kind=f"line thin solid c{number}",
                    d=f"M{x(level):.1f} {y(min(values)):.1f}V{y(max(values)):.1f}",
                )
            sheet.add("circle", kind=f"dot c{number}", cx=x(level), cy=y(places[level]), r=4)
    words = "; ".join(
        _words(name, points, law, shown) for (name, points), law in zip(drawn, laws, strict=True)
    )
    return sheet.svg(title, f"Throughput against concurrency. {words}.")


def law_of(points: Mapping[float, Sequence[float]]) -> Scalability | None:
    """Return the fitted law if it fits the measurements (determination above 0.9), else None."""
    measured = [
        (level, value) for level, values in points.items() for value in values if level >= 1 and value > 0
    ]
    try:
        law = fit_scalability(measured)
    except ValueError:
        return None  # fewer than four levels
    return law if law.determination > DESCRIBES else None


def _between(low: float, high: float, *, log: bool) -> list[float]:
    if log:
        return [low * (high / low) ** (step / _STEPS) for step in range(_STEPS + 1)]
    return [low + (high - low) * step / _STEPS for step in range(_STEPS + 1)]


def _words(
    name: str, points: Mapping[float, Sequence[float]], law: Scalability | None, shown: Reading
) -> str:
    measured = ", ".join(f"{shown.text(median(values))} at {level:,.10g}" for level, values in points.items())
    if law is None:
        return f"{name}: {measured}; the scalability law does not fit"
    knee = f"knee at {digits(law.knee)}" if law.knee is not None else "no knee in this range"
    return f"{name}: {measured}; {knee}, contention {law.contention:.1%}"
