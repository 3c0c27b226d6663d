"""The spread of the samples of one table row, as a small plot inside the row."""

import math
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from critests.report.wording.texts import one_line

WIDTH, HEIGHT = 120, 16
_EDGE: Final = 5.0
_MIDDLE: Final = HEIGHT / 2


@dataclass(frozen=True)
class Spread:
    """The spread of the samples of a row, in one unit.

    Attributes:
        least: The smallest sample.
        most: The largest sample.
        median: The median, or None if there are too few samples.
        inner: p10 and p90, or None if there are too few samples.
    """

    least: float
    most: float
    median: float | None = None
    inner: tuple[float, float] | None = None


def strip(spread: Spread, axis: tuple[float, float], label: str) -> Markup:
    """Draw a thin line from the smallest to the largest sample, a thick one from p10 to p90, and a dot at the
    median, on a logarithmic axis. Draw nothing if the axis includes values that are not above 0.

    Args:
        spread: The spread.
        axis: Smallest and largest value of all rows on the same axis.
        label: Accessible text.
    """
    low, high = axis
    if not 0 < low <= high < math.inf:
        return Markup()

    def place(value: float) -> float:
        share = math.log(value / low) / math.log(high / low) if high > low else 0.5
        return _EDGE + min(max(share, 0.0), 1.0) * (WIDTH - 2 * _EDGE)

    parts = [
        Markup(
            '<svg class="strip" role="img" aria-label="{}" viewBox="0 0 {} {}" width="{}" height="{}">'
        ).format(one_line(label), WIDTH, HEIGHT, WIDTH, HEIGHT),
        _line("thin", place(spread.least), place(spread.most)),
    ]
    if spread.inner is not None:
        parts.append(_line("thick", place(spread.inner[0]), place(spread.inner[1])))
    if spread.median is not None:
        parts.append(Markup('<circle cx="{:.1f}" cy="{}" r="4"/>').format(place(spread.median), _MIDDLE))
    return Markup("").join([*parts, Markup("</svg>")])


def _line(kind: str, x1: float, x2: float) -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>').format(
        kind, x1, max(x2, x1 + 1), _MIDDLE, _MIDDLE
    )
