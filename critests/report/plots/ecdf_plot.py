"""The empirical cumulative distribution of durations, for several series."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from critests.record.units import SECONDS
from critests.report.plots.drawing import COLOURS, LEFT, LONGEST_KEY, RIGHT, WIDTH, Key, Sheet, shortened
from critests.report.plots.scales import linear, logarithmic, spans_a_decade, tick_texts
from critests.report.plots.thinning import apart
from critests.report.wording.quantities import Reading, percentile, reading
from critests.statistics.quantiles import quantile, supports

HEIGHT: Final = 200.0
MARKED: Final = (0.5, 0.9, 0.99)
STEPS: Final = 800
"""Steps of a curve that are drawn: of a longer series a regular selection, and all of the slowest."""
_NEAR: Final = 1.2
"""Distance in user units below which two steps of a curve are merged."""


@dataclass(frozen=True)
class Sample:
    """Values with a name.

    Attributes:
        label: Its name in the legend.
        values: In any order; in seconds.
    """

    label: str
    values: Sequence[float]


def distribution(samples: Sequence[Sample], *, title: str) -> str:
    """Draw the share of values at or below each value, with marks at p50, p90 and p99 if the number of values
    supports them.

    The horizontal axis is logarithmic if the values span more than a decade.

    Args:
        samples: At most six are drawn; those without values are left out.
        title: Name of the plot.

    Returns:
        The SVG, or an empty text if there is nothing to draw.
    """
    drawn = [sample for sample in samples if sample.values][:COLOURS]
    if not drawn:
        return ""
    ordered = [sorted(sample.values) for sample in drawn]
    ends = [value for values in ordered for value in (values[0], values[-1])]
    shown = reading(SECONDS, max(quantile(values, 0.5) for values in ordered))
    axis = reading(SECONDS, max(ends))  # the largest value decides, so that no tick has more than four digits
    start, end = LEFT, WIDTH - RIGHT
    positive = min(ends) > 0
    x = logarithmic(ends, start, end) if positive and spans_a_decade(ends) else linear(ends, start, end)
    summaries = [_summary(sample.label, values, shown) for sample, values in zip(drawn, ordered, strict=True)]
    keys = [Key(text, f"line c{number}") for number, text in enumerate(summaries, 1)]
    sheet = Sheet(HEIGHT, keys)
    y = linear((0, 1), sheet.bottom, sheet.top, zero=True)
    sheet.axes(
        x,
        y,
        f"{axis.suffix or 'value'}{', logarithmic' if x.logarithmic else ''}",
        "share of samples",
        tick_texts(x, axis.factor),
        [f"{tick:.0%}" for tick in y.ticks],
    )
    for number, values in enumerate(ordered, 1):
        steps = [(x(values[0]), y(0))]
        stride = max(1, len(values) // STEPS)
        for index in sorted(
            {*range(0, len(values), stride), *range(max(len(values) - STEPS, 0), len(values))}
        ):
            value = values[index]
            steps += [(x(value), y(index / len(values))), (x(value), y((index + 1) / len(values)))]
        sheet.line(f"line c{number}", apart([*steps, (x(x.high), y(1))], _NEAR))
        for at in _marks(values):
            sheet.add("circle", kind=f"dot c{number}", cx=x(quantile(values, at)), cy=y(at), r=4)
    return sheet.svg(title, f"Cumulative distribution. {'. '.join(summaries)}.")


def _marks(values: Sequence[float]) -> list[float]:
    return [at for at in MARKED if supports(len(values), at)]


def _summary(label: str, values: Sequence[float], shown: Reading) -> str:
    marks = ", ".join(f"{percentile(str(at))} {shown.number(quantile(values, at))}" for at in _marks(values))
    text = f"{marks} {shown.suffix}".rstrip() if marks else f"{len(values)} samples"
    return f"{shortened(label, LONGEST_KEY - len(text) - 2)}: {text}"
