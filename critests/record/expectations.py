"""Known failures of a runtime, from a file such as `critests/runtimes/containerd/known_failures.toml`.

The file lives outside the tests and says, for each known failure, in which versions it is there, why, who
looks after it and until when the entry may stand. Where runs have shown it, a known failure that does not
fail any more is a failure of the run: the entry must go. Where the source alone says so, or nobody knows
(a version that came out later), the test has passed, and a note says that the entry may end there. What an
`intermittent` entry covers may pass as well as fail anywhere, and a note says which it did.
"""

import dataclasses
import datetime as dt
import fnmatch
from collections.abc import Callable, Sequence
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
        test: Name of the test function, with `[param]` where only one case is known.
        handlers: Patterns of the runtime handlers that it holds for; an empty one is the default handler.
        versions: Ranges of versions that it holds for.
        proven: The part of them in which runs have shown it; all of them where the entry does not say, none
            where it hangs on something else than the runtime's version.
        outcome: `failed` or `warned`.
        reason: What the runtime does instead.
        link: Where it is reported, or empty.
        api: The promise that is broken, in our words, where there is no link.
        owner: Who looks after the entry.
        expires: Last day on which it applies.
        intermittent: The defect is there in all these versions, but shows only now and then.
        words: What a failure has to say to be this one, such as the function in which a daemon ended. With
            it, `test` may be `*`, for what any test may meet, whatever its requirement, and an end of the
            daemon may be expected that is held against no test.
        explored: As what `critests explore` meets it: patterns of the lines in which it names a breach.
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

    @property
    def reference(self) -> str:
        """The link, or the broken promise."""
        return self.link or self.api

    @property
    def subject(self) -> tuple[object, ...]:
        """What it speaks of; no two entries of a file speak of the same."""
        return self.requirement, self.test, self.handlers, self.versions, self.words

    def covers(self, test: TestResult) -> bool:
        """Say whether the entry speaks of this test, whatever its outcome."""
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
        """Turn expected failures into `known`, and unexpected passes into `failed` where runs have shown the
        failure; elsewhere they stay, with a note, and so does a pass that an intermittent entry covers.

        Args:
            tests: Results; those that no entry covers are returned as they are.
            version: The version that the runtime reports.
            today: Day to judge expiry by; the present one by default.
        """
        today = today or dt.datetime.now(dt.UTC).date()
        relevant, unproven = self._of(version)
        living = [entry for entry in relevant if entry.expires >= today]
        expired = [entry for entry in relevant if entry.expires < today]
        judged = [_expected(test, living, self.source, version) for test in tests]
        obsolete = [entry for entry in unproven if entry.expires >= today and _has_passed(entry, judged)]
        return AppliedExpectations(judged, expired, obsolete, self.source)

    def _of(self, version: str) -> tuple[list[KnownFailure], list[KnownFailure]]:
        """Return the entries of a version, and those among them that no run has shown in it."""
        if version not in self._by_version:
            relevant = [entry for entry in self.known if entry.versions.holds(version)]
            unproven = [
                entry for entry in relevant if not (entry.intermittent or entry.proven.holds(version))
            ]
            self._by_version[version] = relevant, unproven
        return self._by_version[version]

    @cached_property
    def _by_version(self) -> dict[str, tuple[list[KnownFailure], list[KnownFailure]]]:
        """What `_of` has returned: a run judges one test after another, all in one version."""
        return {}


@dataclass(frozen=True)
class AppliedExpectations:
    """Results after expectations.

    Attributes:
        tests: The results.
        expired: Entries that did not apply, for their last day is over.
        obsolete: Entries of which all tests passed in a version in which no run has shown the failure.
        source: Name of the file that the entries stand in.
    """

    tests: list[TestResult]
    expired: list[KnownFailure] = field(default_factory=list)
    obsolete: list[KnownFailure] = field(default_factory=list)
    source: str = ""


def load(path: Path, *, known_requirement: Callable[[str], bool] | None = None) -> Expectations:
    """Read an expectations file; a file that does not exist holds no entries.

    Args:
        path: The file.
        known_requirement: Says whether a requirement or an aspect is in the catalogue; without it ids are not
            checked.

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
        needs=REQUIRED_KEYS, may=("proven", "handlers", "intermittent", "words", "explored", *REFERENCES)
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
    )


def _handlers(value: object) -> tuple[str, ...]:
    """Read patterns of handlers, of which an empty one is the default handler."""
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
    """Say whether all tests of the entry that came to an end passed."""
    outcomes = {test.outcome for test in tests if not test.synthesized and entry.covers(test)}
    return Outcome.PASSED in outcomes and not outcomes & {Outcome.KNOWN, Outcome.FAILED, Outcome.WARNED}


def _expected(  # noqa: PLR0911 - one for each way in which an entry meets a test
    test: TestResult, entries: Sequence[KnownFailure], source: str, version: str
) -> TestResult:
    """Return one result as the entries make it. An entry that expects a failure covers a warning too, not the
    other way round.
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
