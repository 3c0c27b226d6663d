"""The summary of an audit on the terminal: survivors, unreached faults, scores."""

from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from critests.report.terminal.console import print_more
from critests.report.wording.texts import one_line, plural
from critests_proof.audit_views import headline, look_of, never_red, part, score_rows, with_outcome
from critests_proof.record import AuditRecord, FaultOutcome

SHOWN: Final = 40
"""Faults of one outcome that the summary lists; the record has all."""
NAMED: Final = 10
"""Tests without a noticed fault that the summary lists."""
TESTS: Final = 4
"""Tests that are listed with a survivor."""


def print_audit(record: AuditRecord, out: Console, *places: str) -> None:
    """Print the summary.

    Args:
        record: the audit.
        out: the console.
        places: sentences with the paths of its files.
    """
    out.print()
    _print_survivors(record, out)
    _print_not_reached(record, out)
    for by, title in (("kind", "kind"), ("area", "area"), ("rpc", "RPC")):
        _print_scores(record, by, title, out)
    _print_never_red(record, out)
    tried = [result for result in record.faults if result.tried]
    if tried:
        seconds = sum(result.seconds for result in tried) / len(tried)
        out.print(f"{plural(len(tried), 'fault')} tried, {seconds:.1f} s each")
    missing = part(record)
    out.print(Text(headline(record) + (f" This was {missing}." if missing else "")), soft_wrap=True)
    for place in places:
        out.print(Text(place), soft_wrap=True)


def _print_survivors(record: AuditRecord, out: Console) -> None:
    for result in record.survivors[:SHOWN]:
        look = look_of(result)
        out.print(Text.assemble(("survived ", "bold red"), (result.fault, "bold")), soft_wrap=True)
        out.print(Text(f"  {one_line(result.text)}", "dim"), soft_wrap=True)
        names = ", ".join(f"{test} ({outcome})" for test, outcome in look.tests[:TESTS])
        more = len(look.tests) - TESTS
        also = f" and {more} more" if more > 0 else ""
        left = f"; {plural(look.left, 'test')} more get there" if look.left else ""
        out.print(Text(f"  not noticed by {names}{also}{left}"), soft_wrap=True)
    print_more(len(record.survivors) - SHOWN, out)


def _print_not_reached(record: AuditRecord, out: Console) -> None:
    results = with_outcome(record, FaultOutcome.NOT_REACHED)
    for result in results[:SHOWN]:
        why = result.evidence or "it changed nothing in the tests that were tried"
        out.print(Text.assemble(("not reached ", "blue"), f"{result.fault}: {why}"), soft_wrap=True)
    print_more(len(results) - SHOWN, out)


def _print_never_red(record: AuditRecord, out: Console) -> None:
    never = never_red(record)
    if not never.of:
        return
    out.print()
    for row in never.met[:NAMED]:
        faults = plural(len(row.missed), "fault")
        out.print(Text.assemble(("never red ", "yellow"), f"{row.name}, under {faults}"), soft_wrap=True)
    print_more(len(never.met) - NAMED, out)
    red = never.of - len(never.met) - len(never.spared)
    out.print(
        f"{plural(never.of, 'test')} passed without a fault: {red} turned red by one, {len(never.met)} by"
        f" none that changed something in them, and {len(never.spared)} met none that did",
        soft_wrap=True,
    )


def _print_scores(record: AuditRecord, by: str, title: str, out: Console) -> None:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(title)
    for heading in ("noticed", "survived", "of reached", "not reached", "of all", "not to be seen"):
        table.add_column(heading, justify="right")
    for row in score_rows(record.faults, by):
        score = row.score
        unseen = score.never_filled + score.not_offered + score.equivalent
        numbers = (score.noticed, score.survived, row.reached, score.not_reached, row.all, unseen)
        table.add_row(row.name, *(str(number) if number else "·" for number in numbers))
    out.print()
    out.print(table)
