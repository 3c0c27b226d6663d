"""Which fault breaks which promise, and which tests must notice.

The faults for the tests of `test_stop.py` are in `test_stop.faults.toml` beside it:

    [[fault]]
    id = "sandbox-filter-state-ignored"
    break = "ListPodSandbox.request.filter.state: clear"      # or a list of faults that are set together
    promise = "a sandbox filter with a state selects by it"
    turns_red = ["test_list_sandboxes_filters_by_state"]      # with [param] where it must be this very case
    during = "call"     # optional; "all", the default, includes the test's own set-up;
                        # "restart": once a runtime of the test's own was restarted
    spoils = true       # optional; shared fixtures are made anew afterwards

A test without its parameters is turned red if any of its cases is.
"""

import re
import tomllib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from critests.audit.faults import AnyFault, FaultError, parse_fault
from critests.run.selection import SUITE

SUFFIX = ".faults.toml"
DURING = ("all", "call", "restart")
_KEYS = {"id", "break", "promise", "turns_red", "during", "spoils"}
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


class MatrixError(ValueError):
    """A file of faults is not well formed; the message begins with file and line."""


@dataclass(frozen=True)
class Entry:
    """One fault of the matrix.

    Attributes:
        id: words joined by dashes; unique.
        faults: what is set, all together.
        promise: what is broken, in one line.
        turns_red: names of tests.
        during: `all` of the test, its own set-up included, its `call` only, or from the first `restart` of a
            runtime of its own on.
        spoils: whether shared fixtures are no good afterwards.
        where: file and line.
    """

    id: str
    faults: tuple[AnyFault, ...]
    promise: str
    turns_red: tuple[str, ...]
    during: str = "all"
    spoils: bool = False
    where: str = ""

    def concerns(self, test: str) -> bool:
        """Say whether a test, named with its parameters, is among those that must notice."""
        return test in self.turns_red or base_name(test) in self.turns_red


@dataclass(frozen=True)
class Matrix:
    """All faults, in the order of their files."""

    entries: tuple[Entry, ...]

    def for_test(self, test: str) -> list[Entry]:
        """Return the faults that a test, named with its parameters, must notice."""
        return [entry for entry in self.entries if entry.concerns(test)]

    def coverage(self, tests: Iterable[str]) -> list[str]:
        """Return the tests, named with or without parameters, that no fault is known for."""
        covered = {base_name(name) for entry in self.entries for name in entry.turns_red}
        return sorted({base_name(test) for test in tests} - covered)

    def unknown(self, tests: Collection[str]) -> list[tuple[Entry, str]]:
        """Return the names in `turns_red` that are no test's; of a name with parameters only the function is
        looked at.
        """
        known = {base_name(test) for test in tests}
        return [
            (entry, name)
            for entry in self.entries
            for name in entry.turns_red
            if base_name(name) not in known
        ]


def base_name(test: str) -> str:
    """Return a test's name without its parameters."""
    return test.partition("[")[0]


def beside(module: Path) -> Path:
    """Return where the faults for a module of tests are; the file need not exist."""
    return module.with_suffix(SUFFIX)


def load(*places: Path) -> Matrix:
    """Read the faults for some tests, by default for those of the suite.

    Args:
        places: folders, with all their subfolders, and files.

    Raises:
        MatrixError: something in it is wrong; with file and line.
    """
    entries: list[Entry] = []
    taken: dict[str, str] = {}
    for file in dict.fromkeys(file.resolve() for place in places or (SUITE,) for file in _files(place)):
        for entry in _read(file):
            if entry.id in taken:
                msg = f"{entry.where}: the id {entry.id!r} is taken by {taken[entry.id]}"
                raise MatrixError(msg)
            taken[entry.id] = entry.where
            entries.append(entry)
    return Matrix(tuple(entries))


def _files(place: Path) -> list[Path]:
    return sorted(place.rglob(f"*{SUFFIX}")) if place.is_dir() else [place]


def _read(file: Path) -> list[Entry]:
    try:
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        msg = f"{file}: cannot be read: {error.strerror}"
        raise MatrixError(msg) from error
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        msg = f"{file}:{line[1] if line else 1}: {error}"
        raise MatrixError(msg) from error
    tables = document.pop("fault", [])
    if document or not isinstance(tables, list):
        msg = f"{file}:1: there are only [[fault]] tables here, not {', '.join(document) or 'fault'}"
        raise MatrixError(msg)
    lines = text.splitlines()
    headers = [
        number for number, line in enumerate(lines, start=1) if re.match(r"\s*\[\[\s*fault\s*\]\]", line)
    ]
    return [_Reader(file, lines, start, table).entry() for start, table in zip(headers, tables, strict=True)]


class _Reader:
    """Reads one table, and knows where its keys stand."""

    def __init__(self, file: Path, lines: list[str], start: int, table: dict[str, Any]) -> None:
        self._file = file
        self._lines = lines
        self._start = start
        self._table = table

    def _where(self, words: str) -> str:
        """Return file and line of the first line of the table that holds these words; else of its header."""
        for number in range(self._start, len(self._lines)):
            line = self._lines[number]
            if re.match(r"\s*\[\[", line):
                break
            if words in line:
                return f"{self._file}:{number + 1}"
        return f"{self._file}:{self._start}"

    def _fail(self, words: str, complaint: str) -> MatrixError:
        return MatrixError(f"{self._where(words)}: {complaint}")

    def entry(self) -> Entry:
        table = self._table
        for key in table:
            if key not in _KEYS:
                raise self._fail(key, f"a fault has no {key!r}; it has: {', '.join(sorted(_KEYS))}")
        name, promise = self._text("id"), self._text("promise")
        if not _ID.fullmatch(name):
            raise self._fail("id", f"{name!r} is no id: expected lower-case words joined by dashes")
        during = table.get("during", "all")
        if during not in DURING:
            raise self._fail("during", f"during is one of {', '.join(DURING)}, not {during!r}")
        spoils = table.get("spoils", False)
        if not isinstance(spoils, bool):
            raise self._fail("spoils", "spoils is true or false")
        faults = tuple(self._fault(text) for text in self._texts("break"))
        where = f"{self._file}:{self._start}"
        return Entry(name, faults, promise, tuple(self._texts("turns_red")), during, spoils, where)

    def _fault(self, text: str) -> AnyFault:
        try:
            return parse_fault(text)
        except FaultError as error:
            raise self._fail(text.partition(" when ")[0].partition('"')[0], str(error)) from error

    def _text(self, key: str) -> str:
        value = self._table.get(key)
        if not isinstance(value, str) or not value.strip():
            raise self._fail(key, f'a fault needs {key} = "…"')
        return value

    def _texts(self, key: str) -> list[str]:
        value = self._table.get(key)
        texts = [value] if isinstance(value, str) else value
        if (
            not isinstance(texts, list)
            or not texts
            or not all(isinstance(text, str) and text.strip() for text in texts)
        ):
            raise self._fail(key, f'a fault needs {key} = "…" or {key} = ["…", …]')
        return texts
