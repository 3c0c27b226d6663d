"""The formats by their names.

A format's module is loaded when the format is written: `critests report --help` waits for none of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from critests.record.files import write_atomically
from critests.report.formats.source import Source


@dataclass(frozen=True)
class TextFormat:
    """A format that is one file.

    Attributes:
        name: What `--format` takes.
        file_name: Name of the file where only a folder was given.
        summary: Who reads it, in one line.
        render: Returns the text of a run; raises `NotExported` for one that cannot be written in this format.
    """

    name: str
    file_name: str
    summary: str
    render: Callable[[Source], str]

    def write(self, source: Source, output: Path) -> list[Path]:
        """Write a run into the file `output`, or under its usual name into the folder `output`.

        Returns:
            The file.

        Raises:
            NotExported: the run cannot be written in this format.
            RecordNotWritten: the file could not be written.
        """
        target = output / self.file_name if output.is_dir() else output
        write_atomically(target, self.render(source))
        return [target]


@dataclass(frozen=True)
class TreeFormat:
    """A format that is a folder of files.

    Attributes:
        name: What `--format` takes.
        summary: Who reads it, in one line.
        write: Writes a run below a folder and returns the files in their order; raises `NotExported` for one
            that cannot be written in this format, and `RecordNotWritten`.
    """

    name: str
    summary: str
    write: Callable[[Source, Path], list[Path]]


Format = TextFormat | TreeFormat


def _summary(source: Source) -> str:
    from critests.report.formats import summary

    return summary.render(source)


def _html_page(source: Source) -> str:
    from critests.report.formats import html_page

    return html_page.render(source)


def _run_json(source: Source) -> str:
    from critests.report.formats import run_json

    return run_json.render(source)


def _junit(source: Source) -> str:
    from critests.report.formats import junit

    return junit.render(source)


def _step_summary(source: Source) -> str:
    from critests.report.formats import step_summary

    return step_summary.render(source)


def _pr_comment(source: Source) -> str:
    from critests.report.formats import pr_comment

    return pr_comment.render(source)


def _testgrid(source: Source, root: Path) -> list[Path]:
    from critests.report.formats import testgrid

    return testgrid.write_tree(source, root)


def _testgrid_config(source: Source) -> str:
    from critests.report.formats import testgrid_config

    return testgrid_config.render(source)


def _allure(source: Source, root: Path) -> list[Path]:
    from critests.report.formats import allure

    return allure.write_tree(source, root)


def _perf_dash(source: Source) -> str:
    from critests.report.formats import perf_dash

    return perf_dash.render(source)


def _pytest_benchmark(source: Source) -> str:
    from critests.report.formats import pytest_benchmark

    return pytest_benchmark.render(source)


def _openmetrics(source: Source) -> str:
    from critests.report.formats import metrics

    return metrics.openmetrics(source)


def _prometheus(source: Source) -> str:
    from critests.report.formats import metrics

    return metrics.prometheus(source)


def _critest(source: Source, root: Path) -> list[Path]:
    from critests.report.formats import critest

    return critest.write_tree(source, root)


def _operations_csv(source: Source) -> str:
    from critests.report.formats import operations_csv

    return operations_csv.render(source)


def _growth_csv(source: Source) -> str:
    from critests.report.formats import growth_csv

    return growth_csv.render(source)


FORMATS: Final[dict[str, Format]] = {
    each.name: each
    for each in (
        TextFormat(
            name="summary", file_name="summary.txt", summary="a person at a terminal", render=_summary
        ),
        TextFormat(
            name="html", file_name="report.html", summary="a person: one page, no network", render=_html_page
        ),
        TextFormat(
            name="json", file_name="run.json", summary="programs: the run record itself", render=_run_json
        ),
        TextFormat(
            name="junit",
            file_name="junit.xml",
            summary="Prow, GitLab, Jenkins and GitHub reporters",
            render=_junit,
        ),
        TextFormat(
            name="step-summary",
            file_name="summary.md",
            summary="GitHub Actions: append it to $GITHUB_STEP_SUMMARY",
            render=_step_summary,
        ),
        TextFormat(
            name="pr-comment",
            file_name="comment.md",
            summary="a pull request: what changed against --baseline, first",
            render=_pr_comment,
        ),
        TreeFormat(
            name="testgrid",
            summary="TestGrid, Spyglass, Gubernator: logs/<job>/<build>/ for a bucket",
            write=_testgrid,
        ),
        TextFormat(
            name="testgrid-config",
            file_name="testgrid.yaml",
            summary="TestGrid: the job's test group, dashboard and alerts",
            render=_testgrid_config,
        ),
        TreeFormat(
            name="allure",
            summary="Allure 2 and 3: a folder of results; make allure renders it",
            write=_allure,
        ),
        TextFormat(
            name="perf-dash",
            file_name="BenchmarkResults_benchmark_critests.json",
            summary="perf-dash: a benchmark's data items",
            render=_perf_dash,
        ),
        TextFormat(
            name="pytest-benchmark",
            file_name="benchmark.json",
            summary="pytest-benchmark compare: a benchmark's durations",
            render=_pytest_benchmark,
        ),
        TextFormat(
            name="openmetrics",
            file_name="critests.om",
            summary="promtool's backfill: metrics with their time",
            render=_openmetrics,
        ),
        TextFormat(
            name="prometheus",
            file_name="critests.prom",
            summary="node_exporter's textfile collector: metrics without time",
            render=_prometheus,
        ),
        TreeFormat("critest", "what reads critest's benchmark files", _critest),
        TextFormat(
            name="csv",
            file_name="operations.csv",
            summary="a spreadsheet: a benchmark's operations",
            render=_operations_csv,
        ),
        TextFormat(
            name="growth-csv",
            file_name="growth.csv",
            summary="a plot: how a benchmark's operations grow with a number of things",
            render=_growth_csv,
        ),
    )
}
