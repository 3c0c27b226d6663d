"""The distributions of the samples of both sides, drawn on one logarithmic axis."""

import math
from typing import Final

from markupsafe import Markup

from critests.report.comparison.model import Operation, OperationSide
from critests.report.comparison.names import Names
from critests.report.comparison.wording import amount
from critests.report.wording.quantities import reading

WIDTH: Final = 200
_EDGE: Final = 8.0
_ROWS: Final = (11.0, 25.0)
_AXIS: Final = 36.0
HEIGHT: Final = 50
_INNER: Final = ("0.25", "0.75")


def shape(operation: Operation, names: Names) -> Markup:
    """Return both distributions as inline SVG; empty if a side has too few samples.

    The median is a mark, the middle half a thick line, and the range of the quantiles that the samples
    support a thin line. Side A is above, with a dot; side B below, with a square.
    """
    sides = [_ends(operation.a), _ends(operation.b)]
    values = [value for side in sides for value in side if value > 0 and math.isfinite(value)]
    if not all(sides) or not values:
        return Markup()
    low, high = min(values), max(values)
    margin = max(high / low, 1.02) ** 0.06
    low, high = low / margin, high * margin

    def place(value: float) -> float:
        share = math.log(max(value, low) / low) / math.log(high / low)
        return _EDGE + share * (WIDTH - 2 * _EDGE)

    label = "; ".join(
        f"{name}: median {amount(side.value, operation.unit)}, from {amount(ends[0], operation.unit)} to"
        f" {amount(ends[-1], operation.unit)}"
        for name, side, ends in zip((names.a, names.b), (operation.a, operation.b), sides, strict=True)
    )
    parts = [
        Markup(
            '<svg class="shape" role="img" aria-label="{}" viewBox="0 0 {} {}" width="{}" height="{}">'
        ).format(label, WIDTH, HEIGHT, WIDTH, HEIGHT)
    ]
    for kind, y, side, ends in zip("ab", _ROWS, (operation.a, operation.b), sides, strict=True):
        parts.append(_line(f"{kind} thin", place(ends[0]), place(ends[-1]), y))
        inner = [side.quantiles[name] for name in _INNER if name in side.quantiles]
        if len(inner) == len(_INNER):
            parts.append(_line(f"{kind} thick", place(inner[0]), place(inner[1]), y))
        x = place(side.value or ends[0])
        mark = (
            '<circle class="{}" cx="{:.1f}" cy="{}" r="4.5"/>'
            if kind == "a"
            else '<path class="{}" d="M{:.1f} {}m-4 -4h8v8h-8z"/>'
        )
        parts.append(Markup(mark).format(kind, x, y))  # noqa: S704 - one of the two texts above
    parts.append(_line("axis", _EDGE, WIDTH - _EDGE, _AXIS))
    shown = reading(operation.unit, high)  # one unit on one axis
    for anchor, x, value in (("start", _EDGE, low * margin), ("end", WIDTH - _EDGE, high / margin)):
        parts.append(
            Markup('<text x="{}" y="{}" text-anchor="{}">{}</text>').format(
                x, HEIGHT - 2, anchor, shown.text(value)
            )
        )
    return Markup("").join([*parts, Markup("</svg>")])


def _ends(side: OperationSide) -> list[float]:
    """Return the quantiles of a side in ascending order; none if it has a single one."""
    return sorted(side.quantiles.values()) if len(side.quantiles) > 1 else []


def _line(kind: str, x1: float, x2: float, y: float) -> Markup:
    return Markup('<line class="{}" x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>').format(
        kind, x1, max(x2, x1 + 1), y, y
    )
