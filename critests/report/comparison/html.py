"""A comparison as one self-contained page, in the look of the run's own page and as inert as it is."""

import math
from typing import Final

from markupsafe import Markup

from critests.report.comparison.model import Operation, RunComparison
from critests.report.comparison.summary import conformance_sentence, method_sentence, speed_sentence, why
from critests.report.comparison.wording import (
    amount,
    error_words,
    interval,
    operation_label,
    percent,
    ratio,
    verdict_word,
)
from critests.report.page.templating import SYMBOLS, environment, source
from critests.statistics import Verdict

TESTS_LISTED: Final = 300
TONES: Final = {
    Verdict.SLOWER.value: "failed",
    Verdict.FASTER.value: "passed",
    Verdict.TOO_NOISY.value: "warned",
}
WIDEST: Final = 2.0
"""The picture of a ratio reaches from one over this to this, on a logarithmic scale; what lies beyond ends in
an arrow.
"""
WIDTH: Final = 110
_HEIGHT: Final = 18


def comparison_to_html(comparison: RunComparison) -> str:
    """Return the page of a comparison: no network, no script, light and dark."""
    templates = environment("critests.report.comparison")
    style = source(templates, "style.css") + source(templates, "compare.css")
    return templates.get_template("compare.html.j2").render(
        comparison=comparison,
        amount=amount,
        error_words=error_words,
        interval=interval,
        operation_label=operation_label,
        percent=percent,
        picture=picture,
        ratio=ratio,
        verdict_word=verdict_word,
        why=why,
        speed_sentence=speed_sentence(comparison),
        conformance_sentence=conformance_sentence(comparison),
        method=method_sentence(comparison),
        tones=TONES,
        symbols=SYMBOLS,
        listed=TESTS_LISTED,
        style=Markup(style),  # noqa: S704 - our own files
    )


def picture(operation: Operation) -> Markup:
    """Return the ratio with its interval as inline SVG, the line of equality in its middle."""
    if operation.ratio is None:
        return Markup()
    low, high = operation.low or operation.ratio, operation.high or operation.ratio
    middle, x1, x2, dot = _HEIGHT / 2, _place(low), _place(high), _place(operation.ratio)
    said = f"{ratio(operation.ratio)}" + (
        f", {interval(operation.low, operation.high)}" if operation.low else ""
    )
    parts = [
        (
            f'<svg class="ratio" role="img" aria-label="ratio {said}" viewBox="0 0 {WIDTH} {_HEIGHT}"'
            f' width="{WIDTH}" height="{_HEIGHT}">'
        ),
        f'<line class="one" x1="{WIDTH / 2:g}" x2="{WIDTH / 2:g}" y1="0" y2="{_HEIGHT}"/>',
    ]
    if operation.low is not None:
        parts.append(
            f'<line class="reach" x1="{x1:.1f}" x2="{max(x2, x1 + 1):.1f}" y1="{middle:g}" y2="{middle:g}"/>'
        )
    if _beyond(operation.ratio):
        tip, back = (WIDTH - 1, WIDTH - 9) if operation.ratio > 1 else (1, 9)
        parts.append(f'<path class="dot" d="M{tip} {middle:g}L{back} {middle - 5:g}V{middle + 5:g}Z"/>')
    else:
        parts.append(f'<circle class="dot" cx="{dot:.1f}" cy="{middle:g}" r="4.5"/>')
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - numbers only


def _place(value: float) -> float:
    share = math.log(max(value, 1e-9)) / math.log(WIDEST)
    return WIDTH / 2 + max(-1.0, min(1.0, share)) * (WIDTH / 2 - 6)


def _beyond(value: float) -> bool:
    return not 1 / WIDEST <= value <= WIDEST
