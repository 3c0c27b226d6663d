"""Known failures of a runtime: `critests/expectations/<runtime_name>.toml`.

The file lives outside the tests and says, for each known failure, in which versions it is there, why, who
looks after it and until when the entry may stand. A known failure that does not fail any more is a failure of
the run: the entry must go.
"""

import dataclasses
import datetime as dt
import fnmatch
import itertools
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from critests.catalogue.words import Outcome
from critests.record.layout import safe_name
from critests.record.results import TestResult
from critests.record.versions import VersionCondition, parse_condition

ENTRY_KEYS: Final = {
    "requirement",
    "test",
    "handlers",
    "versions",
    "outcome",
    "reason",
    "link",
    "api",
    "owner",
    "expires",
}
REQUIRED_KEYS: Final = ("requirement", "test", "versions", "outcome", "reason", "owner", "expires")


class ExpectationsMalformed(ValueError):
    """An expectations file is wrong; the message starts with `file:line:`."""


@dataclass(frozen=True, kw_only=True)
class KnownFailure:
    """One entry.

    Attributes:
        requirement: The requirement or the aspect that is broken, `STP-09` or `SBX-26/error`.
        test: Name of the test function, with `[param]` where only one case is known.
        handlers: Patterns of the runtime handlers that it holds for.
        versions: Versions that it holds for.
        outcome: `failed` or `warned`.
        reason: What the runtime does instead.
        link: Where it is reported, or empty.
        api: The promise that is broken, in our words, where there is no link.
        owner: Who looks after the entry.
        expires: Last day on which it applies.
        line: Line of the entry in its file.
    """

    requirement: str
    test: str
    handlers: tuple[str, ...]
    versions: VersionCondition
    outcome: Outcome
    reason: str
    link: str
    api: str
    owner: str
    expires: dt.date
    line: int

    @property
    def reference(self) -> str:
        """The link, or the broken promise."""
        return self.link or self.api

    def covers(self, test: TestResult) -> bool:
        """Say whether the entry speaks of this test, whatever its outcome."""
        return (
            self.requirement in {test.requirement, test.requirement_id}
            and self.test in {test.name, test.function}
            and any(fnmatch.fnmatchcase(test.handler, pattern) for pattern in self.handlers)
        )


@dataclass(frozen=True)
class Expectations:
    """The known failures of one runtime.

    Attributes:
        known: The entries.
        source: Name of the file, for messages.
    """

    known: tuple[KnownFailure, ...] = ()
    source: str = ""

    def apply(self, tests: Sequence[TestResult], version: str, today: dt.date | None = None) -> "Applied":
        """Turn expected failures into `known` and unexpected passes into `failed`.

        Args:
            tests: Results; those that no entry covers are returned as they are.
            version: The version that the runtime reports.
            today: Day to judge expiry by; the present one by default.
        """
        today = today or dt.datetime.now(dt.UTC).date()
        relevant = [entry for entry in self.known if entry.versions.holds(version)]
        living = [entry for entry in relevant if entry.expires >= today]
        notes = [
            f"{self.source}:{entry.line}: the entry for {entry.requirement} ({entry.test}) expired on"
            f" {entry.expires} and does not apply"
            for entry in relevant
            if entry.expires < today
        ]
        return Applied([_expected(test, living, self.source) for test in tests], notes)


@dataclass(frozen=True)
class Applied:
    """Results after expectations.

    Attributes:
        tests: The results.
        notes: Sentences about entries that did not apply.
    """

    tests: list[TestResult]
    notes: list[str] = field(default_factory=list)


def path_for(runtime_name: str, folder: Path | None = None) -> Path:
    """Return where the expectations of a runtime are, by the name that it reports; the file need not exist.

    Args:
        runtime_name: As Version reports it.
        folder: Folder of expectations files; the one of the package by default.
    """
    return (folder or Path(__file__).parent.parent / "expectations") / f"{safe_name(runtime_name)}.toml"


