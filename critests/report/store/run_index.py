"""The index of all runs: a SQLite file next to them, derived from their records and updated when they change.

The verdicts of a run are one text with a letter per requirement, in the order of the table `requirements`:
thirteen million verdicts are thirteen megabytes, and the history of a requirement is one column of these
texts.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import Final, Self

from critests import catalogue
from critests.record.operations import OperationResult
from critests.record.record_errors import RecordError, RecordUnreadable
from critests.record.run_record import RunRecord
from critests.report.facts.musts import verdict_word
from critests.report.facts.run_parts import run_parts
from critests.report.run_kinds import VALIDATION
from critests.report.store.entries import (
    POINT_COLUMNS,
    RUN_COLUMNS,
    SERIES_COLUMNS,
    Point,
    RunEntry,
    SeriesSummary,
    point_of,
    run_entry,
    series_of,
    stored,
)
from critests.report.store.letters import LETTERS, UNTESTED
from critests.report.store.reading import RunFile, find_runs, read_lean
from critests.report.wording.partial_run import partial

INDEX_FILE: Final = "index.sqlite"
FORMAT_KEY: Final = "format"
FORMAT: Final = 5
"""Version of the tables; an index of another version is deleted and rebuilt."""
TABLES: Final = f"""
CREATE TABLE about (name PRIMARY KEY, value);
CREATE TABLE files (path PRIMARY KEY, size, changed, problem);
CREATE TABLE requirements (number INTEGER PRIMARY KEY, id UNIQUE);
CREATE TABLE runs (number INTEGER PRIMARY KEY, {", ".join(RUN_COLUMNS[1:])}, UNIQUE (path));
CREATE INDEX runs_by_line ON runs (runtime, version, started);
CREATE TABLE series (
    number INTEGER PRIMARY KEY, {", ".join(SERIES_COLUMNS[1:])}, UNIQUE (scenario, operation, dimensions)
);
CREATE TABLE points (series, {", ".join(POINT_COLUMNS)}, PRIMARY KEY (run, series)) WITHOUT ROWID;
"""
"""Columns are named like the fields of `RunEntry`, `SeriesSummary` and `Point`."""
_DAMAGED: Final = "SELECT path, problem FROM files WHERE problem != '' ORDER BY path"


class IndexUnusable(RecordError):
    """The index cannot be opened or written; the message says why."""


class Index:
    """The index, a context manager.

    Args:
        file: The SQLite file; created if it is missing, rebuilt if it is damaged or of another format.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._database = _open(file)
        self._numbers: dict[str, int] = {}

    @classmethod
    def of(cls, results: Path) -> Self:
        """Open the index of a tree of results and update it.

        Args:
            results: Root of all results, where the index is.

        Raises:
            IndexUnusable: the index cannot be written there.
        """
        index = cls(results / INDEX_FILE)
        try:
            index.update(results)
        except sqlite3.Error as error:
            index.close()
            msg = f"cannot write the index {index.file}: {error}"
            raise IndexUnusable(msg) from error
        return index

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def update(self, results: Path) -> list[str]:
        """Read the records that are new or changed, and remove runs that are gone.

        Returns:
            The folders whose records were read.
        """
        known = {
            path: (size, changed)
            for path, size, changed in self._database.execute("SELECT path, size, changed FROM files")
        }
        found = {each.path: each for each in find_runs(results)}
        stale = [each for each in found.values() if known.get(each.path) != (each.size, each.changed)]
        with self._database:
            self._forget([*(path for path in known if path not in found), *(each.path for each in stale)])
        for each in stale:
            with self._database:
                self._read(results, each)
        return [each.path for each in stale]

    def damaged(self) -> dict[str, str]:
        """Return the folders whose record cannot be read, with the reason."""
        return dict(self._database.execute(_DAMAGED))

    def add_entry(self, entry: RunEntry) -> int:
        """Add a run whose letters are in the order of this index; the caller commits. Returns its key."""
        return self._insert("runs", RUN_COLUMNS, entry)

    def add_points(self, points: Iterable[tuple[int, Point]]) -> None:
        """Add points, each with the key of its series; the caller commits."""
        marks = ", ".join("?" * (1 + len(POINT_COLUMNS)))
        rows = ((series, *astuple(each)) for series, each in points)
        self._database.executemany(f"INSERT OR REPLACE INTO points VALUES ({marks})", rows)  # noqa: S608 - marks

    def add_series(self, series: SeriesSummary) -> int:
        """Add a series unless it exists, and return its key; the number of the argument is ignored."""
        found = self._database.execute(
            "SELECT number FROM series WHERE scenario = ? AND operation = ? AND dimensions = ?",
            [stored(value) for value in (series.scenario, series.operation, series.dimensions)],
        ).fetchone()
        return int(found[0]) if found else self._insert("series", SERIES_COLUMNS, series)

    def commit(self) -> None:
        """Commit what was added."""
        self._database.commit()

    def requirements(self) -> list[str]:
        """Return the ids of all requirements, in the order of `RunEntry.letters`."""
        return [row[0] for row in self._database.execute("SELECT id FROM requirements ORDER BY number")]

    def runs(
        self,
        *,
        runtime: str | None = None,
        version: str | None = None,
        kind: str | None = None,
        limit: int = -1,
    ) -> list[RunEntry]:
        """Return runs, newest first, optionally of a runtime, a version or a kind, and at most `limit`."""
        columns = {"runtime": runtime, "version": version, "kind": kind}
        filters = {name: value for name, value in columns.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in filters) or "1"
        statement = f"SELECT * FROM runs WHERE {where} ORDER BY started DESC, path DESC LIMIT ?"  # noqa: S608 - fixed names
        return [run_entry(row) for row in self._database.execute(statement, (*filters.values(), limit))]

    def lines(self) -> list[tuple[str, str]]:
        """Return every pair of a runtime and its version."""
        return list(
            self._database.execute("SELECT DISTINCT runtime, version FROM runs ORDER BY runtime, version")
        )

    def series(self) -> dict[int, SeriesSummary]:
        """Return all series by their key."""
        rows = self._database.execute("SELECT * FROM series ORDER BY number")
        return {each.number: each for each in map(series_of, rows)}

    def points(self, runs: Sequence[int]) -> dict[int, dict[int, Point]]:
        """Return the points of runs: series to run to point."""
        found: dict[int, dict[int, Point]] = {}
        for run in runs:
            for series, *values in self._database.execute("SELECT * FROM points WHERE run = ?", (run,)):
                found.setdefault(series, {})[run] = Point(*values)
        return found

    def number_requirements(self, names: Iterable[str]) -> dict[str, int]:
        """Number new requirements, in an empty index in catalogue order, and return all numbers."""
        if not self._numbers:
            self._numbers = {name: number for number, name in enumerate(self.requirements())}
        new = [name for name in names if name not in self._numbers]
        if new and not self._numbers:
            new = list(dict.fromkeys([*(entry.id for entry in catalogue.load().requirements), *new]))
        for name in new:
            self._numbers[name] = len(self._numbers)
        self._database.executemany(
            "INSERT INTO requirements VALUES (?, ?)", [(self._numbers[name], name) for name in new]
        )
        return self._numbers

    def _insert(self, table: str, columns: Sequence[str], what: RunEntry | SeriesSummary) -> int:
        """Add a row with a new key, and return the key."""
        values = [None if name == "number" else stored(getattr(what, name)) for name in columns]
        marks = ", ".join("?" * len(columns))
        cursor = self._database.execute(f"INSERT INTO {table} VALUES ({marks})", values)  # noqa: S608 - names are ours
        return int(cursor.lastrowid or 0)

    def _read(self, results: Path, found: RunFile) -> None:
        folder, problem = results / found.path, ""
        try:
            record, reasons = read_lean(folder)
        except RecordUnreadable as error:
            problem = str(error)
        else:
            self._add(record, found, reasons, report=(folder / "report.html").is_file())
        self._database.execute(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)",
            (found.path, found.size, found.changed, stored(problem)),
        )

    def _add(self, record: RunRecord, found: RunFile, reasons: dict[str, str], *, report: bool) -> None:
        verdicts = record.requirements
        word, tone = verdict_word(record) if record.kind == VALIDATION else ("", "")
        number = self.add_entry(
            RunEntry(
                number=0,
                path=found.path,
                kind=record.kind,
                run_id=record.run_id,
                runtime=record.runtime.name,
                version=record.runtime.version,
                started=record.started,
                finished=record.finished,
                exit_code=record.exit_code,
                exit_reason=record.exit_reason,
                verdict=word,
                tone=tone,
                interrupted=record.interrupted,
                partial=partial(record),
                letters=self._letters({name: LETTERS[each.outcome] for name, each in verdicts.items()}),
                reasons=reasons,
                forms={aspect: form for each in verdicts.values() for aspect, form in each.forms.items()},
                report=report,
                parts=run_parts(record),
            )
        )
        points = [(operation, point_of(number, operation)) for operation in record.operations]
        self.add_points(
            [(self._series(operation), point) for operation, point in points if point is not None]
        )

    def _letters(self, verdicts: dict[str, str]) -> str:
        numbers = self.number_requirements(verdicts)
        letters = [UNTESTED] * len(numbers)
        for name, letter in verdicts.items():
            letters[numbers[name]] = letter
        return "".join(letters).rstrip(UNTESTED)

    def _series(self, operation: OperationResult) -> int:
        return self.add_series(
            SeriesSummary(
                number=0, **{name: getattr(operation, name) for name in SERIES_COLUMNS if name != "number"}
            )
        )

    def _forget(self, paths: Sequence[str]) -> None:
        for path in paths:
            self._database.execute(
                "DELETE FROM points WHERE run IN (SELECT number FROM runs WHERE path = ?)", (path,)
            )
            self._database.execute("DELETE FROM runs WHERE path = ?", (path,))
            self._database.execute("DELETE FROM files WHERE path = ?", (path,))


def _open(file: Path) -> sqlite3.Connection:
    """Open the database; replace one that is damaged or of another format by an empty one."""
    try:
        database = sqlite3.connect(file, timeout=60)
        try:
            found = _format_of(database)
        except sqlite3.DatabaseError:
            found = None
        if found == FORMAT:
            return database
        database.close()
        for name in (file.name, f"{file.name}-journal", f"{file.name}-wal", f"{file.name}-shm"):
            file.with_name(name).unlink(missing_ok=True)
        database = sqlite3.connect(file, timeout=60)
        database.executescript(TABLES)
        with database:
            database.execute("INSERT INTO about VALUES (?, ?)", (FORMAT_KEY, str(FORMAT)))
    except (OSError, sqlite3.Error) as error:
        msg = f"cannot write the index {file}: {error}"
        raise IndexUnusable(msg) from error
    return database


def _format_of(database: sqlite3.Connection) -> int | None:
    """Return the format of an index; None for an empty file. An index that is locked is not deleted."""
    try:
        row = database.execute("SELECT value FROM about WHERE name = ?", (FORMAT_KEY,)).fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return None
        raise IndexUnusable(str(error)) from error
    return int(row[0]) if row and str(row[0]).isdigit() else None
