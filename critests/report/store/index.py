"""The index of all runs: one SQLite file beside them, made from their records and brought up to date by what
changed.

The verdicts of a run are one text with a letter for each requirement, in the order of the table
`requirements`: thirteen million verdicts are thirteen megabytes, and the history of a requirement is one
column of these texts.
"""

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, Self

from critests import catalogue
from critests.record.errors import RecordError, RecordUnreadable
from critests.record.operations import OperationResult
from critests.record.run import RunRecord
from critests.record.scope import partial
from critests.report.store.entries import (
    RUN_COLUMNS,
    Point,
    RunEntry,
    Series,
    Update,
    point_of,
    run_entry,
    run_values,
)
from critests.report.store.letters import LETTERS, UNTESTED
from critests.report.store.reading import Found, find_runs, read_lean
from critests.report.store.tables import FORMAT, TABLES

INDEX_FILE: Final = "index.sqlite"
FORMAT_KEY: Final = "format"


class IndexUnusable(RecordError):
    """The index cannot be opened or written; the message says why."""


class Index:
    """The index. Use it as a context manager.

    Args:
        file: The SQLite file; made if it is missing, made anew if it is damaged or of another format.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self._database = _open(file)
        self._numbers: dict[str, int] = {}

    @classmethod
    def of(
        cls, results: Path, *, file: Path | None = None, progress: Callable[[int, int], None] | None = None
    ) -> tuple[Self, Update]:
        """Open the index of a tree of results and bring it up to date.

        Args:
            results: Root of all results.
            file: The index; by default `index.sqlite` in that folder.
            progress: Is told how many of how many new records were read.

        Raises:
            IndexUnusable: the index cannot be written there.
        """
        index = cls(file or results / INDEX_FILE)
        try:
            return index, index.update(results, progress)
        except sqlite3.Error as error:
            index.close()
            msg = f"cannot write the index {index.file}: {error}"
            raise IndexUnusable(msg) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._database.close()

    def update(self, results: Path, progress: Callable[[int, int], None] | None = None) -> Update:
        """Read the records that are new or changed, and forget those that are gone. A damaged one is named
        and left out.
        """
        known = {
            path: (size, changed)
            for path, size, changed in self._database.execute("SELECT path, size, changed FROM files")
        }
        found = {each.path: each for each in find_runs(results)}
        stale = [each for each in found.values() if known.get(each.path) != (each.size, each.changed)]
        gone = [path for path in known if path not in found]
        with self._database:
            self._forget([*gone, *(each.path for each in stale)])
        for done, each in enumerate(stale, start=1):
            with self._database:
                self._read(results, each)
            if progress:
                progress(done, len(stale))
        return Update(
            added=[each.path for each in stale if each.path not in known],
            changed=[each.path for each in stale if each.path in known],
            removed=gone,
            damaged=dict(
                self._database.execute("SELECT path, problem FROM files WHERE problem != '' ORDER BY path")
            ),
        )

    def add(self, record: RunRecord, found: Found, reasons: dict[str, str], *, report: bool = False) -> int:
        """Add a run; the caller commits with `commit`.

        Returns:
            The key of the run.
        """
        facts = {
            "capabilities": {fact.name: fact.present for fact in record.capabilities},
            "forms": {
                aspect: form
                for verdict in record.requirements.values()
                for aspect, form in verdict.forms.items()
            },
        }
        letters = self._letters(
            {name: LETTERS[verdict.outcome] for name, verdict in record.requirements.items()}
        )
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
                suite_version=record.suite_version,
                catalogue_revision=record.catalogue_revision,
                exit_code=record.exit_code,
                exit_reason=record.exit_reason,
                interrupted=record.interrupted,
                partial=partial(record),
                letters=letters,
                areas=record.counts.areas,
                reasons=reasons,
                facts=self.add_facts(facts),
                report=report,
            )
        )
        self._database.execute(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, '')", (found.path, found.size, found.changed)
        )
        points = [(operation, point_of(number, operation)) for operation in record.operations]
        self.add_points(
            [(self._series(operation), point) for operation, point in points if point is not None]
        )
        return number

    def add_entry(self, entry: RunEntry) -> int:
        """Add a run whose letters are in the order of this index; the caller commits. Returns its key."""
        columns = RUN_COLUMNS.removeprefix("number, ")
        marks = ", ".join("?" * len(columns.split(", ")))
        # names are ours
        cursor = self._database.execute(f"INSERT INTO runs ({columns}) VALUES ({marks})", run_values(entry))  # noqa: S608 - see above
        return int(cursor.lastrowid or 0)

    def add_points(self, points: Iterable[tuple[int, Point]]) -> None:
        """Add what runs measured, each with the key of its series; the caller commits."""
        self._database.executemany(
            "INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (
                    each.run,
                    series,
                    each.count,
                    each.median,
                    each.low,
                    each.high,
                    each.tail_at,
                    each.tail,
                    each.tail_low,
                    each.tail_high,
                )
                for series, each in points
            ),
        )

    def add_series(self, series: Series) -> int:
        """Add a series, or find it; the number of the argument is ignored. Returns its key."""
        dimensions = json.dumps(series.dimensions, sort_keys=True)
        key = (series.scenario, series.operation, dimensions)
        found = self._database.execute(
            "SELECT number FROM series WHERE scenario = ? AND operation = ? AND dimensions = ?", key
        ).fetchone()
        if found:
            return int(found[0])
        values = (*key, series.unit, series.better, series.headline)
        statement = (
            "INSERT INTO series (scenario, operation, dimensions, unit, better, headline) VALUES (?, ?, ?, ?,"
            " ?, ?)"
        )
        return int(self._database.execute(statement, values).lastrowid or 0)

    def add_facts(self, facts: dict[str, Any]) -> int:
        """Keep what a run found beside verdicts, once for all runs that found the same. Returns its key."""
        text = json.dumps(facts, sort_keys=True)
        self._database.execute("INSERT OR IGNORE INTO facts (content) VALUES (?)", (text,))
        return int(
            self._database.execute("SELECT number FROM facts WHERE content = ?", (text,)).fetchone()[0]
        )

    def commit(self) -> None:
        """Write what was added."""
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
        """Return runs, the newest first; all of them, or those of a runtime, a version, a kind, or only so
        many.
        """
        wanted = {"runtime": runtime, "version": version, "kind": kind}
        given = {name: value for name, value in wanted.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in given) or "1"
        # names are ours
        statement = f"SELECT {RUN_COLUMNS} FROM runs WHERE {where} ORDER BY started DESC, path DESC LIMIT ?"  # noqa: S608 - see above
        return [run_entry(row) for row in self._database.execute(statement, (*given.values(), limit))]

    def lines(self) -> list[tuple[str, str]]:
        """Return every runtime with every version of it."""
        return list(
            self._database.execute("SELECT DISTINCT runtime, version FROM runs ORDER BY runtime, version")
        )

    def facts(self, number: int) -> dict[str, dict[str, Any]]:
        """Return `capabilities` (name to present or not) and `forms` (aspect to the observed form) by their
        key.
        """
        row = self._database.execute("SELECT content FROM facts WHERE number = ?", (number,)).fetchone()
        found: dict[str, dict[str, Any]] = json.loads(row[0]) if row else {}
        return {"capabilities": {}, "forms": {}} | found

    def series(self) -> dict[int, Series]:
        """Return all series by their key."""
        rows = self._database.execute(
            "SELECT number, scenario, operation, dimensions, unit, better, headline FROM series ORDER BY"
            " number"
        )
        return {
            number: Series(
                number=number,
                scenario=scenario,
                operation=operation,
                dimensions=json.loads(dimensions),
                unit=unit,
                better=better,
                headline=bool(headline),
            )
            for number, scenario, operation, dimensions, unit, better, headline in rows
        }

    def points(self, runs: Sequence[int]) -> dict[int, dict[int, Point]]:
        """Return what these runs measured: series to run to point."""
        found: dict[int, dict[int, Point]] = {}
        statement = (
            "SELECT series, run, count, median, low, high, tail_at, tail, tail_low, tail_high FROM points"
            " WHERE run = ?"
        )
        for run in runs:
            for series, *values in self._database.execute(statement, (run,)):
                found.setdefault(series, {})[run] = Point(*values)
        return found

    def damaged(self) -> dict[str, str]:
        """Return the folders whose record cannot be read, and why."""
        return dict(
            self._database.execute("SELECT path, problem FROM files WHERE problem != '' ORDER BY path")
        )

    def number_requirements(self, names: Iterable[str]) -> dict[str, int]:
        """Give numbers to requirements that have none yet, those that the catalogue knows in its order.
        Returns all numbers.
        """
        if not self._numbers:
            self._numbers = {
                name: number for number, name in self._database.execute("SELECT number, id FROM requirements")
            }
        new = [name for name in names if name not in self._numbers]
        if new and not self._numbers:
            new = list(dict.fromkeys([*(entry.id for entry in catalogue.load().requirements), *new]))
        for name in new:
            self._numbers[name] = len(self._numbers)
        self._database.executemany(
            "INSERT INTO requirements VALUES (?, ?)", [(self._numbers[name], name) for name in new]
        )
        return self._numbers

    def _letters(self, verdicts: dict[str, str]) -> str:
        numbers = self.number_requirements(verdicts)
        letters = [UNTESTED] * len(numbers)
        for name, letter in verdicts.items():
            letters[numbers[name]] = letter
        return "".join(letters).rstrip(UNTESTED)

    def _series(self, operation: OperationResult) -> int:
        return self.add_series(
            Series(
                number=0,
                scenario=operation.scenario,
                operation=operation.operation,
                dimensions=operation.dimensions,
                unit=operation.unit,
                better=operation.better,
                headline=operation.headline,
            )
        )

    def _read(self, results: Path, found: Found) -> None:
        folder = results / found.path
        try:
            record, reasons = read_lean(folder)
        except RecordUnreadable as error:
            self._database.execute(
                "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)",
                (found.path, found.size, found.changed, str(error)),
            )
            return
        self.add(record, found, reasons, report=(folder / "report.html").is_file())

    def _forget(self, paths: Sequence[str]) -> None:
        for path in paths:
            self._database.execute(
                "DELETE FROM points WHERE run IN (SELECT number FROM runs WHERE path = ?)", (path,)
            )
            self._database.execute("DELETE FROM runs WHERE path = ?", (path,))
            self._database.execute("DELETE FROM files WHERE path = ?", (path,))


def _open(file: Path) -> sqlite3.Connection:
    """Open the database; one that is damaged or of another format is replaced by an empty one."""
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
    """Return the format of an index; None for an empty file. A locked file is no reason to throw it away."""
    try:
        row = database.execute("SELECT value FROM about WHERE name = ?", (FORMAT_KEY,)).fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return None
        raise IndexUnusable(str(error)) from error
    return int(row[0]) if row and str(row[0]).isdigit() else None
