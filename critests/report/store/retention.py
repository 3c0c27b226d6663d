"""Which runs are kept. Only folders whose record can be read as a run are ever removed."""

import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from critests.record.record_errors import RecordUnreadable
from critests.report.store.entries import RunEntry
from critests.report.store.reading import read_lean

DAY: Final = 86_400


def surplus(
    runs: Iterable[RunEntry], *, now: float, keep: int | None = None, age: float | None = None
) -> list[tuple[RunEntry, str]]:
    """Say which runs are too many.

    Args:
        runs: All runs, the newest first.
        now: Seconds since the epoch.
        keep: How many of each runtime, version and kind to keep, the newest; None keeps any number.
        age: How many seconds old a run may be; None is any age. With both, a run goes that is too old or one
            too many.

    Returns:
        The runs to remove, each with the reason in words, the oldest first. The newest of each runtime,
        version and kind is never among them.
    """
    seen: dict[tuple[str, str, str], int] = {}
    found = []
    for entry in runs:
        line = entry.runtime, entry.version, entry.kind
        place = seen[line] = seen.get(line, 0) + 1
        if place == 1:
            continue
        if keep is not None and place > keep:
            found.append((entry, f"number {place} of its line, the newest {keep} are kept"))
        elif age is not None and now - entry.started > age:
            days = (now - entry.started) / DAY, age / DAY
            found.append((entry, f"{days[0]:.0f} days old, {days[1]:.3g} are kept"))
    return found[::-1]


def remove(results: Path, runs: Iterable[RunEntry]) -> tuple[list[str], dict[str, str]]:
    """Remove runs; a runtime's folders that are empty then go too.

    A folder is left alone where a part of its path is a link, where its record is not the run that the index
    saw, or where it lies outside.

    Args:
        results: Root of all results.
        runs: The runs.

    Returns:
        The folders that were removed, and folder to why it was not.
    """
    removed: list[str] = []
    left: dict[str, str] = {}
    for entry in runs:
        problem = _objection(results, entry)
        if not problem:
            try:
                shutil.rmtree(results / entry.path)
            except OSError as error:
                problem = f"{error.strerror or error}: {error.filename}"
        if problem:
            left[entry.path] = problem
        else:
            removed.append(entry.path)
            _remove_empty(results, (results / entry.path).parent)
    return removed, left


def _objection(results: Path, entry: RunEntry) -> str:
    parts = entry.path.split("/")
    if len(parts) != 3 or any(part in {"", ".", ".."} for part in parts):
        return "it is not at <runtime>/<version>/<run>"
    folder = results
    for part in parts:
        folder /= part
        if folder.is_symlink():
            return f"{folder} is a link"
    try:
        record, _ = read_lean(folder)
    except RecordUnreadable as error:
        return str(error)
    return "" if record.run_id == entry.run_id else f"it holds run {record.run_id} now"


def _remove_empty(results: Path, folder: Path) -> None:
    while folder != results:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
