"""The order in which reports show outcomes, failures and areas, and the grouping of tests by reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from critests.catalogue.words import Area, Outcome
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.report.wording.reason_sentences import unproven

SHOWN: Final = (
    Outcome.PASSED,
    Outcome.FAILED,
    Outcome.WARNED,
    Outcome.KNOWN,
    Outcome.UNSUPPORTED,
    Outcome.BLOCKED,
    Outcome.ERROR,
    Outcome.DISABLED,
)
"""Columns of the tables."""
ALWAYS_SHOWN: Final = frozenset(
    {Outcome.PASSED, Outcome.FAILED, Outcome.WARNED, Outcome.UNSUPPORTED, Outcome.BLOCKED, Outcome.KNOWN}
)


TOTAL: Final = "all"
"""Name of the row that sums all areas."""


@dataclass(frozen=True)
class SharedReason:
    """Why several tests were not judged.

    Attributes:
        text: The common reason, one sentence.
        tests: The tests.
    """

    text: str
    tests: list[TestResult]


@dataclass(frozen=True)
class AreaRow:
    """Numbers of one area.

    Attributes:
        name: The area, or `all`.
        numbers: Outcome to the number of tests.
    """

    name: str
    numbers: dict[Outcome, int]

    @property
    def total(self) -> int:
        """Number of tests of the area, without those that were deselected."""
        return sum(number for outcome, number in self.numbers.items() if outcome is not Outcome.DISABLED)


def with_outcome(record: RunRecord, *outcomes: Outcome) -> list[TestResult]:
    """Return the tests with one of these outcomes, in the record's order."""
    return [test for test in record.tests if test.outcome in outcomes]


def failures(record: RunRecord) -> list[TestResult]:
    """Return breaches, then errors of the harness. Root causes with the most consequences come first, each
    followed by the failures that it causes.
    """
    consequences = {cause.requirement: len(cause.blocked) + len(cause.failed) for cause in record.root_causes}
    order = list(consequences)

    def rank(test: TestResult) -> tuple[int, int, bool]:
        root = test.cause or test.requirement_id
        last = len(order)
        return (
            -consequences.get(root, 0),
            order.index(root) if root in consequences else last,
            bool(test.cause),
        )

    broken = sorted(with_outcome(record, Outcome.FAILED), key=rank)
    return broken + with_outcome(record, Outcome.ERROR)


def by_reason(tests: Sequence[TestResult]) -> list[SharedReason]:
    """Group tests by the requirement that blocks them, or else by their reason, largest group first."""
    groups: dict[str, list[TestResult]] = {}
    for test in tests:
        rpc = test.setup_rpc or test.raw_rpc
        text = test.reason or "no reason was recorded"
        if test.blocked_by:
            text = f"blocked by {test.blocked_by}" + (f" ({rpc})" if rpc else "")
        elif test.unproven_since and test.outcome is Outcome.UNSUPPORTED:
            text = unproven(test)
        groups.setdefault(text, []).append(test)
    return sorted(
        (SharedReason(text, members) for text, members in groups.items()),
        key=lambda reason: -len(reason.tests),
    )


def area_rows(record: RunRecord) -> list[AreaRow]:
    """Return a row for each area in the order of the API, then for other areas, then the total."""
    order = [area.value for area in Area]
    areas = sorted(
        record.counts.areas, key=lambda area: (order.index(area) if area in order else len(order), area)
    )
    rows = [AreaRow(area, _numbers(record.counts.areas[area])) for area in areas]
    return [*rows, AreaRow(TOTAL, _numbers(record.counts.outcomes))]


def columns(record: RunRecord) -> list[Outcome]:
    """Return the outcomes that tables show: the usual ones, and others that occur."""
    return [
        outcome for outcome in SHOWN if outcome in ALWAYS_SHOWN or record.counts.outcomes.get(outcome.value)
    ]


def _numbers(counts: dict[str, int]) -> dict[Outcome, int]:
    return {outcome: counts.get(outcome.value, 0) for outcome in Outcome}
