"""A comparison on a terminal."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.text import Text

from critests.report.comparison.answers import AnswerRow, answer_rows, headline, heads, shown_rows
from critests.report.comparison.model import RunComparison
from critests.report.comparison.names import Names, names_of
from critests.report.comparison.sections import Section, SectionRow, below_the_table, sections
from critests.report.terminal.console import (
    STYLES,
    new_console,
    plain_table,
    print_lines,
    print_more,
    print_title,
)
from critests.report.wording.texts import one_line

LISTED: Final = 12
"""Rows of a section; further rows are counted, and printed in the other formats."""
WIDE: Final = 100
"""Width of a terminal, in columns, from which on a table of numbers has space for names of operations."""
_STYLES: Final = {outcome.value: style for outcome, style in STYLES.items()} | {
    "slower": "bold red",
    "worse": "bold red",
    "faster": "bold green",
    "better": "bold green",
    "too few samples": "yellow",
    "too noisy": "yellow",
    "yes": "green",
    "no": "yellow",
}


def print_comparison(
    comparison: RunComparison, console: Console | None = None, *, details: bool = False
) -> None:
    """Print a comparison: the table, and the headline as the last line.

    Args:
        comparison: What to print.
        console: Where; standard output by default.
        details: Print all that was measured and judged, above the table.
    """
    out = console or new_console()
    for section in sections(comparison) if details else ():
        _print_section(section, out)
    names = names_of(comparison.a, comparison.b)
    rows = answer_rows(comparison)
    if out.width < WIDE:
        _print_narrow_answers(shown_rows(rows), names, out)
    else:
        shown = plain_table(*heads(names), numbers=2)
        for row in shown_rows(rows):
            shown.add_row(_question(row), row.a, row.b, _answer(row))
        out.print(shown)
    for broken in (group for row in rows for group in row.broken):
        out.print(Text(f"{broken.where}:"))
        lines = [
            Text.assemble((name, "bold"), f" {one_line(promise, 400)}") for name, promise in broken.promises
        ]
        print_lines(out, lines)
    for text in below_the_table(comparison):
        out.print(Text(one_line(text, 600), "dim"))
    out.print()
    out.print(Text(one_line(headline(rows), 600), "bold"))


def _print_narrow_answers(rows: Sequence[AnswerRow], names: Names, out: Console) -> None:
    """Print each row in up to three lines: the question, both values, which side is better."""
    for row in rows:
        values = f"  {names.a} {row.a}, {names.b} {row.b}" if row.a or row.b else ""
        out.print(Text(f"{_question(row)}: ").append_text(_answer(row)))
        if values:
            out.print(Text(values, "dim"))


def _question(row: AnswerRow) -> str:
    return f"  {row.question}" if row.below else row.question


def _answer(row: AnswerRow) -> Text:
    style = "bold green" if row.better else "yellow" if row.undecided else "dim"
    return Text(one_line(row.verdict, 400), style)


def _print_section(section: Section, out: Console) -> None:
    print_title(out, section.title)
    if section.intro:
        out.print(Text(one_line(section.intro, 600), "dim"))
    rows = section.rows if section.whole else section.rows[:LISTED]
    if not section.heads:
        print_lines(out, [Text(one_line(row.cells[0], 400)) for row in rows])
    elif section.numbers and out.width < WIDE:
        _print_narrow(section.heads, rows, out)
    elif rows:
        table = plain_table(*section.heads, numbers=section.numbers)
        for row in rows:
            table.add_row(_label(row), *map(_cell, row.cells[1:]))
        out.print(table)
    print_more(len(section.rows) - len(rows), out)
    if section.outro:
        print_lines(out, [Text(one_line(section.outro, 400), "dim")])


def _print_narrow(heads: Sequence[str], rows: Sequence[SectionRow], out: Console) -> None:
    """Print each operation in two lines: its name with the verdict, then its numbers."""
    numbers = [cells[1:-1] for cells in (heads, *(row.cells for row in rows))]
    widths = [max(map(len, column)) for column in zip(*numbers, strict=True)]
    lines = ["  " + "  ".join(map(str.rjust, texts, widths)) for texts in numbers]
    out.print(Text(lines[0], "dim"))
    for row, line in zip(rows, lines[1:], strict=True):
        out.print(Text.assemble(_label(row), ": ", _cell(row.cells[-1])))
        out.print(Text(line))


def _label(row: SectionRow) -> Text:
    label = Text(one_line(row.cells[0], 200))
    for line in filter(None, row.below):
        label.append(f"\n  {one_line(line, 240)}", "dim")
    return label


def _cell(text: str) -> Text:
    return Text(one_line(text, 200), _STYLES.get(text, ""))
