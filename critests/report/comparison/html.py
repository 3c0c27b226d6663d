"""A comparison as one self-contained HTML page, in the style of the run's page and with the same escaping."""

from typing import Final

from markupsafe import Markup

from critests.report.comparison.answers import FEW, answer_rows, headline, heads, shown_rows
from critests.report.comparison.comparison_sentences import (
    method_sentence,
    undecided,
    verdict_text,
    why,
)
from critests.report.comparison.fairness import environment_facts, shared_environment, warning
from critests.report.comparison.model import Operation, OperationSide, RunComparison
from critests.report.comparison.names import names_of
from critests.report.comparison.sections import sides
from critests.report.comparison.shape import shape
from critests.report.comparison.wording import (
    amount,
    chance,
    error_words,
    interval,
    percent,
    ratio,
)
from critests.report.facts.explanations import statement_of
from critests.report.page.templating import SYMBOLS, environment, source
from critests.statistics.verdict import Verdict

TESTS_LISTED: Final = 300
FIRST: Final = 8
"""Visible rows of a list or a table; the others are folded."""
TONES: Final = {
    Verdict.SLOWER.value: "failed",
    Verdict.FASTER.value: "passed",
    Verdict.TOO_FEW.value: "warned",
    Verdict.TOO_NOISY.value: "warned",
}
TAILS: Final = {"0.9": "p90", "0.99": "p99"}
"""Quantiles below the compared one, if the samples support them."""


def comparison_to_html(comparison: RunComparison, home: str = "") -> str:
    """Return the page of a comparison: no network, no script, light and dark.

    Args:
        comparison: What to show.
        home: Address of the overview page, if this page is part of a site.
    """
    templates = environment("critests.report.comparison")
    style = source(templates, "style.css") + source(templates, "compare.css")
    names, answers = names_of(comparison.a, comparison.b), answer_rows(comparison)
    rows = comparison.speed.operations if comparison.speed else []
    first = [each for each in rows if _is_shown_first(each)] or rows
    return templates.get_template("compare.html.j2").render(
        comparison=comparison,
        home=home,
        names=names,
        headline=headline(answers),
        environment=environment_facts(comparison),
        sides=sides(comparison),
        unfair=warning(comparison, names.a, names.b),
        shared=shared_environment(comparison),
        answers=shown_rows(answers),
        anchored=frozenset(
            each.requirement
            for each in (comparison.conformance.differences if comparison.conformance else ())
            if not each.not_run
        ),
        few=FEW,
        heads=heads(names),
        tables=[("speed", first), ("rest", [each for each in rows if each not in first])],
        undecided=undecided(comparison.speed) if comparison.speed else [],
        amount=amount,
        chance=chance,
        error_words=error_words,
        interval=interval,
        percent=percent,
        shape=shape,
        statement_of=statement_of,
        ratio=ratio,
        tails=tails,
        verdict_text=verdict_text,
        why=why,
        method=method_sentence(comparison),
        tones=TONES,
        symbols=SYMBOLS,
        listed=TESTS_LISTED,
        first=FIRST,
        style=Markup(style),  # noqa: S704 - our own files
    )


def tails(side: OperationSide, unit: str) -> str:
    """Return the further quantiles of a side: `p90 1.2 ms, p99 3.4 ms`."""
    return ", ".join(
        f"{name} {amount(side.quantiles[at], unit)}" for at, name in TAILS.items() if at in side.quantiles
    )


def _is_shown_first(operation: Operation) -> bool:
    decided = operation.verdict in {Verdict.SLOWER, Verdict.FASTER}
    return decided or operation.whole or operation.headline or bool(operation.errors_verdict)
