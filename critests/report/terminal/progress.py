"""What a person sees while the run goes on: a bar on a terminal, now and then a line elsewhere."""

import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from critests.catalogue.words import Outcome
from critests.record.judgement import by_level
from critests.record.result_records import TestResult
from critests.report.facts.display_order import SHOWN
from critests.report.terminal.console import STYLES, new_console
from critests.report.wording.texts import duration, one_line, plural

if TYPE_CHECKING:  # what draws on a terminal is imported where there is one
    from rich import progress as bars

LINE_EVERY: Final = 5.0
"""Seconds between two lines where there is no terminal."""
TOLD: Final = 15
"""Failures that are told at once; the summary has the others."""


class Progress:
    """Shows how far a run is. Outcomes are shown as far as they are known: what only follows another failure
    is found out at the end.

    Attributes:
        console: Where it is shown.
    """

    def __init__(
        self, console: Console | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.console = console or new_console()
        self._clock = clock
        self._total = 0
        self._counts: Counter[Outcome] = Counter()
        self._area = ""
        self._begin = self._last_line = clock()
        self._bar: bars.Progress | None = None

    def started(self, total: int) -> None:
        """Begin to show a run.

        Args:
            total: Number of tests that were selected.
        """
        self._total = total
        self._begin = self._last_line = self._clock()
        if self.console.is_terminal and not self.console.is_dumb_terminal:
            from rich import progress as bars  # noqa: PLC0415 - see above

            self._bar = bars.Progress(
                bars.BarColumn(32, finished_style="green"),
                bars.MofNCompleteColumn(),
                bars.TextColumn("{task.fields[numbers]}"),
                bars.TimeElapsedColumn(),
                bars.TextColumn("{task.description}", style="dim", markup=False),
                console=self.console,
                refresh_per_second=4,
                transient=True,
                redirect_stdout=False,
            )
            self._bar.add_task("", total=total, numbers="")
            self._bar.start()
        else:
            self.console.print(Text(f"running {plural(total, 'test')}"))

    def running(self, name: str) -> None:
        """Say which test runs now; calling it is optional."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=one_line(name, self.console.width))

    def test(self, result: TestResult) -> None:
        """Count a test that is over, its outcome raw or final."""
        result = by_level(result)
        self._counts[result.outcome] += 1
        moved = bool(self._area) and result.area != self._area
        self._area = result.area
        if result.outcome in {Outcome.FAILED, Outcome.ERROR}:
            self._tell(result)
        if self._bar is not None:
            self.running(result.name)
            self._bar.update(self._bar.task_ids[0], advance=1, numbers=self._numbers().markup)
        else:
            since = self._clock() - self._last_line
            if since >= LINE_EVERY or (moved and since >= 1):
                self._print_line()

    def say(self, line: str) -> None:
        """Say what goes on when the tests are over."""
        self.console.print(Text(one_line(line)))

    def finished(self) -> None:
        """Stop showing; may be called twice."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        elif self._begin >= 0:
            self._print_line()
        self._begin = -1

    def _tell(self, result: TestResult) -> None:
        number = self._counts[Outcome.FAILED] + self._counts[Outcome.ERROR]
        if number <= TOLD:
            why = one_line(result.reason or result.seen, 120)
            line = Text.assemble(
                (result.outcome.value, STYLES[result.outcome]),
                f" {result.requirement} {one_line(result.name, 120)}: {why}",
            )
            self.console.print(line, soft_wrap=True)
        elif number == TOLD + 1:
            self.console.print(Text("further failures: see the summary"))

    def _print_line(self) -> None:
        self._last_line = self._clock()
        done = sum(self._counts.values())
        area = f" · {one_line(self._area, 40)}" if self._area else ""
        self.console.print(
            Text(
                f"{done}/{self._total}  {self._numbers().plain}{area} ·"
                f" {duration(self._last_line - self._begin)}"
            )
        )

    def _numbers(self) -> Text:
        """Return the counts that are not zero, `51 passed, 1 failed`."""
        parts = [
            Text(f"{self._counts[outcome]} {outcome.value}", STYLES[outcome])
            for outcome in SHOWN
            if self._counts[outcome]
        ]
        return Text(", ").join(parts) if parts else Text("nothing yet")
