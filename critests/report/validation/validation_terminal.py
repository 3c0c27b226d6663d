"""The summary of a validation on a terminal."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from critests.catalogue.words import Outcome
from critests.exit_codes import ExitCode
from critests.record.reasons import ReasonCode
from critests.record.result_records import RootCause, TestResult
from critests.record.run_record import RunRecord
from critests.report.facts.display_order import TOTAL, area_rows, by_reason, columns, failures, with_outcome
from critests.report.facts.explanations import observed_of, promise_of, title_of
from critests.report.facts.musts import musts, newer_than_api, verdict_sentence, verdict_word
from critests.report.terminal.console import (
    STYLES,
    plain_table,
    print_lines,
    print_list,
    print_more,
    print_title,
)
from critests.report.wording.condition_words import conditions_in_words
from critests.report.wording.message_shortening import shortened_message
from critests.report.wording.partial_run import partial
from critests.report.wording.texts import cut, duration, one_line, plural, utc_time, visible

FIRST: Final = 3
"""Findings that are named before everything else."""
OBSERVED: Final = 240
"""Characters of a promise, and of what was observed."""
FULL: Final = 20
"""Failures that are printed in full."""
LISTED: Final = 10
"""Lines of each shorter list."""
NAMED: Final = 20
"""Ids of broken requirements in the last lines."""
TEXT_LIMIT: Final = 1200
"""Characters of one text of a failure."""
FEW_REASONS: Final = 3
"""Up to so many reasons of blocked tests are printed in full."""


def print_validation(
    record: RunRecord, out: Console, run_dir: Path | None = None, *, full: int = FULL
) -> None:
    """Print the results of a validation.

    Args:
        record: The run.
        out: Where to print.
        run_dir: Folder of the run, for the paths of evidence.
        full: Number of failures to print in full; the others are counted.
    """
    _print_head(record, out)
    _print_areas(record, out)
    _print_root_causes(record, out)
    _print_failures(record, run_dir, out, full)
    _print_warned(with_outcome(record, Outcome.WARNED), out)
    for outcome in (Outcome.BLOCKED, Outcome.UNSUPPORTED):
        reasons = by_reason(with_outcome(record, outcome))
        # a few are printed in full, as they say what would help
        limit = 160 if len(reasons) > FEW_REASONS else TEXT_LIMIT
        lines = [
            Text(f"{len(reason.tests):>4}  {shortened_message(reason.text, limit)}") for reason in reasons
        ]
        number = sum(len(reason.tests) for reason in reasons)
        title = f"{outcome.value.capitalize()} ({number}{_by_age(record, outcome)})"
        print_list(out, title, lines, STYLES[outcome], limit=LISTED)
    known = [_line(test) for test in with_outcome(record, Outcome.KNOWN)]
    print_list(out, "Known", known, STYLES[Outcome.KNOWN], limit=LISTED)
    print_list(out, "Notes", [Text(one_line(note)) for note in record.notes], limit=LISTED)


def print_verdict(record: RunRecord, out: Console) -> None:
    """Print the runtime, the verdict with numbers, and what failed outside the MUSTs."""
    if record.exit_code not in {ExitCode.NO_NEW_FAILURE, ExitCode.BROKEN}:
        return
    out.print()
    part = f" ({one_line(scope)})" if (scope := partial(record)) else ""
    sentence = f" {one_line(verdict_sentence(record), 1000)}"
    out.print(Text.assemble((f"{_headline(record)}{part}.", "bold"), sentence))
    _print_first(record, out)
    # a missing capability of --require breaks no requirement, and the exit line names it
    failed = [test for test in failures(record) if test.why.code is not ReasonCode.CAPABILITY_MISSING]
    musts_broken = {*musts(record).broken}
    others = [test.requirement_id or test.name for test in failed if test.requirement not in musts_broken]
    if others:
        named = [one_line(each, 60) for each in dict.fromkeys(others)]
        more = f" and {len(named) - NAMED} more" if len(named) > NAMED else ""
        out.print(Text(f"also failed: {', '.join(named[:NAMED])}{more}"))


def _headline(record: RunRecord) -> str:
    """Return `containerd 2.3.4: 2 MUSTs broken`."""
    runtime, (word, _) = record.runtime, verdict_word(record)
    return f"{one_line(runtime.name, 60)} {one_line(runtime.version, 60)}: {word}"


def _print_head(record: RunRecord, out: Console) -> None:
    runtime = record.runtime
    out.print(Text(f"{_headline(record)}.", "bold"))
    _print_first(record, out)
    if part := partial(record):
        out.print(Text(f"in part only: {one_line(part)}", "dim"))
    out.print(Text(f"critests {one_line(record.suite_version)} · {one_line(runtime.endpoint)}", "dim"))
    took = duration(record.finished - record.started) + (
        f" with {record.workers} workers" if record.workers > 1 else ""
    )
    out.print(Text(f"{utc_time(record.started)}, {took}, run {one_line(record.run_id)}", "dim"))
    if record.conditions.names:
        out.print(Text(f"under {conditions_in_words(record.conditions)}", "dim"))
    out.print()


def _print_first(record: RunRecord, out: Console) -> None:
    """Print the first findings: the promise, and what was observed."""
    findings = [test for test in failures(record) if not test.cause]
    for test in findings[:FIRST]:
        out.print(
            Text.assemble(
                (f"  {test.requirement or test.name} ", "bold red"), one_line(promise_of(test), OBSERVED)
            )
        )
        out.print(Text(f"    {observed_of(test, OBSERVED)}"))
    print_more(len(findings) - FIRST, out)


def _by_age(record: RunRecord, outcome: Outcome) -> str:
    """Say how many unsupported tests are of a newer API than the runtime has, so that no one expects them."""
    if outcome is not Outcome.UNSUPPORTED:
        return ""
    tests = with_outcome(record, outcome)
    newer = sum(newer_than_api(test, record.api_level) for test in tests)
    level = record.api_level.declared or record.api_level.proven
    if not newer:
        return ", all of optional features"
    rest = f", {len(tests) - newer} of optional features" if newer < len(tests) else ""
    return f": {newer} newer than Kubernetes {level}, the API level of this runtime{rest}"


def _print_areas(record: RunRecord, out: Console) -> None:
    left_out = record.counts.outcomes.get(Outcome.DISABLED.value, 0)
    shown = [outcome for outcome in columns(record) if outcome is not Outcome.DISABLED]
    table = plain_table("area", *(outcome.value for outcome in shown), numbers=len(shown))
    rows = [row for row in area_rows(record) if row.total or row.name == TOTAL]
    for row in rows:
        if row is rows[-1]:
            table.add_section()
        cells = [
            Text(str(row.numbers[outcome] or "·"), STYLES[outcome] if row.numbers[outcome] else "dim")
            for outcome in shown
        ]
        table.add_row(Text(one_line(row.name, 30), "bold" if row is rows[-1] else ""), *cells)
    out.print(table)
    if left_out:
        out.print(Text(f"{plural(left_out, 'test')} not selected", "dim"))


def _print_root_causes(record: RunRecord, out: Console) -> None:
    lines = []
    for cause in record.root_causes:
        rpc = f" {one_line(cause.rpc, 60)}" if cause.rpc and cause.blocked else ""
        consequences = (
            f"blocks {plural(len(cause.blocked), 'test')}" if cause.blocked else "",
            f"causes {plural(len(cause.failed), 'more failure')}" if cause.failed else "",
        )
        blocks = ", ".join(filter(None, consequences))
        lines.append(
            Text.assemble(
                (f"{cause.requirement}{rpc}", "bold"),
                f" · {blocks} · {one_line(_promise_behind(record, cause), 400)}",
            )
        )
    print_list(out, "Root causes", lines, "bold red", limit=LISTED)


def _promise_behind(record: RunRecord, cause: RootCause) -> str:
    shown = next((test for test in record.tests if test.id == cause.shown_by), None)
    if shown is None:
        return title_of(cause.requirement)
    observed = "" if cause.rpc else observed_of(shown, OBSERVED)
    return ": ".join(filter(None, [promise_of(shown).rstrip("."), observed]))


def _print_failures(record: RunRecord, run_dir: Path | None, out: Console, full: int) -> None:
    broken = failures(record)
    if not broken:
        return
    findings = [test for test in broken if not test.cause]
    distinct = f", {plural(len(findings), 'finding')}" if len(findings) < len(broken) else ""
    print_title(out, f"Failures ({len(broken)}{distinct})", "bold red")
    for number, test in enumerate(findings[:full], 1):
        _print_failure(test, number, run_dir, out)
        _print_repeated([other for other in broken if other.cause == (test.requirement_id or None)], out)
    if len(findings) > full:
        place = f"in {run_dir / 'run.json'}" if run_dir else "in the run record"
        out.print(Text(f"  … and {plural(len(findings) - full, 'more failure')}, {place}"), soft_wrap=True)


def _print_failure(test: TestResult, number: int, run_dir: Path | None, out: Console) -> None:
    level = f" {test.level.value}" if test.requirement else ""
    word = " ERROR OF THE HARNESS" if test.outcome is Outcome.ERROR else level
    head = Text.assemble(
        f"{number:>3}. ",
        (test.requirement or "no requirement", "bold red"),
        f"{word} · ",
        (one_line(test.name, 200), "bold"),
    )
    out.print(head)
    breach = bool(test.seen)
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=8 * breach)
    grid.add_column(overflow="fold")
    for label, text in (("expected" * breach, test.title), ("observed" * breach, test.seen or test.reason)):
        if text.strip():
            grid.add_row(Text(label, "dim"), _text(text))
    if grid.row_count:
        out.print(Padding(grid, (0, 0, 0, 5), expand=False))
    evidence = str(run_dir / test.evidence) if run_dir and test.evidence else test.evidence
    _print_whole("evidence", evidence, out)
    _print_whole("repeat", test.repeat_command, out)
    out.print()


def _print_whole(label: str, text: str, out: Console) -> None:
    """Print a text in one line, however long, so that a user can copy it."""
    if text:
        out.print(Text.assemble("     ", (f"{label:<9}", "dim"), visible(text, lines=False)), soft_wrap=True)


def _print_repeated(tests: Sequence[TestResult], out: Console) -> None:
    """Print the names of failures with the same cause as the one that was printed."""
    lines = [
        Text.assemble(("also     ", "dim"), (test.requirement, "bold"), f" {one_line(test.name, 120)}")
        for test in tests[:LISTED]
    ]
    print_lines(out, lines, indent=5)
    print_more(len(tests) - LISTED, out)
    if tests:
        out.print()


def _print_warned(tests: Sequence[TestResult], out: Console) -> None:
    if not tests:
        return
    print_title(out, f"Warned ({len(tests)})", STYLES[Outcome.WARNED])
    for test in tests[:LISTED]:
        print_lines(out, [_line(test)])
        _print_whole("repeat", test.repeat_command, out)
    print_more(len(tests) - LISTED, out)


def _text(text: str) -> Text:
    return Text(cut(visible(text[: TEXT_LIMIT * 4]).strip(), TEXT_LIMIT))


def _line(test: TestResult) -> Text:
    what = test.seen or test.reason
    if test.outcome is Outcome.KNOWN and test.expectation:
        what = f"{what} ({test.expectation})"
    return Text.assemble(
        (test.requirement or "-", "bold"), f" {one_line(test.name, 120)}: {shortened_message(what, 200)}"
    )
