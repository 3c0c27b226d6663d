"""The console of all terminal output, the colours of outcomes, and common parts of lists and summaries."""

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
from critests.report.terminal.broken_pipe import redirect_closed_pipes
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
    """A console that discards its output once the reader of a pipe has exited."""

    def on_broken_pipe(self) -> None:
        """Discard further output; rich would exit the process."""
        self.quiet = True
        redirect_closed_pipes([self.file.fileno()])


def new_console(file: TextIO | None = None, *, width: int | None = None) -> Console:
    """Return a console that prints plain text of a fixed width unless the file is a terminal, and no colours
    with NO_COLOR.

    Args:
        file: Where to print; standard output by default.
        width: Columns; by default those of the terminal, or 110 without one.
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
        numbers: Number of numeric columns, counted from the second.
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
    """Print lines of a list with an indent; continuation lines have the same indent."""
    for line in lines:
        out.print(Padding(line, (0, 0, 0, indent), expand=False))


def print_list(
    out: Console,
    title: str,
    lines: Sequence[Text],
    style: str = "bold",
    *,
    limit: int,
) -> None:
    """Print a list under its title, and how many lines are left out; an empty list is not printed.

    Args:
        out: Where to print.
        title: Title, which is followed by the number of lines unless it has a number.
        lines: All lines.
        style: Style of the title.
        limit: Maximum number of lines.
    """
    if lines:
        print_title(out, title if "(" in title else f"{title} ({len(lines)})", style)
        print_lines(out, lines[:limit])
        print_more(len(lines) - limit, out)


def print_more(number: int, out: Console) -> None:
    """Print how many lines a list leaves out, if any."""
    if number > 0:
        out.print(Text(f"  … and {number} more", "dim"))


def print_end(record: RunRecord, out: Console, *places: str) -> None:
    """Print the exit code with its reason, and the paths of the run's files."""
    out.print()
    style = "bold green" if record.exit_code == ExitCode.NO_NEW_FAILURE else "bold red"
    reason = one_line(record.exit_reason, 1000) or "no reason was recorded"
    out.print(Text.assemble((f"exit {record.exit_code}", style), f": {reason}"), soft_wrap=True)
    for place in places:
        out.print(Text(place), soft_wrap=True)
