"""The time series of a run: values against time, the warm-up shaded, errors as crosses."""

from collections.abc import Sequence
from typing import Final

from critests.report.plots.drawing import LEFT, RIGHT, WIDTH, Key, Sheet, cross
from critests.report.plots.scales import linear, logarithmic, spans_a_decade, tick_texts
from critests.report.plots.thinning import COLUMNS, extremes
from critests.report.wording.quantities import digits, quantity, reading
from critests.statistics.quantiles import quantile

HEIGHT: Final = 180.0
DOTS: Final = 1000
"""Up to this number of samples are drawn as dots; more as a line through the extremes of each column."""
CROSSES: Final = 150
"""Most errors that are drawn; of more, every second, third and so on."""


def timeline(
    values: Sequence[float],
    at: Sequence[float],
    *,
    title: str,
    unit: str = "s",
    warm_up: int = 0,
    failed: Sequence[int] = (),
) -> str:
    """Draw values against the time at which they were measured.

    Args:
        values: In the order in which they were measured.
        at: Start of each, in seconds on any clock.
        title: Name of the plot.
        unit: Unit of the values.
        warm_up: Number of warm-up samples at the start.
        failed: Indices of the failed calls.

    Returns:
        The SVG, or an empty text with fewer than two samples.

    Raises:
        ValueError: the columns differ in length.
    """
    if len(values) != len(at):
        msg = f"each value has its time, but there are {len(values)} values and {len(at)} times"
        raise ValueError(msg)
    if len(values) < 2:
        return ""
    origin = min(at)
    wrong = {index for index in failed if 0 <= index < len(values)}
    good = sorted((at[index] - origin, values[index]) for index in range(len(values)) if index not in wrong)
    shown = reading(unit, max(values))
    dotted = len(good) <= DOTS
    keys = [
        Key(f"{len(good):,} samples" + ("" if dotted else ", thinned"), "points c1" if dotted else "line c1")
    ]
    keys += [Key(f"warm-up ({warm_up:,})", "shade")] * bool(warm_up) + [
        Key(f"errors ({len(wrong):,})", "cross")
    ] * bool(wrong)
    sheet = Sheet(HEIGHT, keys)
    x = linear([time - origin for time in at], LEFT, WIDTH - RIGHT, zero=True, count=6)
    log = min(values) > 0 and spans_a_decade(values)
    y = (
        logarithmic(values, sheet.bottom, sheet.top)
        if log
        else linear(values, sheet.bottom, sheet.top, zero=True)
    )
    if warm_up:
        ordered = sorted(at)
        until = x((ordered[warm_up] if warm_up < len(ordered) else ordered[-1]) - origin)
        sheet.add(
            "rect",
            kind="shade",
            x=LEFT,
            y=sheet.top,
            width=max(until - LEFT, 1.0),
            height=sheet.bottom - sheet.top,
        )
    y_label = f"{shown.suffix}{', logarithmic' if log else ''}".lstrip(", ")
    sheet.axes(x, y, "s since the first call", y_label, tick_texts(x), tick_texts(y, shown.factor))
    places = [(x(time), y(value)) for time, value in good]
    if dotted:
        sheet.add("path", kind="points c1", d="".join(f"M{left:.1f} {top:.1f}h0" for left, top in places))
    else:
        sheet.line("line thin c1", extremes(places, COLUMNS))
    stride = max(1, -(-len(wrong) // CROSSES))
    if wrong:
        sheet.add(
            "path",
            kind="cross",
            d="".join(cross(x(at[index] - origin), y(values[index])) for index in sorted(wrong)[::stride]),
        )
    middle = quantity(quantile(values, 0.5), unit)
    words = (
        f"{len(values):,} samples in {digits(max(at) - origin)} s, median {middle}, {warm_up:,} of them"
        " warm-up"
    )
    thinned = "" if dotted else " Only the lowest and highest values of each interval are drawn."
    return sheet.svg(title, f"Values against time. {words}, {len(wrong):,} errors.{thinned}")
