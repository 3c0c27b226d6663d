"""Reading a policy file: every key and value is checked, and what is wrong is said with its line."""

import datetime as dt
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from critests.record.versions import parse_condition
from critests.report.comparison.wording import read_amount, read_share
from critests.report.gates.policy import LEVELS, Bound, Policy, PolicyMalformed, Waiver

SUBJECTS: Final = ("requirement", "operation", "capability")
_TABLES: Final = ("waiver", "benchmark")


def read_policy(path: Path, *, known_requirement: Callable[[str], bool] | None = None) -> Policy:
    """Read a policy file.

    Args:
        path: The file.
        known_requirement: Says whether a requirement or an aspect is in the catalogue; without it ids are not
            checked.

    Raises:
        PolicyMalformed: with file, line and what is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise _wrong(path, line, "not UTF-8 text") from error
    except OSError as error:
        msg = f"{path}: {error.strerror or error}"
        raise PolicyMalformed(msg) from error
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r" \(at line (\d+), column \d+\)", str(error))
        line = int(match[1]) if match else text.rstrip("\n").count("\n") + 1
        raise _wrong(path, line, f"not TOML: {re.sub(r' .at (line|end of).*', '', str(error))}") from error
    return _Reader(path, text.split("\n"), known_requirement).policy(data)


class _Wrong(Exception):
    """The key and what is wrong with it; `_Reader` knows on which line it stands."""

    def __init__(self, key: str, what: str) -> None:
        super().__init__(what)
        self.key = key


class _Values:
    """The keys of one table, taken one after the other; what is left at the end is not known."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.left = dict(table)
        self.known: list[str] = []

    # values of TOML
    def take(self, key: str, read: Callable[[Any], Any], default: Any = None) -> Any:  # noqa: ANN401 - see above
        """Return the value of a key as `read` makes it, or the default where the key is absent."""
        self.known.append(key)
        if key not in self.left:
            return default
        try:
            return read(self.left.pop(key))
        except (TypeError, ValueError) as error:
            raise _Wrong(key, f"{key}: {error}") from error

    def need(self, key: str, read: Callable[[Any], Any]) -> Any:  # noqa: ANN401 - values of TOML
        """Return the value of a key that must be there."""
        if key not in self.left:
            raise _Wrong(key, f'the entry has no "{key}"')
        return self.take(key, read)

    def end(self) -> None:
        """Refuse what nobody took."""
        for key in self.left:
            raise _Wrong(key, f'"{key}" is not a key here; there are {", ".join(sorted(self.known))}')


