"""A set-up that failed judges what no test of its own has judged."""

from typing import Any

import pytest

from critests.catalogue.words import Level, Outcome
from critests.record.blocking import RequirementFacts
from critests.record.judgement import JudgeContext, Judgement, judge
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.report.wording.endings import notes_of

JUDGES = {"RunPodSandbox": "SBX-01"}


def result(name: str, requirement: str, outcome: Outcome = Outcome.PASSED, **more: object) -> TestResult:
    fields: dict[str, Any] = more
    return TestResult(
        id=f"a.py::{name}", name=name, requirement=requirement, area="containers", outcome=outcome, **fields
    )


def judged(*tests: TestResult) -> Judgement:
    return judge(tests, JudgeContext(judge_of=JUDGES.get, facts_of=lambda _: None))


def outcomes(judgement: Judgement) -> dict[str, Outcome]:
    return {test.name: test.outcome for test in judgement.tests}


def test_the_first_failed_set_up_is_judged_where_the_judge_was_not_selected() -> None:
    found = judged(
        result(
            "test_a",
            "CTA-01",
            Outcome.BLOCKED,
            reported_blocker="SBX-01",
            setup_rpc="RunPodSandbox",
            reason="RunPodSandbox: UNKNOWN",
        ),
        result(
            "test_b",
            "CTA-02",
            Outcome.BLOCKED,
            reported_blocker="SBX-01",
            setup_rpc="RunPodSandbox",
            reason="RunPodSandbox: UNKNOWN",
        ),
    )

    synthesized = found.tests[-1]
    assert len(found.tests) == 3
    assert (synthesized.requirement, synthesized.outcome, synthesized.reason) == (
        "SBX-01",
        Outcome.FAILED,
        "RunPodSandbox: UNKNOWN",
    )
    assert synthesized.id == "<judged in set-up of a.py::test_a>"
    assert found.exit_code == 1
    assert len(found.root_causes[0].blocked) == 2


@pytest.mark.parametrize("code", [ReasonCode.RUNTIME_ENDED, ReasonCode.CONCURRENT_CRASH])
def test_a_set_up_that_met_the_end_of_the_daemon_judges_nothing(code: ReasonCode) -> None:
    lost = result("test_a", "CTA-01", Outcome.BLOCKED, setup_rpc="RunPodSandbox", answer="UNAVAILABLE")
    crash = result("test_b", "GEN-17", Outcome.FAILED, why=Reason(code=code))

    assert "SBX-01" in {test.requirement for test in judged(lost).tests}
    found = judged(lost, crash)

    assert outcomes(found) == {"test_a": Outcome.BLOCKED, "test_b": Outcome.FAILED}
    assert found.exit_code == 1


def test_a_requirement_judged_in_set_up_has_its_own_level() -> None:
    blocked = result("test_a", "CTA-01", Outcome.BLOCKED, setup_rpc="RunPodSandbox")

    found = judge(
        [blocked],
        JudgeContext(
            judge_of=JUDGES.get, facts_of=lambda _: RequirementFacts(level=Level.SHOULD, area="sandboxes")
        ),
    )

    assert found.tests[-1].outcome is Outcome.WARNED
    assert found.tests[-1].area == "sandboxes"


def test_the_catalogue_says_what_a_requirement_is() -> None:
    blocked = result("test_a", "CTA-01", Outcome.BLOCKED, setup_rpc="RunPodSandbox")

    synthesized = judge([blocked], JudgeContext(judge_of=JUDGES.get)).tests[-1]

    assert synthesized.area == "sandboxes"
    assert "RunPodSandbox" in synthesized.title


def test_a_set_up_that_fails_although_its_judge_passed_stays_blocked_and_is_noted() -> None:
    found = judged(
        result("test_run", "SBX-01"),
        result("test_a", "CTA-01", Outcome.BLOCKED, setup_rpc="RunPodSandbox", reason="UNAVAILABLE"),
    )

    assert outcomes(found) == {"test_run": Outcome.PASSED, "test_a": Outcome.BLOCKED}
    (cause,) = found.root_causes
    assert (cause.outcome, cause.shown_by) == (Outcome.PASSED, "a.py::test_a")
    assert notes_of(found.entries, "", [cause]) == [
        "SBX-01 passed its own test, but RunPodSandbox failed in the set-up of one test: "
    ]
    assert found.requirements["CTA-01"].outcome is Outcome.BLOCKED


def test_the_first_failed_set_up_says_what_happened_and_a_test_of_its_judge_repeats_it() -> None:
    hung = {"setup_rpc": "RunPodSandbox", "reported_blocker": "SBX-01", "hung": True}
    found = judged(
        result("test_first", "CKP-01", Outcome.BLOCKED, reason="it did not answer", **hung),
        result(
            "test_own", "SBX-01", Outcome.BLOCKED, reason="it was not called", repeat_command="own", **hung
        ),
    )

    synthesized = found.tests[-1]
    assert (synthesized.requirement_id, synthesized.reason) == ("SBX-01", "it did not answer")
    assert (synthesized.id, synthesized.repeat_command) == ("<judged in set-up of a.py::test_own>", "own")


def test_a_set_up_that_its_judge_itself_needed_is_judged_though_another_test_of_it_passed() -> None:
    other, needy = "test_other", result("test_a", "CTR-21", Outcome.BLOCKED, reported_blocker="CTR-21")
    found = judged(result(other, "CTR-21"), needy)

    assert (found.tests[-1].requirement, found.tests[-1].outcome) == ("CTR-21", Outcome.FAILED)