def load(path: Path, *, known_requirement: Callable[[str], bool] | None = None) -> Expectations:
    """Read an expectations file; a file that does not exist holds no entries.

    Args:
        path: The file.
        known_requirement: Says whether a requirement or an aspect is in the catalogue; without it ids are not
            checked.

    Raises:
        ExpectationsMalformed: with file, line and what is wrong.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Expectations(source=path.name)
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise _wrong(path, line, "not UTF-8 text") from error
    except OSError as error:
        msg = f"{path}: {error.strerror or error}"
        raise ExpectationsMalformed(msg) from error
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)", str(error))
        line = int(match[1]) if match and match[1] else text.rstrip("\n").count("\n") + 1
        raise _wrong(path, line, f"not TOML: {re.sub(r' .at (line|end of).*', '', str(error))}") from error
    return Expectations(tuple(_Reader(path, text, known_requirement).entries(data)), path.name)


class _Reader:
    """Checks the entries of one file and knows on which line each is."""

    def __init__(self, path: Path, text: str, known_requirement: Callable[[str], bool] | None) -> None:
        self.path = path
        self.lines = text.split("\n")
        self.known_requirement = known_requirement
        self.starts = [
            number for number, line in enumerate(self.lines, 1) if re.match(r"\s*\[\[\s*known\s*\]\]", line)
        ]

    def entries(self, data: dict[str, Any]) -> list[KnownFailure]:
        """Return all entries."""
        for key in data:
            if key != "known":
                line = next(
                    (
                        number
                        for number, text in enumerate(self.lines, 1)
                        if re.match(rf"\s*\[*\s*\"?{re.escape(key)}", text)
                    ),
                    1,
                )
                raise _wrong(
                    self.path, line, f'"{key}" is not known here; a file holds [[known]] entries only'
                )
        tables = data.get("known", [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise _wrong(
                self.path, self.starts[0] if self.starts else 1, "known must be written as [[known]] entries"
            )
        starts = self.starts if len(self.starts) == len(tables) else [1] * len(tables)
        entries: list[KnownFailure] = []
        for index, table in enumerate(tables):
            end = starts[index + 1] if index + 1 < len(starts) else len(self.lines) + 1
            entry = self._entry(table, starts[index], end)
            for other in entries:
                same = (entry.requirement, entry.test, entry.handlers, entry.versions) == (
                    other.requirement,
                    other.test,
                    other.handlers,
                    other.versions,
                )
                if same:
                    raise _wrong(self.path, entry.line, f"the same entry as on line {other.line}")
            entries.append(entry)
        return entries

    def _entry(self, table: dict[str, Any], start: int, end: int) -> KnownFailure:
        """Check one entry, which stands on the lines from `start` to before `end`."""
        for key, what in itertools.chain(_wrong_keys(table), self._wrong_values(table)):
            pattern = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=")
            line = next(
                (number for number in range(start, end) if pattern.match(self.lines[number - 1])), start
            )
            raise _wrong(self.path, line, what)
        return KnownFailure(
            requirement=table["requirement"],
            test=table["test"],
            handlers=tuple(table.get("handlers", ["*"])),
            versions=parse_condition(table["versions"]),
            outcome=Outcome(table["outcome"]),
            reason=table["reason"],
            link=table.get("link", ""),
            api=table.get("api", ""),
            owner=table["owner"],
            expires=table["expires"],
            line=start,
        )

    def _wrong_values(self, table: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield the key and what is wrong with its value; the keys themselves are right by now."""
        if self.known_requirement and not self.known_requirement(table["requirement"]):
            yield "requirement", f'the catalogue has no requirement "{table["requirement"]}"'
        if table["outcome"] not in {Outcome.FAILED, Outcome.WARNED}:
            yield "outcome", f'outcome must be "failed" or "warned", not "{table["outcome"]}"'
        if isinstance(table["expires"], dt.datetime) or not isinstance(table["expires"], dt.date):
            yield "expires", "expires must be a day without quotes, such as 2027-06-30"
        handlers = table.get("handlers", ["*"])
        if (
            not isinstance(handlers, list)
            or not handlers
            or not all(isinstance(handler, str) for handler in handlers)
        ):
            yield "handlers", 'handlers must be a list of names or patterns, such as ["*"]'
        try:
            parse_condition(table["versions"])
        except ValueError as error:
            yield "versions", str(error)


def _wrong_keys(table: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the key and what is wrong: unknown, missing, or not a text."""
    for key in table:
        if key not in ENTRY_KEYS:
            yield key, f'"{key}" is not a key of an entry; there are {", ".join(sorted(ENTRY_KEYS))}'
    for key in REQUIRED_KEYS:
        if key not in table:
            yield key, f'the entry has no "{key}"'
    for key in sorted(ENTRY_KEYS - {"handlers", "expires"}):
        if key in table and (not isinstance(table[key], str) or not table[key].strip()):
            yield key, f"{key} must be a text that is not empty"
    if ("link" in table) == ("api" in table):
        yield (
            "link",
            (
                'the entry needs "link" (where it is reported) or "api" (the promise that is broken), and not'
                " both"
            ),
        )


def _wrong(path: Path, line: int, what: str) -> ExpectationsMalformed:
    return ExpectationsMalformed(f"{path}:{line}: {what}")


def _expected(test: TestResult, entries: Sequence[KnownFailure], source: str) -> TestResult:
    """Return one result as the entries make it. An entry that expects a failure covers a warning too, not the
    other way round.
    """
    covering = [entry for entry in entries if entry.covers(test)]
    if not covering or test.synthesized:
        return test
    if test.outcome is Outcome.PASSED:
        entry = covering[0]
        reason = f"unexpected pass: {source}:{entry.line} expects it to be {entry.outcome}; remove the entry"
        return dataclasses.replace(test, outcome=Outcome.FAILED, reason=reason, expectation=entry.reference)
    for entry in covering:
        if test.outcome is entry.outcome or (
            test.outcome is Outcome.WARNED and entry.outcome is Outcome.FAILED
        ):
            return dataclasses.replace(
                test, outcome=Outcome.KNOWN, expectation=entry.reference, reason=test.reason or entry.reason
            )
    return test
