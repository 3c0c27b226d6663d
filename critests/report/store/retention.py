"""Removing old runs. Only folders whose record can be read as a run are ever removed."""

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
    """Return the runs to remove. With both rules, these are the runs that break either.

    Args:
        runs: All runs, the newest first.
        now: Seconds since the epoch.
        keep: Number of newest runs to keep of each runtime, version and kind; None for any number.
        age: Maximum age of a run in seconds; None for any age.

    Returns:
        The runs to remove, each with the reason in words, the oldest first. The newest run of each runtime,
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
            found.append((entry, f"number {place} of its runtime, version and kind; --keep {keep}"))
        elif age is not None and now - entry.started > age:
            days = (now - entry.started) / DAY, age / DAY
            found.append((entry, f"{days[0]:.0f} days old; --newer-than {days[1]:.3g}d"))
    return found[::-1]


def remove(results: Path, runs: Iterable[RunEntry]) -> tuple[list[str], dict[str, str]]:
    """Remove runs, then folders of runtimes and versions that are empty.

    A folder is not removed if a part of its path is a symbolic link, if its record is not the run of the
    index, or if it is outside the results.

    Args:
        results: Root of all results.
        runs: The runs.

    Returns:
        The folders that were removed, and for each other folder why it was not.
    """
    removed: list[str] = []
    failed: dict[str, str] = {}
    for entry in runs:
        problem = _objection(results, entry)
        if not problem:
            try:
                shutil.rmtree(results / entry.path)
            except OSError as error:
                problem = f"{error.strerror or error}: {error.filename}"
        if problem:
            failed[entry.path] = problem
        else:
            removed.append(entry.path)
            _remove_empty(results, (results / entry.path).parent)
    return removed, failed


def _objection(results: Path, entry: RunEntry) -> str:
    parts = entry.path.split("/")
    if len(parts) != 3 or any(part in {"", ".", ".."} for part in parts):
        return "it is not at <runtime>/<version>/<run>"
    folder = results
    for part in parts:
        folder /= part
        if folder.is_symlink():
            return f"{folder} is a symbolic link"
    try:
        record, _ = read_lean(folder)
    except RecordUnreadable as error:
        return str(error)
    return "" if record.run_id == entry.run_id else f"it now contains run {record.run_id}"


def _remove_empty(results: Path, folder: Path) -> None:
    while folder != results:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent
