"""The phases of a pod start: a bar for each kind of pod, a part for each phase."""

from collections.abc import Mapping, Sequence
from typing import Final

from critests.record.units import SECONDS
from critests.report.plots.drawing import COLOURS, LETTER, RIGHT, WIDTH, Key, Sheet, shortened
from critests.report.plots.scales import Scale, linear, tick_texts
from critests.report.wording.quantities import reading

BAR: Final = 30.0
GAP: Final = 16.0
NAMES: Final = {"cni": "CNI", "oci": "OCI runtime", "rest": "rest"}
"""Phases in drawing order, and their names; other phases follow under their own names."""


def phase_split(bars: Sequence[tuple[str, Mapping[str, float]]], *, title: str) -> str:
    """Draw a stacked bar for each kind of pod start.

    Args:
        bars: For each bar its name, and phase to median in seconds.
        title: Name of the plot.

    Returns:
        The SVG, or an empty text if there is nothing to draw.
    """
    drawn = [
        (shortened(name, 50), {phase: value for phase, value in parts.items() if value > 0})
        for name, parts in bars
    ]
    drawn = [(name, parts) for name, parts in drawn if parts]
    if not drawn:
        return ""
    found = dict.fromkeys(phase for _, parts in drawn for phase in parts)
    phases = [
        *(phase for phase in NAMES if phase in found),
        *(phase for phase in found if phase not in NAMES),
    ][:COLOURS]
    totals = [sum(parts.get(phase, 0.0) for phase in phases) for _, parts in drawn]
    shown = reading(SECONDS, max(totals))
    keys = [Key(NAMES.get(phase, phase), f"part c{number}") for number, phase in enumerate(phases, 1)]
    sheet = Sheet(len(drawn) * (BAR + GAP + 18) + 4, keys, left=10)
    x = linear([0, *totals], sheet.left, WIDTH - RIGHT, zero=True, count=6)
    none = Scale(0.0, 1.0, sheet.bottom, sheet.top, logarithmic=False, ticks=())
    sheet.axes(x, none, f"{shown.suffix}, medians of the parts", "", tick_texts(x, shown.factor), [])
    sentences = []
    for row, ((name, parts), total) in enumerate(zip(drawn, totals, strict=True)):
        top = sheet.top + row * (BAR + GAP + 18) + 20
        sheet.add("text", f"{name}: {shown.text(total)}", x=sheet.left + 4, y=top - 6)
        place = 0.0
        for number, phase in enumerate(phases, 1):
            value = parts.get(phase, 0.0)
            left, right = x(place), x(place + value)
            if value > 0:
                sheet.add(
                    "rect", kind=f"part c{number}", x=left, y=top, width=max(right - left, 0.8), height=BAR
                )
                text = f"{shown.number(value)} ({value / total:.0%})"
                short = shown.number(value)
                fitting = next((each for each in (text, short) if len(each) * LETTER + 8 < right - left), "")
                if fitting:
                    sheet.add(
                        "text",
                        fitting,
                        kind="on",
                        x=(left + right) / 2,
                        y=top + BAR / 2 + 4.5,
                        text_anchor="middle",
                    )
            place += value
        parts_text = ", ".join(
            f"{NAMES.get(phase, phase)} {shown.text(parts[phase])}" for phase in phases if phase in parts
        )
        sentences.append(f"{name}: {shown.text(total)}: {parts_text}")
    return sheet.svg(title, f"Time of the phases. {'; '.join(sentences)}.")
