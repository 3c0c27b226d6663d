"""The run as Markdown for GitHub: a comment on a pull request, or the summary of a step.

Changes since the baseline come first. The first line is a marker by which a bot finds its earlier comment, to
replace it.
"""

from typing import Final

from critests.catalogue.words import Outcome
from critests.record.run_record import RunRecord
from critests.report.comparison import NotComparable, RunComparison
from critests.report.comparison.change_sentence import changed_operations, changes_sentence
from critests.report.comparison.differences import UNTESTED
from critests.report.facts.display_order import by_reason, failures, with_outcome
from critests.report.formats import run_markdown as parts
from critests.report.formats.source import Source
from critests.report.wording.markdown import Page, code, prose, table
from critests.report.wording.texts import plural, utc_time

LIMIT: Final = 60 * 1024
"""Bytes; GitHub rejects a comment of more than 65,536 characters."""
ROWS: Final = 40


def render(source: Source) -> str:
    """Return the Markdown."""
    record, page = source.record, Page(LIMIT)
    page.add(f"<!-- critests: {source.job} -->", f"### {parts.headline(record)}", "")
    try:
        comparison = source.compared()
        if comparison is not None:
            _add_changes(page, comparison)
        else:
            page.add("There is no baseline to compare with (`--baseline RUN`).")
    except NotComparable as error:
        page.add(prose(f"Not compared: {error}", 500))
    page.add("", "#### This run", "", *parts.facts(record, source.publishing.url))
    if record.tests:
        page.add("", *parts.areas(record))
    broken, warned = failures(record), with_outcome(record, Outcome.WARNED)
    page.add_table(f"Failures ({len(broken)})", parts.tests(broken, ROWS), folded=bool(source.baseline))
    page.add_table(f"Warnings ({len(warned)})", parts.tests(warned, ROWS), folded=True)
    headlines = [operation for operation in record.operations if operation.headline] or record.operations[
        :ROWS
    ]
    page.add_table("Measurements", parts.operations(headlines), folded=bool(source.baseline))
    _add_reasons(page, record)
    return page.text()


def _add_changes(page: Page, comparison: RunComparison) -> None:
    baseline = comparison.a
    page.add(
        f"**{prose(changes_sentence(comparison), 500)}**",
        "",
        f"Compared with run {code(baseline.run_id, 60)} of {utc_time(baseline.started)}.",
    )
    not_run = sum(each.not_run for each in comparison.tests)
    if not_run:
        page.add("", f"{plural(not_run, 'test')} of that run did not run this time.")
    if comparison.speed and comparison.speed.refused:
        page.add("", prose(f"Speed is not compared: {comparison.speed.refused}.", 500))
    worse = [each for each in comparison.tests if each.worse]
    gone = [each for each in comparison.tests if each.gone]
    fixed = [each for each in comparison.tests if each.fixed]
    other = [
        each
        for each in comparison.tests
        if not (each.worse or each.gone or each.fixed or each.not_run or each.a == UNTESTED)
    ]
    page.add_table(f"Worse ({len(worse)})", parts.test_changes(worse, ROWS))
    page.add_table(f"No longer judged ({len(gone)})", parts.test_changes(gone, ROWS))
    if comparison.conformance:
        page.add_table("Changed capabilities", parts.capability_changes(comparison.conformance.capabilities))
    page.add_table("Changed operations", parts.operation_changes(changed_operations(comparison)))
    page.add_table(f"Fixed ({len(fixed)})", parts.test_changes(fixed, ROWS))
    page.add_table(f"Other changes ({len(other)})", parts.test_changes(other, ROWS), folded=True)


def _add_reasons(page: Page, record: RunRecord) -> None:
    causes = [
        [
            code(cause.requirement, 40),
            code(cause.rpc, 60),
            str(len(cause.blocked)),
            str(len(cause.failed)),
            code(cause.reason, 240),
        ]
        for cause in record.root_causes
    ]
    heads = ["requirement", "RPC", "blocks", "also fails", "reason"]
    page.add_table("Root causes", table(heads, causes[:ROWS]), folded=True)
    for title, outcome in (
        ("Known failures", Outcome.KNOWN),
        ("Blocked", Outcome.BLOCKED),
        ("Unsupported", Outcome.UNSUPPORTED),
    ):
        reasons = by_reason(with_outcome(record, outcome))
        rows = [[code(reason.text, 240), str(len(reason.tests))] for reason in reasons[:ROWS]]
        number = sum(len(reason.tests) for reason in reasons)
        page.add_table(f"{title} ({number})", table(["reason", "tests"], rows, right=1), folded=True)
    capabilities = [
        [prose(fact.name, 80), parts.WORDS[fact.present], code(fact.evidence, 160)]
        for fact in record.capabilities
    ]
    page.add_table("Capabilities", table(["capability", "present", "evidence"], capabilities), folded=True)
    if record.notes:
        page.add("", *(f"- {prose(note, 500)}" for note in record.notes[:ROWS]))
