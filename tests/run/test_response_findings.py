"""The results of responses that break a rule."""

import pytest

from critests.catalogue.words import Level, Outcome
from critests.record.judgement import JudgeContext, judge
from critests.record.result_records import TestResult
from critests.report.wording.reason_sentences import worded_result
from critests.responses.rules import Difference, Violation
from critests.run.response_findings import results_of, results_of_conditions

TEST = TestResult(
    id="images/test_pull.py::test_x",
    name="test_x",
    requirement="IMG-01",
    outcome=Outcome.PASSED,
    repeat_command="critests run -k test_x",
    evidence="evidence/test_x",
    seconds=3.0,
)
CHANGED = Violation(
    "CTA-30",
    "ContainerStatus",
    "ContainerStatus.exit_code",
    Difference("exit_code", 0, 3, "0123456789abcdef"),
)
RELABELLED = Violation(
    "CTA-09/recommended",
    "ContainerStatus",
    "Mount.recursive_read_only",
    Difference("recursive_read_only", True, False),
)


def test_a_violation_is_a_failure_of_the_requirement_of_the_rule() -> None:
    (result,) = results_of([CHANGED], TEST, None)

    assert result.requirement_id == "CTA-30"
    assert (result.level, result.outcome, result.area) == (Level.MUST, Outcome.FAILED, "containers")
    assert result.name == "every_response[CTA-30-ContainerStatus.exit_code]"
    assert (result.repeat_command, result.evidence, result.seconds) == (
        TEST.repeat_command,
        TEST.evidence,
        0.0,
    )


def test_the_test_that_made_the_call_still_passes() -> None:
    judged = judge([TEST, *results_of([CHANGED], TEST, None)], JudgeContext(judge_of=lambda _: None))

    assert [test.outcome for test in judged.tests] == [Outcome.PASSED, Outcome.FAILED]
    assert judged.requirements["CTA-30"].outcome is Outcome.FAILED
    assert judged.requirements["IMG-01"].outcome is Outcome.PASSED
    assert judged.exit_code == 1


def test_the_sentence_names_field_call_and_test() -> None:
    (result,) = results_of([CHANGED], TEST, None)

    assert worded_result(result).reason == (
        "ContainerStatus.exit_code in the response of ContainerStatus of 0123456789abc during test_x:"
        " expected 0, observed 3"
    )


def test_the_same_violation_is_one_result() -> None:
    assert len(results_of([CHANGED, CHANGED, RELABELLED], TEST, None)) == 2


def test_a_response_to_the_client_of_a_condition_has_no_evidence_of_a_test() -> None:
    (result,) = results_of_conditions([CHANGED], [TEST], None)

    assert (result.requirement_id, result.evidence, result.repeat_command) == ("CTA-30", "", "")
    assert "during calls of the conditions" in worded_result(result).reason


def test_a_violation_that_a_test_met_is_not_counted_again() -> None:
    results = [TEST, *results_of([CHANGED], TEST, None)]

    assert [each.requirement_id for each in results_of_conditions([CHANGED, RELABELLED], results, None)] == [
        "CTA-09"
    ]


@pytest.mark.parametrize(("minor", "unproven"), [(None, ""), (29, "1.30"), (30, "")])
def test_a_field_newer_than_the_api_of_the_runtime_is_not_judged(minor: int | None, unproven: str) -> None:
    (result,) = results_of([RELABELLED], TEST, minor)

    assert result.unproven_since == unproven
