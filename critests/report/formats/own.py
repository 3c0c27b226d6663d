"""What the suite itself writes and prints at the end of a run, from a stored run."""

import io
import json as plain_json

from critests.record.files import to_json
from critests.record.layout import RunFolder
from critests.record.samples import read_samples
from critests.report.benchmark_page import benchmark_to_html
from critests.report.benchmark_terminal import print_benchmark
from critests.report.formats.source import NotExported, Source
from critests.report.html import to_html
from critests.report.junit import to_junit
from critests.report.pytest_benchmark import to_pytest_benchmark
from critests.report.terminal import new_console, print_summary
from critests.report.texts import visible


def summary(source: Source) -> str:
    """Return the summary as plain text of 110 columns."""
    out = io.StringIO()
    show = print_benchmark if source.record.kind == "benchmark" else print_summary
    show(source.record, run_dir=source.folder, console=new_console(out))
    return visible(out.getvalue())


def html(source: Source) -> str:
    """Return the page."""
    return (benchmark_to_html if source.record.kind == "benchmark" else to_html)(source.record, source.folder)


def json(source: Source) -> str:
    """Return the record; one of an older version is brought to the present one."""
    return to_json(source.record)


def junit(source: Source) -> str:
    """Return the JUnit document."""
    return to_junit(source.record)


def pytest_benchmark(source: Source) -> str:
    """Return the durations of a benchmark with their samples, as pytest-benchmark stores them.

    Raises:
        NotExported: there are no samples beside the record.
        RecordUnreadable: the samples are damaged.
    """
    series = read_samples(RunFolder(source.folder).samples) if source.folder else []
    if not series:
        msg = (
            "there are no samples beside the record: pytest-benchmark's format holds those of benchmark runs"
            " (critests bench)"
        )
        raise NotExported(msg)
    return plain_json.dumps(to_pytest_benchmark(source.record, series), indent=1) + "\n"
