"""The kinds of runs, validation and benchmark, and their verdicts, pages and summaries.

The modules that render a run are imported when they are needed, as templates and plots take long to import.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from critests.catalogue.words import Outcome
from critests.record.run_layout import RUN_FILE
from critests.record.run_record import RunRecord

if TYPE_CHECKING:
    from rich.console import Console

PAGE_FILE: Final = "report.html"
OPERATIONS_FILE: Final = "benchmark.html"
"""The page of the operations that a validation measured; that of a benchmark is `report.html`."""

Page = Callable[[RunRecord, Path | None], str]
"""Returns a page of a run; evidence and samples are read from its folder, if there is one."""


@dataclass(frozen=True, kw_only=True)
class RunKind:
    """One kind of run.

    Attributes:
        title: Title for headings.
        measures: Its results are numbers, not verdicts.
        verdict: Returns the verdict on a run in two or three words.
        to_html: Returns the page of a run.
        print_summary: Prints the summary of a run; its folder is for the paths of files.
    """

    title: str
    measures: bool = False
    verdict: Callable[[RunRecord], str]
    to_html: Page
    print_summary: Callable[[RunRecord, "Console", Path | None], None]

    def pages(self, record: RunRecord) -> dict[str, Page]:
        """Return the pages of a run by file name, the main page first."""
        also_measured = record.operations and not self.measures
        return {PAGE_FILE: self.to_html} | ({OPERATIONS_FILE: _benchmark_page} if also_measured else {})


def kind_of(name: str) -> RunKind:
    """Return a kind by its name in the record; an unknown kind is shown like a validation."""
    return _KINDS.get(name) or replace(_KINDS[VALIDATION], title=f"CRI {name}")


def _validation_verdict(record: RunRecord) -> str:
    from critests.report.facts.musts import verdict_word

    return verdict_word(record)[0]


def _validation_page(record: RunRecord, run_dir: Path | None) -> str:
    from critests.report.validation.validation_page import validation_to_html

    return validation_to_html(record, run_dir)


def _print_validation(record: RunRecord, out: "Console", run_dir: Path | None) -> None:
    from critests.report.terminal.console import print_end
    from critests.report.validation.validation_terminal import print_validation, print_verdict

    print_validation(record, out, run_dir)
    if record.operations:
        from critests.report.benchmark.benchmark_terminal import print_operations

        print_operations(record, out)
    print_verdict(record, out)
    print_end(record, out, *(_places(record, run_dir) if run_dir else []))


def _places(record: RunRecord, run_dir: Path) -> list[str]:
    """Return where the files of a run are, and the commands that a user may want next."""
    again = any(test.repeat_command for test in record.tests if test.outcome is Outcome.FAILED)
    return [
        f"record: {run_dir / RUN_FILE}",
        f"page:   {run_dir / PAGE_FILE}",
        *(["repeat: the commands above, one for each failure"] if again else []),
        f"new:    critests gate {run_dir} --baseline last",
        f"differ: critests compare OTHER_RUN {run_dir}",
    ]


def _benchmark_verdict(record: RunRecord) -> str:
    from critests.report.benchmark.benchmark_views import verdict_word

    return verdict_word(record)[0]


def _benchmark_page(record: RunRecord, run_dir: Path | None) -> str:
    from critests.report.benchmark.benchmark_page import benchmark_to_html

    return benchmark_to_html(record, run_dir)


def _print_benchmark(record: RunRecord, out: "Console", run_dir: Path | None) -> None:
    from critests.report.benchmark.benchmark_terminal import print_benchmark

    print_benchmark(record, out, run_dir)


VALIDATION: Final = "validation"
BENCHMARK: Final = "benchmark"
_KINDS: Final = {
    VALIDATION: RunKind(
        title="CRI conformance",
        verdict=_validation_verdict,
        to_html=_validation_page,
        print_summary=_print_validation,
    ),
    BENCHMARK: RunKind(
        title="CRI benchmark",
        measures=True,
        verdict=_benchmark_verdict,
        to_html=_benchmark_page,
        print_summary=_print_benchmark,
    ),
}
