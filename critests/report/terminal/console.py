"""The console that everything is printed on, the colours of outcomes, and how every list and summary ends."""

import sys
from collections.abc import Iterable, Sequence
from typing import Final, TextIO

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from critests.catalogue.words import Outcome
from critests.exit_codes import ExitCode
from critests.record.run_record import RunRecord
from critests.report.terminal.broken_pipe import drop_what_nobody_reads
from critests.report.wording.texts import one_line

STYLES: Final = {
    Outcome.PASSED: "green",
    Outcome.FAILED: "bold red",
    Outcome.WARNED: "yellow",
    Outcome.KNOWN: "magenta",
    Outcome.UNSUPPORTED: "cyan",
    Outcome.BLOCKED: "blue",
    Outcome.ERROR: "bold red reverse",
    Outcome.DISABLED: "dim",
}
PLAIN_WIDTH: Final = 110
WIDEST: Final = 140


class LastingConsole(Console):
    """A console whose reader may go away: the rest is printed for nobody, and no work ends for it."""

    def on_broken_pipe(self) -> None:
        """Print nothing more; rich would end the process."""
        self.quiet = True
        drop_what_nobody_reads([self.file.fileno()])


def new_console(file: TextIO | None = None, *, width: int | None = None) -> Console:
    """Return a console that prints plain text of a fixed width where the file is no terminal, and no colours
    with NO_COLOR.

    Args:
        file: Where to print; standard output by default.
        width: Columns; those of the terminal by default, 110 where there is none.
    """
    target = file or sys.stdout
    if width is None and not target.isatty():
        width = PLAIN_WIDTH
    console = LastingConsole(file=target, width=width, markup=False, highlight=False, emoji=False)
    console.width = min(console.width, WIDEST)
    return console


def plain_table(*heads: str, numbers: int = 0) -> Table:
    """Return a table without frames.

    Args:
        heads: Names of its columns.
        numbers: How many columns from the second on hold numbers.
    """
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    for place, head in enumerate(heads):
        table.add_column(head, justify="right" if 0 < place <= numbers else "left", overflow="fold")
    return table


def print_title(out: Console, title: str, style: str = "bold") -> None:
    """Print the title of a section, after an empty line."""
    out.print()
    out.print(Text(title, style))


def print_lines(out: Console, lines: Iterable[Text], indent: int = 2) -> None:
    """Print lines of a list; what does not fit into one goes on where it began."""
    for line in lines:
        out.print(Padding(line, (0, 0, 0, indent), expand=False))


def print_list(
    out: Console,
    title: str,
    lines: Sequence[Text],
    style: str = "bold",
    *,
    limit: int,
    number: int | None = None,
) -> None:
    """Print a list under its title, and how many lines are left out; nothing where there are none.

    Args:
        out: Where to print.
        title: What it shows; the number of lines stands behind it, or `number`.
        lines: All lines.
        style: Of the title.
        limit: How many are printed.
        number: How many things the lines stand for, where that is another number.
    """
    if lines:
        print_title(out, f"{title} ({len(lines) if number is None else number})", style)
        print_lines(out, lines[:limit])
        print_more(len(lines) - limit, out)


def print_more(number: int, out: Console) -> None:
    """Print how many lines a list leaves out; nothing where it has all."""
    if number > 0:
        out.print(Text(f"  … and {number} more", "dim"))


def print_end(record: RunRecord, out: Console, *places: str) -> None:
    """Print the exit code with its reason, and where the files of the run are."""
    out.print()
    style = "bold green" if record.exit_code == ExitCode.CONFORMS else "bold red"
    reason = one_line(record.exit_reason, 1000) or "no reason was recorded"
    out.print(Text.assemble((f"exit {record.exit_code}", style), f": {reason}"), soft_wrap=True)
    for place in places:
        out.print(Text(place), soft_wrap=True)
