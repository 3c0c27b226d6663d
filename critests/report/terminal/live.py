"""The two lines that a terminal shows while a run goes on, drawn anew four times a second."""

from collections.abc import Callable

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from critests.report.wording.texts import duration


def display(console: Console, picture: Callable[[], Table]) -> Live:
    """Return a display, not yet started, that is gone from the terminal when it is stopped.

    Args:
        console: On which it is drawn.
        picture: Draws it.
    """
    return Live(
        console=console, get_renderable=picture, refresh_per_second=4, transient=True, redirect_stdout=False
    )


def picture(*, done: int, total: int, numbers: Text, seconds: float, current: str) -> Table:
    """Draw how far a run is, and the test that runs.

    Args:
        done: Tests that are over.
        total: All of them.
        numbers: How they ended, in words.
        seconds: Since the run began.
        current: Name of the test, cut to the width of the terminal.
    """
    head = Table.grid(padding=(0, 1))
    head.add_row(
        ProgressBar(total=max(total, 1), completed=done, width=32, finished_style="green"),
        Text(f"{done}/{total}", "bold"),
        numbers,
        Text(duration(seconds), "dim"),
    )
    lines = Table.grid()
    lines.add_row(head)
    lines.add_row(Text(current, "dim", no_wrap=True, overflow="ellipsis"))
    return lines
