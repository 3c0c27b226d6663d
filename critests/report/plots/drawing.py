"""An SVG drawing: elements with escaped texts and attributes, axes, and a legend.

Sizes are user units; the page scales the drawing, whose text is readable even on a phone.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

from critests.report.plots.scales import Scale
from critests.report.wording.texts import one_line

WIDTH: Final = 480.0
LETTER: Final = 7.2
"""Largest average width of a letter, at the font size of the plots."""
ROW: Final = 19.0
LEFT, RIGHT, BOTTOM, TOP = 66.0, 16.0, 44.0, 12.0
LONGEST_KEY: Final = 60
"""Letters of a legend entry; as many as one row holds."""
COLOURS: Final = 6
"""Series that one plot can distinguish by colour, dashes and marks."""

STYLE: Final = (Path(__file__).parent / "plots.css").read_text(encoding="utf-8")
"""Included once in a page with plots; uses the colours of the page if it defines them (`--ink`, `--soft`,
`--line`, `--surface`).
"""


@dataclass(frozen=True)
class Key:
    """An entry of the legend.

    Attributes:
        text: Its text.
        sample: Class of the drawn sample: `line c1`, `dot c1`, `ring c1`, `cross`, `shade`, `mark`, `part
            c1`.
    """

    text: str
    sample: str


class Sheet:
    """A drawing to which elements are added."""

    def __init__(self, height: float, keys: Sequence[Key] = (), *, left: float = LEFT) -> None:
        """Create a drawing with its legend on top.

        Args:
            height: Height of the area between the axes.
            keys: Entries of the legend.
            left: Width that the labels of the vertical axis take.
        """
        self._parts: list[str] = []
        self.left, self.right = left, WIDTH - RIGHT
        self.top = TOP + self._legend(keys)
        self.bottom = self.top + height

    def add(self, tag: str, text: str | None = None, **attributes: float | str) -> None:
        """Add an element; underscores in names of attributes are hyphens, `kind` is the class."""
        written = "".join(f' {_attribute(name)}="{_value(value)}"' for name, value in attributes.items())
        self._parts.append(
            f"<{tag}{written}/>" if text is None else f"<{tag}{written}>{escape(one_line(text, 200))}</{tag}>"
        )

    def line(self, kind: str, points: Sequence[tuple[float, float]]) -> None:
        """Draw a line through points; nothing for a single point."""
        if len(points) > 1:
            self.add("path", kind=kind, d=path(points))

    def axes(
        self, x: Scale, y: Scale, x_label: str, y_label: str, x_texts: Sequence[str], y_texts: Sequence[str]
    ) -> None:
        """Draw grid, ticks and labels; leave out labels that would touch their neighbours.

        Args:
            x: The horizontal axis.
            y: The vertical axis.
            x_label: What it shows, with its unit.
            y_label: The same of the vertical one.
            x_texts: Texts of the ticks, one each.
            y_texts: The same of the vertical axis.
        """
        for value, text in zip(y.ticks, y_texts, strict=True):
            place = y(value)
            self.add("path", kind="grid", d=f"M{self.left:.1f} {place:.1f}H{self.right:.1f}")
            self.add("text", text, kind="soft", x=self.left - 7, y=place + 4.5, text_anchor="end")
        free = -math.inf
        for value, text in zip(x.ticks, x_texts, strict=True):
            place, half = x(value), len(text) * LETTER / 2
            if place - half < free:
                continue
            free = place + half + 6
            anchored = min(place, WIDTH - half - 1)
            self.add("path", kind="axis", d=f"M{place:.1f} {self.bottom:.1f}v4")
            self.add("text", text, kind="soft", x=anchored, y=self.bottom + 17, text_anchor="middle")
        self.add("path", kind="axis", d=f"M{self.left:.1f} {self.top:.1f}V{self.bottom:.1f}H{self.right:.1f}")
        self.add(
            "text",
            shortened(x_label, LONGEST_KEY - 10),
            x=(self.left + self.right) / 2,
            y=self.bottom + 36,
            text_anchor="middle",
        )
        middle = (self.top + self.bottom) / 2
        if y_label:
            self.add(
                "text",
                y_label,
                x=12,
                y=middle,
                text_anchor="middle",
                transform=f"rotate(-90 12 {middle:.1f})",
            )

    def svg(self, title: str, description: str) -> str:
        """Return the drawing as an element for a page.

        Args:
            title: Accessible name.
            description: Accessible description.
        """
        body = "".join(self._parts)
        name = (
            "plot-"
            + hashlib.sha256(f"{title}\0{description}\0{body}".encode("utf-8", "replace")).hexdigest()[:10]
        )
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" viewBox="0 0 {WIDTH:.0f}'
            f' {self.bottom + BOTTOM:.0f}" role="img" aria-labelledby="{name}-t"'
            f' aria-describedby="{name}-d"><title id="{name}-t">{escape(one_line(title, 300))}</title><desc'
            f' id="{name}-d">{escape(one_line(description, 1500))}</desc>{body}</svg>'
        )

    def _legend(self, keys: Sequence[Key]) -> float:
        """Draw the legend in as many rows as it needs; return its height."""
        x, y = 4.0, TOP
        for index, key in enumerate(keys):
            text = shortened(key.text, LONGEST_KEY)
            width = 34 + len(text) * LETTER
            if index and x + width > WIDTH:
                x, y = 4.0, y + ROW
            self._sample(key.sample, x, y + 1)
            self.add("text", text, x=x + 28, y=y + 5)
            x += width + 6
        return y + ROW + 5 - TOP if keys else 0.0

    def _sample(self, kind: str, x: float, y: float) -> None:
        first = kind.split(maxsplit=1)[0]
        if first in {"line", "mark"}:
            self.add("path", kind=kind, d=f"M{x:.1f} {y:.1f}h23")
        elif first in {"dot", "ring"}:
            self.add("circle", kind=kind, cx=x + 12, cy=y, r=4)
        elif first == "points":
            self.add("path", kind=kind, d=f"M{x + 4:.1f} {y + 2:.1f}h0m8 -3h0m8 4h0")
        elif first == "cross":
            self.add("path", kind=kind, d=cross(x + 12, y))
        else:
            self.add("rect", kind=kind, x=x + 4, y=y - 6, width=16, height=12)


def shortened(text: str, limit: int) -> str:
    """Return a text on one line, shortened in the middle, because names differ at their ends."""
    whole = one_line(text, 1000)
    half = (limit - 1) // 2
    return whole if len(whole) <= limit else f"{whole[: limit - 1 - half]}…{whole[len(whole) - half :]}"


def path(points: Sequence[tuple[float, float]]) -> str:
    """Return the path commands of a line through points."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def cross(x: float, y: float) -> str:
    """Return the path commands of a cross at a point."""
    size = 4.2
    return (
        f"M{x - size:.1f} {y - size:.1f}l{2 * size:.1f} {2 * size:.1f}m0 {-2 * size:.1f}l{-2 * size:.1f}"
        f" {2 * size:.1f}"
    )


def _attribute(name: str) -> str:
    return "class" if name == "kind" else name.replace("_", "-")


def _value(value: float | str) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
