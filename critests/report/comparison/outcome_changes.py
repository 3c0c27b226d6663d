"""Tests whose outcomes differ in two runs."""

from typing import Final

from critests.catalogue.words import Outcome
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.report.comparison.conformance_diff import group_of
from critests.report.comparison.differences import UNTESTED, TestDifference
from critests.report.wording.texts import one_line

_WHY_LIMIT: Final = 300


def compare_tests(a: RunRecord, b: RunRecord) -> list[TestDifference]:
    """Return the tests whose outcomes differ, in the order of run B; those of A only come last."""
    before, now = {test.id: test for test in a.tests}, {test.id: test for test in b.tests}
    found = []
    for identity in [*now, *(each for each in before if each not in now)]:
        left, right = before.get(identity), now.get(identity)
        test = right or left
        assert test is not None
        words = _outcome(left) if left else _aspect(a, test), _outcome(right) if right else UNTESTED
        if words[0] != words[1]:
            found.append(
                TestDifference(
                    test=identity,
                    name=test.name,
                    requirement=test.requirement,
                    level=test.level.value,
                    judgement=test.judgement,
                    group=group_of(*words),
                    a=words[0],
                    b=words[1],
                    why=_why(test) if right else "",
                )
            )
    return found


def _outcome(test: TestResult) -> str:
    # an intermittent known failure counts as known even if it passes
    return Outcome.KNOWN.value if test.outcome is Outcome.PASSED and test.expectation else test.outcome.value


def _aspect(record: RunRecord, test: TestResult) -> str:
    verdict = record.requirements.get(test.requirement_id)
    return verdict.aspects.get(test.requirement, UNTESTED) if verdict else UNTESTED


def _why(test: TestResult) -> str:
    blocked = f"blocked by {test.blocked_by}" if test.blocked_by else ""
    return one_line(test.seen or blocked or test.reason, _WHY_LIMIT)