class _Reader:
    def __init__(self, path: Path, lines: list[str], known_requirement: Callable[[str], bool] | None) -> None:
        self.path = path
        self.lines = lines
        self.known_requirement = known_requirement

    def policy(self, data: Mapping[str, Any]) -> Policy:
        """Return the whole policy."""
        first = next(
            (number for number, line in enumerate(self.lines, 1) if line.lstrip().startswith("[")),
            len(self.lines) + 1,
        )
        values = _Values(data)
        try:
            policy = Policy(
                levels=values.take("levels", _levels, Policy.levels),
                max_blocked=values.take("max-blocked", _whole),
                quantile=values.take("quantile", _quantile, Policy.quantile),
                max_regression=values.take("max-regression", _share, Policy.max_regression),
                max_error_rate=values.take("max-error-rate", _share),
                noisy_fails=values.take("noisy-fails", _switch, Policy.noisy_fails),
                unmeasured_fails=values.take("unmeasured-fails", _switch, Policy.unmeasured_fails),
                waivers=tuple(self._entries("waiver", values.take("waiver", _tables, []), self._waiver)),
                bounds=tuple(self._entries("benchmark", values.take("benchmark", _tables, []), self._bound)),
                source=self.path.name,
            )
            values.end()
        except _Wrong as error:
            where = range(1, first) if error.key not in _TABLES else range(1, len(self.lines) + 1)
            raise _wrong(self.path, self._line(error.key, where), str(error)) from error
        return policy

    def _entries(
        self, name: str, tables: list[Mapping[str, Any]], read: Callable[[_Values, int], Any]
    ) -> list[Any]:
        """Read the tables of one name, each on the lines from its heading to the next heading of any."""
        headings = [number for number, line in enumerate(self.lines, 1) if re.match(r"\s*\[", line)]
        starts = [
            number for number in headings if re.match(rf"\s*\[\[\s*{name}\s*\]\]", self.lines[number - 1])
        ]
        starts = starts if len(starts) == len(tables) else [1] * len(tables)
        found = []
        for start, table in zip(starts, tables, strict=True):
            values = _Values(table)
            try:
                found.append(read(values, start))
                values.end()
            except _Wrong as error:
                end = next(
                    (number for number in headings if number > start and self._is_other(number)),
                    len(self.lines) + 1,
                )
                raise _wrong(self.path, self._line(error.key, range(start, end)), str(error)) from error
        return found

    def _is_other(self, number: int) -> bool:
        """Say whether a heading begins another entry and is no table within one, such as
        `[waiver.dimensions]`.
        """
        return not re.match(r"\s*\[\s*(waiver|benchmark)\s*\.", self.lines[number - 1])

    def _line(self, key: str, where: range) -> int:
        pattern = re.compile(rf"\s*(\[+\s*)?[\"']?{re.escape(key)}[\"']?\s*(=|\]|\.)")
        return next((number for number in where if pattern.match(self.lines[number - 1])), where.start)

    def _waiver(self, values: _Values, line: int) -> Waiver:
        subjects = [name for name in SUBJECTS if name in values.left]
        if len(subjects) != 1:
            raise _Wrong(
                subjects[-1] if subjects else "",
                'a waiver names one of "requirement", "operation" and "capability"',
            )
        return Waiver(
            requirement=values.take("requirement", self._requirement, ""),
            test=values.take("test", _text, ""),
            operation=values.take("operation", _text, ""),
            dimensions=values.take("dimensions", _dimensions, {}),
            capability=values.take("capability", _text, ""),
            handlers=values.take("handlers", _names, ("*",)),
            runtime=values.take("runtime", _text, ""),
            versions=values.take("versions", lambda value: parse_condition(_text(value))),
            reason=values.need("reason", _text),
            owner=values.need("owner", _text),
            expires=values.need("expires", _day),
            line=line,
        )

    def _bound(self, values: _Values, line: int) -> Bound:
        at_most, at_least = values.take("at-most", _amount), values.take("at-least", _amount)
        if at_most and at_least and at_most[1] != at_least[1]:
            raise _Wrong(
                "at-least", f"at-least: its unit is not that of at-most ({at_least[1]} and {at_most[1]})"
            )
        return Bound(
            operation=values.need("operation", _text),
            dimensions=values.take("dimensions", _dimensions, {}),
            quantile=values.take("quantile", _quantile),
            at_most=at_most[0] if at_most else None,
            at_least=at_least[0] if at_least else None,
            unit=(at_most or at_least or (0, ""))[1],
            max_regression=values.take("max-regression", _share),
            max_error_rate=values.take("max-error-rate", _share),
            line=line,
        )

    def _requirement(self, value: object) -> str:
        name = _text(value)
        if self.known_requirement and not self.known_requirement(name):
            msg = f'the catalogue has no requirement "{name}"'
            raise ValueError(msg)
        return name


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        msg = "must be a text that is not empty"
        raise ValueError(msg)
    return value


def _names(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(each, str) for each in value):
        msg = 'must be a list of names or patterns, such as ["*"]'
        raise ValueError(msg)
    return tuple(value)


def _levels(value: object) -> frozenset[str]:
    if not isinstance(value, list) or not all(each in LEVELS for each in value):
        msg = f"must be a list of {', '.join(LEVELS)}"
        raise ValueError(msg)
    return frozenset(value)


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        msg = "must be a whole number, 0 or more"
        raise ValueError(msg)
    return value


def _quantile(value: object) -> float:
    if not isinstance(value, float) or not 0 < value < 1:
        msg = "must be a number between 0 and 1, such as 0.99"
        raise ValueError(msg)
    return value


def _share(value: object) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1:
        return float(value)
    if not isinstance(value, str):
        msg = 'must be a share, such as "10%" or 0.1'
        raise TypeError(msg)
    return read_share(value)


def _amount(value: object) -> tuple[float, str]:
    if not isinstance(value, str):
        msg = 'must be a value with its unit, such as "250 ms", "64 MiB" or "20 /s"'
        raise TypeError(msg)
    return read_amount(value)


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        msg = "must be true or false"
        raise TypeError(msg)
    return value


def _day(value: object) -> dt.date:
    if isinstance(value, dt.datetime) or not isinstance(value, dt.date):
        msg = "must be a day without quotes, such as 2027-06-30"
        raise TypeError(msg)
    return value


def _dimensions(value: object) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        msg = 'must be a table of texts, such as { containers = "100" }'
        raise ValueError(msg)
    return dict(value)


def _tables(value: object) -> list[Mapping[str, Any]]:
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        msg = "must be written as an entry in double brackets"
        raise ValueError(msg)
    return value


def _wrong(path: Path, line: int, what: str) -> PolicyMalformed:
    return PolicyMalformed(f"{path}:{line}: {what}")
