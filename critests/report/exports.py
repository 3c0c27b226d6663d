"""Writing a run: its record, and the files that are derived from it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from critests.record.errors import RecordNotWritten
from critests.record.files import bounded, to_json, write_atomically
from critests.record.layout import RUN_FILE
from critests.record.run import RunRecord
from critests.report.formats.junit import to_junit
from critests.report.run_kinds import PAGE_FILE, kind_of

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
    copies = {RUN_FILE: json, PAGE_FILE: html, JUNIT_FILE: junit}
    pages = {
        name: partial(page, record, run_dir) for name, page in kind_of(record.kind).pages(record).items()
    }
    contents: dict[str, Callable[[], str]] = {
        RUN_FILE: partial(to_json, record),
        **pages,
        JUNIT_FILE: partial(to_junit, record),
    }
    for name, content_of in contents.items():
        wanted = copies.get(name)
        targets = [run_dir / name] if run_dir else []
        targets += [wanted] if wanted and wanted not in targets else []
        if not targets:
            continue
        content = content_of()
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
