"""Reads TOML files that people write: keys and values are checked, and errors name the line."""

import datetime as dt
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar, overload

from critests.exit_codes import UsageError

T = TypeVar("T")
_HEADING: Final = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]")


class TomlMalformed(UsageError):
    """A file cannot be read or has an error; the message begins with `file:line:`."""


class Table:
    """A whole file, or one `[[entry]]` of it.

    Attributes:
        path: the file.
        line: where the table begins.
        values: its keys and values.
    """

    def __init__(
        self, path: Path, lines: Sequence[str], values: Mapping[str, object], name: str = "", line: int = 1
    ) -> None:
        self.path = path
        self.line = line
        self.values = values
        self._lines = lines
        self._name = name

    @property
    def where(self) -> str:
        """File and line of its beginning."""
        return f"{self.path}:{self.line}"

    def wrong(self, key: str, what: str, near: str = "") -> TomlMalformed:
        """Return an error about a key.

        Args:
            key: the error names its line, or that of the table if the key is missing.
            what: the error.
            near: text of a value; the error names the first line with it, from the key on.
        """
        line = self._line_of(key)
        if near:
            line = next((number for number in self._numbers(line) if near in self._lines[number - 1]), line)
        return TomlMalformed(f"{self.path}:{line}: {what}")

    def expect(
        self, *, needs: Sequence[str] = (), may: Sequence[str] = (), entries: Sequence[str] = ()
    ) -> None:
        """Check the keys.

        Args:
            needs: required keys.
            may: optional keys.
            entries: names of optional `[[entries]]`.

        Raises:
            TomlMalformed: a key is unknown or missing.
        """
        known = {key: key for key in (*needs, *may)} | {name: f"[[{name}]]" for name in entries}
        for key in self.values:
            if key not in known:
                there = ", ".join(sorted(known.values()))
                raise self.wrong(key, f'"{key}" is not a key here; there are {there}')
        for key in needs:
            if key not in self.values:
                raise self.wrong(key, f'the entry has no "{key}"')

    @overload
    def take(self, key: str, read: Callable[[object], T]) -> T | None: ...

    @overload
    def take(self, key: str, read: Callable[[object], T], default: T) -> T: ...

    def take(self, key: str, read: Callable[[object], T], default: T | None = None) -> T | None:
        """Return the value of a key, parsed by `read`, or the default if the key is absent.

        Raises:
            TomlMalformed: `read` raised a ValueError or a TypeError about the value.
        """
        return self.need(key, read) if key in self.values else default

    def need(self, key: str, read: Callable[[object], T]) -> T:
        """Return the value of a key that `expect` has checked, parsed by `read`.

        Raises:
            TomlMalformed: `read` raised a ValueError or a TypeError about the value.
        """
        try:
            return read(self.values[key])
        except (TypeError, ValueError) as error:
            raise self.wrong(key, f"{key}: {error}") from error

    def entries(self, name: str) -> list["Table"]:
        """Return the `[[name]]` entries of a file, in their order.

        Raises:
            TomlMalformed: the value is not a list of tables.
        """
        tables = self.values.get(name, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise self.wrong(name, f"{name}: must be written as [[{name}]] entries")
        lines = [
            number
            for number, line in enumerate(self._lines, 1)
            if line.lstrip().startswith("[[") and _heading(line) == name
        ]
        lines = lines if len(lines) == len(tables) else [1] * len(tables)
        return [
            Table(self.path, self._lines, table, name, line)
            for table, line in zip(tables, lines, strict=True)
        ]

    def _numbers(self, first: int) -> Iterable[int]:
        """Yield the numbers of the table's lines from one of them on."""
        for number in range(first, len(self._lines) + 1):
            heading = _heading(self._lines[number - 1])
            another = heading is not None and number > self.line and not heading.startswith(f"{self._name}.")
            if self._name and another:
                return
            yield number

    def _line_of(self, key: str) -> int:
        """Return the line of a key, or of a table below this one that has its name."""
        assigned = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]")
        below = f"{self._name}.{key}" if self._name else key
        own = True
        for number in self._numbers(self.line + 1 if self._name else 1):
            line = self._lines[number - 1]
            heading = _heading(line)
            if heading is not None:
                own = False
            if heading == below or (own and assigned.match(line)):
                return number
        return self.line


def _heading(line: str) -> str | None:
    match = _HEADING.match(line)
    return match[1] if match else None


def read(path: Path) -> Table:
    """Read a file.

    Raises:
        TomlMalformed: it cannot be read or is no TOML.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        msg = f"{path}:{line}: not UTF-8 text"
        raise TomlMalformed(msg) from error
    except OSError as error:
        msg = f"{path}: {error.strerror or error}"
        raise TomlMalformed(msg) from error
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        what, _, place = str(error).partition(" (at ")
        match = re.search(r"line (\d+)", place)  # else it is the end of the document
        line = int(match[1]) if match else text.rstrip("\n").count("\n") + 1
        msg = f"{path}:{line}: not TOML: {what}"
        raise TomlMalformed(msg) from error
    return Table(path, text.split("\n"), values)


def text(value: object) -> str:
    """Read a text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        msg = "must be a text that is not empty"
        raise ValueError(msg)
    return value


def text_that(holds: Callable[[str], bool] | None, otherwise: str) -> Callable[[object], str]:
    """Return a parser that rejects a text with the message `otherwise` unless a condition holds."""

    def read_text(value: object) -> str:
        if holds is not None and not holds(text(value)):
            msg = f'{otherwise} "{value}"'
            raise ValueError(msg)
        return text(value)

    return read_text


def texts(value: object) -> tuple[str, ...]:
    """Read a list of texts that is not empty."""
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
        msg = 'must be a list of texts, such as ["*"]'
        raise ValueError(msg)
    return tuple(text(each) for each in value)


def switch(value: object) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        msg = "must be true or false"
        raise TypeError(msg)
    return value


def day(value: object) -> dt.date:
    """Read a day."""
    if isinstance(value, dt.datetime) or not isinstance(value, dt.date):
        msg = "must be a day without quotes, such as 2027-06-30"
        raise TypeError(msg)
    return value
