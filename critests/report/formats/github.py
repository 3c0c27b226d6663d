"""The run as GitHub shows it: a comment on a pull request, or the summary of a step.

What changed against the baseline comes first. The first line is a mark by which a bot finds the comment that
it wrote before, to replace it.
"""

from typing import Final

from critests.catalogue.words import Outcome
from critests.record.run import RunRecord
from critests.report.facts.changes import Changes, changes
from critests.report.facts.selection import by_reason, failures, with_outcome
from critests.report.formats import run_markdown as parts
from critests.report.formats.source import Source
from critests.report.wording.markdown import Page, code, prose, table
from critests.report.wording.texts import moment, plural

LIMIT: Final = 60 * 1024
"""Bytes; GitHub refuses a comment of more than 65,536 characters."""
ROWS: Final = 40


def render(source: Source) -> str:
    """Return the Markdown."""
    record, page = source.record, Page(LIMIT)
    page.add(f"<!-- critests: {source.job} -->", f"### {parts.headline(record)}", "")
    if source.baseline:
        _add_changes(page, source.baseline, changes(source.baseline, record))
    else:
        page.add("No baseline was given (`--baseline RUN`), so nothing is said about what is new.")
    page.add("", "#### This run", "", *parts.facts(record, source.publishing.url))
    if record.tests:
        page.add("", *parts.areas(record))
    broken, warned = failures(record), with_outcome(record, Outcome.WARNED)
    page.add_table(f"Failures ({len(broken)})", parts.tests(broken, ROWS), folded=bool(source.baseline))
    page.add_table(f"Warnings ({len(warned)})", parts.tests(warned, ROWS), folded=True)
    headlines = [operation for operation in record.operations if operation.headline] or record.operations[
        :ROWS
    ]
    page.add_table("What was measured", parts.operations(headlines), folded=bool(source.baseline))
    _add_reasons(page, record)
    return page.text()


def _add_changes(page: Page, baseline: RunRecord, found: Changes) -> None:
    page.add(
        f"**{_sentence(found)}**",
        "",
        f"Compared with run {code(baseline.run_id, 60)} of {moment(baseline.started)}.",
    )
    if found.unselected:
        verb = "was" if len(found.unselected) == 1 else "were"
        page.add("", f"{plural(len(found.unselected), 'test')} of that run {verb} not selected in this one.")
    page.add_table(f"Worse since then ({len(found.broken)})", parts.test_changes(found.broken, ROWS))
    page.add_table(f"Passed then, not judged now ({len(found.lost)})", parts.test_changes(found.lost, ROWS))
    page.add_table("Capabilities that came or went", parts.capability_changes(found))
    page.add_table(
        "Operations whose medians differ beyond their 95 % intervals", parts.operation_changes(found)
    )
    page.add_table(f"Fixed ({len(found.fixed)})", parts.test_changes(found.fixed, ROWS))
    page.add_table(f"Other changes ({len(found.other)})", parts.test_changes(found.other, ROWS), folded=True)


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
    heads = ["requirement", "RPC", "blocks", "fails too", "reason"]
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
    page.add_table("Capabilities", table(["capability", "offered", "seen"], capabilities), folded=True)
    if record.notes:
        page.add("", *(f"- {prose(note, 500)}" for note in record.notes[:ROWS]))


def _sentence(found: Changes) -> str:
    lost = sum(before is True for _, before, _ in found.capabilities)
    worse = [change for change in found.operations if change.better is False]
    parts_of_it = [
        f"{plural(len(found.broken), 'test')} got worse" if found.broken else "",
        f"{plural(len(found.lost), 'test')} no longer judged" if found.lost else "",
        (f"{lost} {'capability' if lost == 1 else 'capabilities'} lost" if lost else ""),
        f"{plural(len(worse), 'operation')} slower or heavier" if worse else "",
        f"{plural(len(found.fixed), 'test')} fixed" if found.fixed else "",
    ]
    named = [part for part in parts_of_it if part]
    return (", ".join(named) if named else "Nothing got worse") + "."
