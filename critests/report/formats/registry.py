"""The formats by their names."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, cast

from critests.record.files import write_atomically
from critests.report.formats.source import Source

Render = Callable[[Source], str]
WriteTree = Callable[[Source, Path], list[Path]]
Kind = Literal["text", "tree"]
TEXT: Final[Kind] = "text"
TREE: Final[Kind] = "tree"


@dataclass(frozen=True, kw_only=True)
class Format:
    """One format.

    Attributes:
        name: What `--format` takes.
        kind: `text` for one file, `tree` for a folder.
        file_name: Name of the file where only a folder was given.
        summary: Who reads it, in one line.
        place: Module of this package and its function: `(source) -> str` for a text, `(source, root) ->
            list[Path]` for a tree.
    """

    name: str
    kind: Kind
    file_name: str = ""
    summary: str
    place: str

    def render(self, source: Source) -> str:
        """Return the text of a run.

        Raises:
            NotExported: the run cannot be written in this format.
        """
        return cast("Render", self._load())(source)

    def write(self, source: Source, output: Path) -> list[Path]:
        """Write a run; a text goes into the file `output`, or under its usual name into the folder `output`.

        Returns:
            What was written, in that order.

        Raises:
            NotExported: the run cannot be written in this format.
            RecordNotWritten: a file could not be written.
        """
        if self.kind == "tree":
            return cast("WriteTree", self._load())(source, output)
        target = output / self.file_name if output.is_dir() else output
        write_atomically(target, self.render(source))
        return [target]

    def _load(self) -> object:
        module, _, function = self.place.partition(":")
        return getattr(importlib.import_module(f"critests.report.formats.{module}"), function)


FORMATS: Final[dict[str, Format]] = {
    name: Format(name=name, kind=kind, file_name=file_name, summary=summary, place=place)
    for name, kind, file_name, summary, place in (
        ("summary", TEXT, "summary.txt", "a person at a terminal", "own:summary"),
        ("html", TEXT, "report.html", "a person: one page, no network", "own:html"),
        ("json", TEXT, "run.json", "programs: the run record itself", "own:json"),
        ("junit", TEXT, "junit.xml", "Prow, GitLab, Jenkins and GitHub reporters", "own:junit"),
        (
            "step-summary",
            TEXT,
            "summary.md",
            "GitHub Actions: append it to $GITHUB_STEP_SUMMARY",
            "step_summary:render",
        ),
        (
            "pr-comment",
            TEXT,
            "comment.md",
            "a pull request: what changed against --baseline, first",
            "pr_comment:render",
        ),
        (
            "testgrid",
            TREE,
            "",
            "TestGrid, Spyglass, Gubernator: logs/<job>/<build>/ for a bucket",
            "testgrid:write_tree",
        ),
        (
            "testgrid-config",
            TEXT,
            "testgrid.yaml",
            "TestGrid: the job's test group, dashboard and alerts",
            "testgrid_config:render",
        ),
        (
            "allure",
            TREE,
            "",
            "Allure 2 and 3: a folder of results; make allure renders it",
            "allure:write_tree",
        ),
        (
            "perf-dash",
            TEXT,
            "BenchmarkResults_benchmark_critests.json",
            "perf-dash: a benchmark's data items",
            "perf_dash:render",
        ),
        (
            "pytest-benchmark",
            TEXT,
            "benchmark.json",
            "pytest-benchmark compare: a benchmark's durations",
            "own:pytest_benchmark",
        ),
        (
            "openmetrics",
            TEXT,
            "critests.om",
            "promtool's backfill: metrics with their time",
            "metrics:openmetrics",
        ),
        (
            "prometheus",
            TEXT,
            "critests.prom",
            "node_exporter's textfile collector: metrics without time",
            "metrics:prometheus",
        ),
        ("critest", TREE, "", "what reads critest's benchmark files", "critest:write_tree"),
        ("csv", TEXT, "operations.csv", "a spreadsheet: a benchmark's operations", "operations_csv:render"),
    )
}
