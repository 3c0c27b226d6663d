"""Writing the record of a run and the files that are derived from it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from critests.record.files import bounded, to_json, write_atomically
from critests.record.record_errors import RecordNotWritten
from critests.record.run_layout import RUN_FILE
from critests.record.run_record import RunRecord
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
    """Write the record, the pages and the JUnit file into the run's folder, and copies to paths of the user.

    The record is written first; if one file cannot be written, the others still are.

    Args:
        record: The run.
        run_dir: Folder of the run, with the evidence; None writes the copies only.
        junit: Path of a copy of the JUnit XML.
        html: Path of a copy of the HTML page.
        json: Path of a copy of the record.

    Returns:
        The files, the record first.

    Raises:
        RecordNotWritten: at least one file could not be written; the message names the first.
    """
    record = bounded(record)
    written: list[Path] = []
    failures: list[RecordNotWritten] = []
    copies = {RUN_FILE: json, PAGE_FILE: html, JUNIT_FILE: junit}
    pages = kind_of(record.kind).pages(record)
    contents: dict[str, Callable[[], str]] = {
        RUN_FILE: partial(to_json, record),
        **{name: partial(page, record, run_dir) for name, page in pages.items()},
        JUNIT_FILE: partial(to_junit, record),
    }
    for name, content_of in contents.items():
        targets = dict.fromkeys(filter(None, (run_dir / name if run_dir else None, copies.get(name))))
        content = content_of() if targets else ""
        for target in targets:
            try:
                write_atomically(target, content)
                written.append(target)
            except RecordNotWritten as error:
                failures.append(error)
    if failures:
        raise failures[0]
    return written
