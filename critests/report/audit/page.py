"""The page of an audit of the suite: self-contained, without a network, another file or a script."""

from markupsafe import Markup

from critests.record.audits import AuditRecord, FaultOutcome, Score
from critests.report.audit.views import (
    MEANINGS,
    TONES,
    by_rpc,
    headline,
    look_of,
    never_red,
    part,
    percent,
    rows_of_tests,
    score_rows,
    sentence_of,
    with_outcome,
)
from critests.report.page.templating import SYMBOLS, environment, source


def audit_to_html(record: AuditRecord) -> str:
    """Return the page of an audit."""
    templates = environment("critests.report.audit")
    score = Score.of(record.faults)
    counts = {outcome: len(with_outcome(record, outcome)) for outcome in FaultOutcome}
    return templates.get_template("audit.html.j2").render(
        record=record,
        tone="failed" if score.survived else "passed",
        word=f"{percent(score.of_reached)} noticed",
        sentence=headline(record),
        part=part(record),
        tiles=[(TONES[outcome], outcome.value, number) for outcome, number in counts.items() if number],
        survivors=[
            (rpc, [(one, look_of(one)) for one in some]) for rpc, some in by_rpc(record.survivors).items()
        ],
        tables=[(title, score_rows(record.faults, by)) for by, title in (("area", "area"), ("rpc", "RPC"))],
        others=[
            (
                outcome.value,
                TONES[outcome],
                by_rpc(with_outcome(record, outcome)),
                counts[outcome],
                MEANINGS[outcome],
            )
            for outcome in FaultOutcome
            if outcome not in {FaultOutcome.SURVIVED, FaultOutcome.NOTICED} and counts[outcome]
        ],
        noticed=by_rpc(with_outcome(record, FaultOutcome.NOTICED)),
        tests=rows_of_tests(record),
        never=never_red(record),
        sentence_of=sentence_of,
        meaning={outcome.name: text for outcome, text in MEANINGS.items()},
        symbols=SYMBOLS,
        style=Markup(source(templates, "style.css") + source(templates, "audit.css")),  # noqa: S704 - our own files
    )
