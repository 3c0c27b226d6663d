"""The progress of a run: a bar on a terminal, a line every few seconds elsewhere."""

import time
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.text import Text

from critests.catalogue.words import Outcome
from critests.record.judgement import by_level
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.report.facts.display_order import SHOWN
from critests.report.facts.explanations import observed_of
from critests.report.terminal.console import STYLES, new_console
from critests.report.wording.texts import duration, one_line, plural

if TYPE_CHECKING:  # the progress bar is imported only for a terminal
    from rich import progress as bars

LINE_EVERY: Final = 5.0
"""Seconds between two lines if the output is not a terminal."""
FAILURES_PRINTED: Final = 15
"""Failures that are printed when they occur; the summary has the others."""


class Progress:
    """Shows the progress of a run. Outcomes are provisional: root causes are known only at the end.

    Attributes:
        console: Where the progress is printed.
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
        """Start to show the progress of a run.

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
        """Show which test runs now; calling it is optional."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=one_line(name, self.console.width))

    def test(self, result: TestResult) -> None:
        """Count a completed test, with its raw or its final outcome."""
        result = by_level(result)
        self._counts[result.outcome] += 1
        moved = bool(self._area) and result.area != self._area
        self._area = result.area
        if result.outcome in {Outcome.FAILED, Outcome.ERROR}:
            self._print_failure(result)
        if self._bar is not None:
            self.running(result.name)
            self._bar.update(self._bar.task_ids[0], advance=1, numbers=self._numbers().markup)
        else:
            since = self._clock() - self._last_line
            if since >= LINE_EVERY or (moved and since >= 1):
                self._print_line()

    def say(self, line: str) -> None:
        """Print what happens after the tests."""
        self.console.print(Text(one_line(line)))

    def judged(self, record: RunRecord) -> None:
        """Say how the numbers of the record differ from those of the progress, now that causes are known."""
        final = Counter(test.outcome for test in record.tests if test.outcome is not Outcome.DISABLED)
        followers = self._counts[Outcome.FAILED] - final[Outcome.FAILED]
        if followers > 0:
            failed = plural(self._counts[Outcome.FAILED], "failed test")
            why = "only follow from another failure, are known or did not fail again"
            self.say(f"{followers} of the {failed} {why}; the numbers below are those of the record")

    def finished(self) -> None:
        """Stop the progress; may be called twice."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
        elif self._begin >= 0:
            self._print_line()
        self._begin = -1

    def _print_failure(self, result: TestResult) -> None:
        number = self._counts[Outcome.FAILED] + self._counts[Outcome.ERROR]
        if number <= FAILURES_PRINTED:
            why = observed_of(result, 200)
            line = Text.assemble(
                (result.outcome.value, STYLES[result.outcome]),
                f" {result.requirement} {one_line(result.name, 120)}: {why}",
            )
            self.console.print(line, soft_wrap=True)
        elif number == FAILURES_PRINTED + 1:
            self.console.print(Text("further failures: see the summary"))

    def _print_line(self) -> None:
        self._last_line = self._clock()
        # findings about responses and leftovers are results too, but no selected tests
        done = min(sum(self._counts.values()), self._total)
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
        return Text(", ").join(parts) if parts else Text("no results yet")
