"""Set-ups that were refused although the call works elsewhere: what they asked for is broken."""

from typing import Any

import pytest

from critests.catalogue.words import Level, Outcome
from critests.record.judgement import JudgeContext, Judgement, judge
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.report.wording.reason_sentences import sentence

JUDGES = {"CreateContainer": "CTR-01"}
PASSED_CALL = TestResult(
    id="c.py::test_create", name="test_create", requirement="CTR-01", outcome=Outcome.PASSED
)


def refused(name: str, requirement: str, words: str = "no device ''", **more: object) -> TestResult:
    fields: dict[str, Any] = {"answer": "UNKNOWN", "level": Level.MUST, **more}
    return TestResult(
        id=f"d.py::{name}",
        name=name,
        requirement=requirement,
        outcome=Outcome.BLOCKED,
        setup_rpc="CreateContainer",
        why=Reason(code=ReasonCode.ANSWER, subject="CreateContainer", seen="UNKNOWN", words=words),
        **fields,
    )


def judged(*tests: TestResult) -> Judgement:
    return judge(tests, JudgeContext(judge_of=JUDGES.get, facts_of=lambda _: None))


def test_what_every_set_up_asked_for_in_vain_is_broken() -> None:
    found = judged(
        PASSED_CALL, refused("test_used", "DEV-01"), refused("test_renamed", "DEV-04", "no device 'x1'")
    )

    said = found.tests[-1]
    assert (said.requirement, said.outcome, said.synthesized) == ("DEV-01", Outcome.FAILED, True)
    assert sentence(said) == "CreateContainer failed with UNKNOWN: no device '', in the set-up"
    assert found.exit_code == 1
    assert found.requirements["CTR-01"].outcome is Outcome.PASSED
    assert [(cause.requirement, len(cause.blocked)) for cause in found.root_causes] == [("DEV-01", 2)]
    assert found.root_causes[0].outcome is not Outcome.PASSED


def test_a_judgement_of_it_once_more_says_the_same() -> None:
    once = judged(PASSED_CALL, refused("test_used", "DEV-01"), refused("test_renamed", "DEV-04"))

    again = judged(*once.tests)

    assert again.tests == once.tests


def test_a_must_is_broken_before_a_should() -> None:
    found = judged(
        PASSED_CALL, refused("test_twice", "DEV-06", level=Level.SHOULD), refused("test_used", "DEV-01/read")
    )

    assert found.tests[-1].requirement_id == "DEV-01"


@pytest.mark.parametrize(
    "others",
    [
        [],
        [refused("test_used[read]", "DEV-01"), refused("test_used[write]", "DEV-01")],
        [refused("test_renamed", "DEV-04", "no room")],
        [refused("test_renamed", "DEV-04", answer="UNAVAILABLE")],
    ],
    ids=["alone", "cases of one test", "another refusal", "nobody there"],
)
def test_what_may_have_come_by_chance_is_a_note(others: list[TestResult]) -> None:
    found = judged(PASSED_CALL, *(others or [refused("test_used", "DEV-01")]))

    assert not any(test.synthesized for test in found.tests)
    assert [cause.outcome for cause in found.root_causes] == [Outcome.PASSED]


def test_a_requirement_with_a_verdict_of_its_own_is_not_blamed() -> None:
    passed = TestResult(id="d.py::test_open", name="test_open", requirement="DEV-01", outcome=Outcome.PASSED)
    found = judged(PASSED_CALL, passed, refused("test_used", "DEV-01"), refused("test_written", "DEV-01"))

    assert not any(test.synthesized for test in found.tests)


def test_what_binds_nobody_is_not_blamed() -> None:
    found = judged(
        PASSED_CALL,
        refused("test_used", "DEV-01", level=Level.DIV),
        refused("test_renamed", "DEV-04", level=Level.OPT),
    )

    assert not any(test.synthesized for test in found.tests)
