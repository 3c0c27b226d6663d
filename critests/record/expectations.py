"""Known failures of a runtime, from a file such as `critests/runtimes/containerd/known_failures.toml`.

For each known failure the file has the affected versions, the reason, the owner and an expiry date. If runs
have shown the failure in a version and the test passes there, the run fails: the entry must be changed. If
only source code suggests the failure, or the version is newer than the entry, the test passes, with a note
that the entry may be obsolete. A test that an `intermittent` entry covers may pass or fail, with a note on
which it did.
"""

import dataclasses
import datetime as dt
import fnmatch
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

from critests import toml_file
from critests.catalogue.words import Outcome
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.record.versions import VersionRanges, parse_ranges
from critests.toml_file import Table

REQUIRED_KEYS: Final = ("requirement", "test", "versions", "outcome", "reason", "owner", "expires")
REFERENCES: Final = ("link", "api")
ANY_TEST: Final = "*"


@dataclass(frozen=True, kw_only=True)
class KnownFailure:
    """One entry.

    Attributes:
        requirement: The requirement or the aspect that is broken, `STP-09` or `SBX-26/error`.
        test: Name of the test function, with `[param]` if only one case fails.
        handlers: Patterns of the affected runtime handlers; an empty one is the default handler.
        versions: Ranges of the affected versions.
        proven: The part of them in which runs have shown the failure; all of them by default, none if it
            depends on something other than the runtime's version.
        outcome: `failed` or `warned`.
        reason: What the runtime does.
        link: Bug report, or empty.
        api: The broken requirement in words, if there is no link.
        owner: Who maintains the entry.
        expires: Last day on which it applies.
        intermittent: The failure is intermittent in all these versions.
        words: Text that a failure must contain, such as the function in which a daemon crashed. With it,
            `test` may be `*` for a failure that any test may meet, and the entry also covers a crash that no
            single test caused.
        explored: Patterns of the lines with which `critests explore` reports it.
        conditions: It occurs only in runs under one of these conditions; empty for all runs.
        line: Line of the entry in its file.
    """

    requirement: str
    test: str
    handlers: tuple[str, ...]
    versions: VersionRanges
    proven: VersionRanges
    outcome: Outcome
    reason: str
    link: str
    api: str
    owner: str
    expires: dt.date
    intermittent: bool
    line: int
    words: str = ""
    explored: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()

    @property
    def reference(self) -> str:
        """The link, or the broken promise."""
        return self.link or self.api

    @property
    def subject(self) -> tuple[object, ...]:
        """What it covers; must be unique in a file."""
        return self.requirement, self.test, self.handlers, self.versions, self.words

    def covers(self, test: TestResult) -> bool:
        """Return whether the entry covers this test, whatever its outcome."""
        named = self.requirement in {test.requirement, test.requirement_id} and self.test in {
            test.name,
            test.case,
            test.function,
        }
        return (
            (named or self.test == ANY_TEST)
            and (self.words in test.detail or test.why.mentions(self.words))
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

    def apply(
        self, tests: Sequence[TestResult], version: str, today: dt.date | None = None
    ) -> "AppliedExpectations":
        """Turn expected failures into `known`, and unexpected passes into `failed` if runs have shown the
        failure. Other passes stay, with a note, and so does a pass that an intermittent entry covers.

        Args:
            tests: Results; those that no entry covers are returned unchanged.
            version: The version that the runtime reports.
            today: Date for the check of expiry; the current one by default.
        """
        today = today or dt.datetime.now(dt.UTC).date()
        relevant, unproven = self._of(version)
        living = [entry for entry in relevant if entry.expires >= today]
        expired = [entry for entry in relevant if entry.expires < today]
        judged = [_expected(test, living, self.source, version) for test in tests]
        obsolete = [entry for entry in unproven if entry.expires >= today and _has_passed(entry, judged)]
        return AppliedExpectations(judged, expired, obsolete, self.source)

    def under(self, conditions: Collection[str]) -> "Expectations":
        """Return the entries that apply to a run under conditions."""
        known = tuple(
            entry
            for entry in self.known
            if not entry.conditions or not set(conditions).isdisjoint(entry.conditions)
        )
        return dataclasses.replace(self, known=known)

    def _of(self, version: str) -> tuple[list[KnownFailure], list[KnownFailure]]:
        """Return the entries of a version, and those of them that no run has shown in it."""
        if version not in self._by_version:
            relevant = [entry for entry in self.known if entry.versions.holds(version)]
            unproven = [
                entry for entry in relevant if not (entry.intermittent or entry.proven.holds(version))
            ]
            self._by_version[version] = relevant, unproven
        return self._by_version[version]

    @cached_property
    def _by_version(self) -> dict[str, tuple[list[KnownFailure], list[KnownFailure]]]:
        """Cache of `_of`: a run judges one test after another, all in one version."""
        return {}


@dataclass(frozen=True)
class AppliedExpectations:
    """Results after expectations.

    Attributes:
        tests: The results.
        expired: Entries that did not apply because they have expired.
        obsolete: Entries whose tests all passed in a version in which no run has shown the failure.
        source: Name of the file with the entries.
    """

    tests: list[TestResult]
    expired: list[KnownFailure] = field(default_factory=list)
    obsolete: list[KnownFailure] = field(default_factory=list)
    source: str = ""


def load(path: Path, *, known_requirement: Callable[[str], bool] | None = None) -> Expectations:
    """Read an expectations file; a missing file has no entries.

    Args:
        path: The file.
        known_requirement: Returns whether a requirement or an aspect is in the catalogue; None to skip the
            check.

    Raises:
        TomlMalformed: with file, line and what is wrong.
    """
    if not path.exists():
        return Expectations(source=path.name)
    document = toml_file.read(path)
    document.expect(entries=["known"])
    entries: list[KnownFailure] = []
    for table in document.entries("known"):
        entry = _known_failure(table, known_requirement)
        for other in entries:
            if other.subject == entry.subject:
                raise table.wrong("", f"the same entry as on line {other.line}")
        entries.append(entry)
    return Expectations(tuple(entries), path.name)


def _known_failure(table: Table, known_requirement: Callable[[str], bool] | None) -> KnownFailure:
    table.expect(
        needs=REQUIRED_KEYS,
        may=("proven", "handlers", "intermittent", "words", "explored", "conditions", *REFERENCES),
    )
    if sum(key in table.values for key in REFERENCES) != 1:
        what = 'an entry has either "link" (where it is reported) or "api" (the promise that is broken)'
        raise table.wrong("link", what)
    if table.values.get("test") == ANY_TEST and not table.values.get("words"):
        raise table.wrong("test", 'only an entry that names the "words" of a failure holds for any test')
    requirement = toml_file.text_that(known_requirement, "the catalogue has no requirement")
    versions = table.need("versions", _ranges)
    return KnownFailure(
        requirement=table.need("requirement", requirement),
        test=table.need("test", toml_file.text),
        handlers=table.take("handlers", _handlers, ("*",)),
        versions=versions,
        proven=table.take("proven", _proven, versions),
        outcome=table.need("outcome", _outcome),
        reason=table.need("reason", toml_file.text),
        link=table.take("link", toml_file.text, ""),
        api=table.take("api", toml_file.text, ""),
        owner=table.need("owner", toml_file.text),
        expires=table.need("expires", toml_file.day),
        intermittent=table.take("intermittent", toml_file.switch, default=False),
        line=table.line,
        words=table.take("words", toml_file.text, ""),
        explored=table.take("explored", toml_file.texts, ()),
        conditions=table.take("conditions", toml_file.texts, ()),
    )


def _handlers(value: object) -> tuple[str, ...]:
    """Read patterns of handlers; an empty one is the default handler."""
    if value == [""]:
        return ("",)
    if isinstance(value, list) and "" in value:
        return ("", *toml_file.texts([each for each in value if each != ""]))
    return toml_file.texts(value)


def _ranges(value: object) -> VersionRanges:
    return parse_ranges([value] if isinstance(value, str) else toml_file.texts(value))


def _proven(value: object) -> VersionRanges:
    return VersionRanges(()) if value == [] else _ranges(value)


def _outcome(value: object) -> Outcome:
    for outcome in (Outcome.FAILED, Outcome.WARNED):
        if value == outcome:
            return outcome
    msg = f'must be "failed" or "warned", not "{value}"'
    raise ValueError(msg)


def _has_passed(entry: KnownFailure, tests: Sequence[TestResult]) -> bool:
    """Return whether all tests of the entry with a verdict passed."""
    outcomes = {test.outcome for test in tests if not test.synthesized and entry.covers(test)}
    return Outcome.PASSED in outcomes and not outcomes & {Outcome.KNOWN, Outcome.FAILED, Outcome.WARNED}


def _expected(  # noqa: PLR0911 - one return per case
    test: TestResult, entries: Sequence[KnownFailure], source: str, version: str
) -> TestResult:
    """Return one result after the entries are applied. An entry that expects a failure covers a warning too,
    but not vice versa.
    """
    covering = [entry for entry in entries if entry.covers(test) and (entry.words or not test.synthesized)]
    if not covering:
        return test
    if test.outcome is Outcome.PASSED:
        binding = [entry for entry in covering if entry.intermittent or entry.proven.holds(version)]
        if not binding:
            return test
        entry = binding[0]
        if entry.intermittent:
            return _now_and_then(test, entry)
        return dataclasses.replace(
            test,
            outcome=Outcome.FAILED,
            reason="",
            why=Reason(
                code=ReasonCode.UNEXPECTED_PASS,
                subject=f"{source}:{entry.line}",
                expected=entry.outcome.value,
            ),
            expectation=entry.reference,
        )
    for entry in covering:
        if test.outcome is entry.outcome or (
            test.outcome is Outcome.WARNED and entry.outcome is Outcome.FAILED
        ):
            known = dataclasses.replace(test, outcome=Outcome.KNOWN)
            if entry.intermittent:
                return _now_and_then(known, entry)
            return dataclasses.replace(known, expectation=entry.reference, known_as=entry.reason)
    return test


def _now_and_then(test: TestResult, entry: KnownFailure) -> TestResult:
    return dataclasses.replace(
        test,
        intermittent=True,
        known_as=entry.reason,
        reason="",
        expectation=entry.reference,
    )
