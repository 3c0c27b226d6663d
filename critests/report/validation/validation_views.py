"""The content of the HTML page, as plain data for its template."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from critests import catalogue
from critests.catalogue.rpcs import all_rpcs
from critests.catalogue.words import Level, Outcome
from critests.record.result_records import RequirementVerdict, RootCause, TestResult
from critests.record.run_record import CapabilityFact, RunRecord
from critests.report.facts.display_order import AreaRow, area_rows, failures, with_outcome
from critests.report.facts.explanations import statement_of
from critests.report.facts.musts import verdict_sentence, verdict_word
from critests.report.wording.partial_run import partial

FIRST: Final = 3
"""Findings that a page names before everything else."""
UNTESTED: Final = "untested"
BAR: Final = (
    Outcome.FAILED,
    Outcome.ERROR,
    Outcome.WARNED,
    Outcome.KNOWN,
    Outcome.PASSED,
    Outcome.UNSUPPORTED,
    Outcome.BLOCKED,
)


@dataclass(frozen=True)
class RunHeadline:
    """The headline.

    Attributes:
        word: The verdict in two or three words.
        tone: Outcome with whose colour it is shown.
        first: The first findings, or if there are none the first known failures.
        more: Number of further ones.
        sentence: The numbers of the run, in a sentence.
        part: Scope of the run if it is not the whole suite, else empty.
        tiles: Outcome and number of tests.
    """

    word: str
    tone: str
    first: list["RequirementView"]
    more: int
    sentence: str
    part: str
    tiles: list[tuple[str, int]]


@dataclass(frozen=True)
class RequirementView:
    """The tests of one requirement with the same outcome: one line, and a card below it.

    Attributes:
        requirement: Its id, or empty.
        promise: What it requires, in one sentence.
        anchor: Anchor of the card, unique in the page.
        cause: Its root cause, if it blocked other tests.
        tests: The tests, the most informative first.
    """

    requirement: str
    promise: str
    anchor: str
    cause: RootCause | None
    tests: list[TestResult]


@dataclass(frozen=True)
class RequirementRow:
    """One requirement with its verdict.

    Attributes:
        id: Its id.
        statement: Its statement.
        outcome: The verdict, or `untested`, also if its tests were not selected.
        aspects: Each aspect's short name, level, whether it is our judgement, verdict and observed variant.
        tests: Number of its tests.
        since: Kubernetes minor since which it applies.
    """

    id: str
    statement: str
    outcome: str
    aspects: list[tuple[str, str, bool, str, str]]
    tests: int
    since: str


@dataclass(frozen=True)
class GroupRows:
    """The requirements of one group.

    Attributes:
        prefix: Prefix of their ids.
        title: Their subject.
        rows: The requirements.
        outcomes: Outcome to the number of requirements.
    """

    prefix: str
    title: str
    rows: list[RequirementRow]
    outcomes: dict[str, int]


@dataclass(frozen=True)
class CoverageView:
    """The part of the API that was used.

    Attributes:
        meters: Name, number, total, percent.
        rpcs: RPC and number of calls, including RPCs that were never called.
        fields: Request and response fields with how often they were set.
    """

    meters: list[tuple[str, int, int, float]]
    rpcs: list[tuple[str, int]]
    fields: list[tuple[str, list[tuple[str, int]]]]


def verdict_view(record: RunRecord) -> RunHeadline:
    """Return the headline of a run."""
    part = partial(record)
    word, tone = verdict_word(record)
    numbers = record.counts.outcomes
    tiles = [(outcome.value, numbers[outcome]) for outcome in BAR if numbers.get(outcome)]
    found = failures_view(record) or others_view(record, Outcome.KNOWN)
    return RunHeadline(
        word=word,
        tone=tone.value,
        first=found[:FIRST],
        more=max(len(found) - FIRST, 0),
        sentence=verdict_sentence(record, named=False),
        part=part,
        tiles=tiles,
    )


def failures_view(record: RunRecord) -> list[RequirementView]:
    """Group failures by the requirement that causes them; those that blocked most tests come first, errors of
    the harness last.
    """
    return _findings(failures(record), {cause.requirement: cause for cause in record.root_causes}, "")


def others_view(record: RunRecord, outcome: Outcome) -> list[RequirementView]:
    """Group the tests with an outcome by requirement, as failures are."""
    return _findings(with_outcome(record, outcome), {}, f"{outcome.value}-")


def _findings(
    tests: Sequence[TestResult], causes: Mapping[str, RootCause], mark: str
) -> list[RequirementView]:
    groups: dict[tuple[str, bool], list[TestResult]] = {}
    for test in tests:
        groups.setdefault((test.cause or test.requirement_id, test.outcome is Outcome.ERROR), []).append(test)
    return [
        RequirementView(
            requirement,
            members[0].title or statement_of(requirement),
            f"{mark}{requirement or 'other'}{'-error' if error else ''}",
            None if error else causes.get(requirement),
            members,
        )
        for (requirement, error), members in groups.items()
    ]


def causes_view(record: RunRecord) -> list[RootCause]:
    """Return root causes without a failure that is listed: known failures, and steps that failed in set-ups
    although the tests of their own requirement passed.
    """
    failed = {test.requirement_id for test in record.tests if test.outcome is Outcome.FAILED}
    return [cause for cause in record.root_causes if cause.requirement not in failed]


def areas_view(record: RunRecord) -> list[AreaRow]:
    """Return the areas that have tests, without the total, which the page shows above the table."""
    return [row for row in area_rows(record)[:-1] if row.total]


def capabilities_view(record: RunRecord) -> list[CapabilityFact]:
    """Return capabilities: present ones first, then absent ones, then unknown ones."""
    order = {True: 0, False: 1, None: 2}
    return sorted(record.capabilities, key=lambda fact: order[fact.present])


def groups_view(record: RunRecord) -> list[GroupRows]:
    """Return every requirement of the catalogue with its verdict, then those of the record that the catalogue
    does not have.
    """
    left = dict(record.requirements)
    groups = []
    for group in catalogue.load().groups:
        rows = [_row(entry, left.pop(entry.id, None)) for entry in group.requirements]
        groups.append(_group(group.prefix, group.title, rows))
    if left:
        groups.append(
            _group(
                "",
                "Other requirements",
                [_unknown_row(name, verdict, record) for name, verdict in left.items()],
            )
        )
    return groups


def coverage_view(record: RunRecord) -> CoverageView:
    """Return the part of the API that was used."""
    coverage = record.coverage
    meters = [
        ("RPCs", len(_used(coverage.rpcs)), coverage.rpcs_total or len(all_rpcs())),
        ("request fields", len(_used(coverage.request_fields)), coverage.request_fields_total),
        ("response fields", len(_used(coverage.response_fields)), coverage.response_fields_total),
    ]
    rpcs = sorted(
        (dict.fromkeys(all_rpcs(), 0) | coverage.rpcs).items(), key=lambda item: (-item[1], item[0])
    )
    fields = [
        ("Request fields", sorted(coverage.request_fields.items())),
        ("Response fields", sorted(coverage.response_fields.items())),
    ]
    return CoverageView(
        [(name, used, total, 100 * used / total if total else 0.0) for name, used, total in meters],
        rpcs,
        fields,
    )


def _used(numbers: Mapping[str, int]) -> list[str]:
    return [name for name, number in numbers.items() if number]


def _row(entry: catalogue.Requirement, verdict: RequirementVerdict | None) -> RequirementRow:
    aspects = [
        (
            aspect.name,
            aspect.level.value,
            aspect.judgement,
            verdict.aspects[aspect.id].value if verdict and aspect.id in verdict.aspects else UNTESTED,
            verdict.forms.get(aspect.id, "") if verdict else "",
        )
        for aspect in entry.aspects
    ]
    outcome = UNTESTED if verdict is None or verdict.outcome is Outcome.DISABLED else verdict.outcome.value
    return RequirementRow(
        entry.id, entry.statement, outcome, aspects, len(verdict.tests) if verdict else 0, entry.since
    )


def _unknown_row(name: str, verdict: RequirementVerdict, record: RunRecord) -> RequirementRow:
    title = next((test.title for test in record.tests if test.requirement_id == name), "")
    aspects = [
        (aspect.partition("/")[2], Level.MUST.value, False, outcome.value, verdict.forms.get(aspect, ""))
        for aspect, outcome in verdict.aspects.items()
    ]
    return RequirementRow(name, title, verdict.outcome.value, aspects, len(verdict.tests), "")


def _group(prefix: str, title: str, rows: list[RequirementRow]) -> GroupRows:
    outcomes: dict[str, int] = {}
    for row in rows:
        outcomes[row.outcome] = outcomes.get(row.outcome, 0) + 1
    return GroupRows(prefix, title, rows, outcomes)
