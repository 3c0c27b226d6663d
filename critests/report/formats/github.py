"""The run as Markdown for GitHub: a comment on a pull request, or the summary of a step; at most 40 lines.

Each finding is the promise that is broken, what was observed, and the command that repeats it. The first
line is a marker by which a bot finds its earlier comment, to replace it.
"""

from collections.abc import Collection, Sequence
from typing import Final

from critests.catalogue.words import Outcome
from critests.record.identity import OCI_RUNTIME
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.report.comparison import NotComparable, RunComparison
from critests.report.comparison.change_sentence import changed_operations, changes_sentence
from critests.report.facts.display_order import failures, with_outcome
from critests.report.facts.explanations import consequences, observed_of, promise_of
from critests.report.facts.musts import verdict_sentence
from critests.report.facts.run_parts import PartDifference, differing_parts, run_parts
from critests.report.formats import run_markdown as parts
from critests.report.formats.source import Source
from critests.report.run_kinds import kind_of
from critests.report.wording.markdown import Page, code, prose
from critests.report.wording.texts import plural, utc_time

LIMIT: Final = 60 * 1024
"""Bytes; GitHub rejects a comment of more than 65,536 characters."""
FINDINGS: Final = 5
"""Findings with a paragraph of their own; with the other lines, a comment has at most 40."""
ROWS: Final = 8
"""Rows of a table of operations."""
NAMED: Final = 20
"""Names in a list on one line."""
OBSERVED: Final = 240
"""Characters of a promise, and of what was observed."""


def render(source: Source) -> str:
    """Return the Markdown."""
    record, page = source.record, Page(LIMIT)
    page.add(f"<!-- critests: {source.job} -->", f"### {parts.headline(record)}", "")
    new: set[str] | None = None
    comparison = None
    try:
        comparison = source.compared()
    except NotComparable as error:
        page.add(prose(f"Not compared: {error}", 500), "")
    if comparison is not None:
        new = {each.test for each in comparison.tests if each.worse}
    _add_findings(page, record, new)
    if comparison is not None and source.baseline is not None:
        _add_changes(page, comparison, differing_parts(run_parts(source.baseline.record), run_parts(record)))
    elif source.baseline is None:
        page.add("There is no baseline to compare with (`--baseline RUN`).", "")
    measured = [operation for operation in record.operations if operation.headline] or record.operations
    if comparison is None or not comparison.speed:
        page.add_table("Measurements", parts.operations(measured[:ROWS]))
    page.add("", *_summary(record), *parts.facts(record, source.publishing.url))
    return page.text()


def _add_findings(page: Page, record: RunRecord, new: Collection[str] | None) -> None:
    """Add a paragraph for each finding: the promise, what was observed, the number of tests that follow from
    it, and the command that repeats it. With a baseline, `new` are the tests that it does not break.
    """
    groups: dict[str, list[TestResult]] = {}
    for test in failures(record):
        groups.setdefault(test.cause or test.requirement_id or test.id, []).append(test)
    fresh = {
        name: tests
        for name, tests in groups.items()
        if new is None or any(test.id in new or test.outcome is Outcome.ERROR for test in tests)
    }
    blocked = {cause.requirement: len(cause.blocked) for cause in record.root_causes}
    for name, tests in list(fresh.items())[:FINDINGS]:
        _add_finding(page, tests, blocked.get(name, 0), new=new is not None)
    if len(fresh) > FINDINGS:
        page.add(f"… and {_listed(list(fresh)[FINDINGS:])}.", "")
    old = [name for name in groups if name not in fresh]
    if old:
        page.add(f"Broken in the baseline too: {_listed(old)}.", "")
    warned = list(
        dict.fromkeys(test.requirement or test.name for test in with_outcome(record, Outcome.WARNED))
    )
    if warned:
        page.add(f"Warnings: {_listed(warned)}.", "")


def _add_finding(page: Page, tests: Sequence[TestResult], blocked: int, *, new: bool) -> None:
    first = tests[0]
    others = [test for test in tests[1:] if test.requirement_id != first.requirement_id]
    same = len(tests) - len(others)
    because = consequences(len(others), blocked)
    observed = code(observed_of(first, OBSERVED), OBSERVED)
    kind = "error of the harness" if first.outcome is Outcome.ERROR else first.level.value
    promise = prose(promise_of(first) or first.name, OBSERVED)
    where = f" in {same} tests" if same > 1 else ""
    lines = [
        f"✕ {'new: ' if new else ''}**{prose(first.requirement or first.name, 120)}** {kind}: {promise}  ",
        f"observed{where}: {observed}{'; because of it, ' if because else ''}{because}",
    ]
    if first.repeat_command:
        lines[-1] += "  "
        lines.append(f"repeat: {code(first.repeat_command, 600)}")
    page.add(*lines, "")


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{', '.join(code(name, 60) for name in names[:NAMED])}{more}"


def _add_changes(page: Page, comparison: RunComparison, differences: Sequence[PartDifference]) -> None:
    """Add what changed since the baseline, in numbers, the programs and settings that differ, and the
    operations that changed.
    """
    baseline = comparison.a
    oci = baseline.parts.get(OCI_RUNTIME, "")
    what = ", ".join(prose(each, 80) for each in (baseline.name, oci) if each)
    not_run = sum(each.not_run for each in comparison.tests)
    rest = f"; {plural(not_run, 'test')} of it did not run this time" if not_run else ""
    when = f"{code(baseline.run_id, 60)} of {utc_time(baseline.started)}"
    page.add(f"**{prose(changes_sentence(comparison), 500)}** Compared with run {when} ({what}){rest}.")
    if differences:
        page.add("", f"Differs from it: {prose('; '.join(map(str, differences)), 1000)}.")
    if comparison.speed and comparison.speed.refused:
        page.add("", prose(f"Speed is not compared: {comparison.speed.refused}.", 500))
    changed = changed_operations(comparison)
    page.add_table("Changed operations", parts.operation_changes(changed[:ROWS]))
    if len(changed) > ROWS:
        page.add("", f"… and {plural(len(changed) - ROWS, 'more operation')}.")


def _summary(record: RunRecord) -> list[str]:
    """Return how many MUSTs are met, and the number of tests by outcome."""
    if kind_of(record.kind).measures:
        return []
    numbers = [
        f"{number:,} {name}" for name, number in record.counts.outcomes.items() if name != Outcome.DISABLED
    ]
    return [prose(verdict_sentence(record), 1000), "", f"Tests: {', '.join(numbers) or 'none'}.", ""]
