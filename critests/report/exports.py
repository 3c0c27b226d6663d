"""Writing a run: its record, and the files that are derived from it."""

from pathlib import Path
from typing import Final

from critests.record.errors import RecordNotWritten
from critests.record.files import RUN_FILE, bounded, to_json, write_atomically
from critests.record.run import RunRecord
from critests.report.benchmark_page import benchmark_to_html
from critests.report.html import to_html
from critests.report.junit import to_junit

HTML_FILE: Final = "report.html"
BENCHMARK_HTML_FILE: Final = "benchmark.html"
"""The page of the operations of a run that is a validation too; that of a benchmark alone is
`report.html`.
"""
JUNIT_FILE: Final = "junit.xml"


def export(
    record: RunRecord,
    run_dir: Path | None,
    *,
    junit: Path | None = None,
    html: Path | None = None,
    json: Path | None = None,
) -> list[Path]:
    """Write the record, the page and the JUnit file into the run's folder, and copies where the user wants
    them.

    The record comes first; a file that cannot be written does not keep the others from being tried.

    Args:
        record: The run.
        run_dir: Folder of the run, which also holds the evidence; None writes the wanted files only.
        junit: Further place for the JUnit XML.
        html: Further place for the HTML page.
        json: Further place for the record.

    Returns:
        The files, the record first.

    Raises:
        RecordNotWritten: at least one file could not be written; the sentence names the first.
    """
    record = bounded(record)
    written: list[Path] = []
    failures: list[RecordNotWritten] = []
    folder = {RUN_FILE: json, HTML_FILE: html, JUNIT_FILE: junit}
    if record.operations and record.kind != "benchmark":
        folder[BENCHMARK_HTML_FILE] = None
    for name, wanted in folder.items():
        targets = [run_dir / name] if run_dir else []
        targets += [wanted] if wanted and wanted not in targets else []
        if not targets:
            continue
        content = _content(name, record, run_dir)
        for target in targets:
            try:
                write_atomically(target, content)
            except RecordNotWritten as error:
                failures.append(error)
            else:
                written.append(target)
    if failures:
        raise failures[0]
    return written


def _content(name: str, record: RunRecord, run_dir: Path | None) -> str:
    if name == RUN_FILE:
        return to_json(record)
    if name == BENCHMARK_HTML_FILE:
        return benchmark_to_html(record, run_dir)
    return to_html(record, run_dir) if name == HTML_FILE else to_junit(record)
