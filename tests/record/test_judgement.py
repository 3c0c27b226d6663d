import dataclasses
from pathlib import Path

import pytest

from critests.catalogue.words import Level, Outcome
from critests.record.blocking import RequirementFacts
from critests.record.expectations import load
from critests.record.judgement import JudgeContext, judge
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.record.run_record import CapabilityFact
from tests.record.judged import (
    JUDGES,
    end_of,
    judged,
    nonsense,
    nonsense_of,
    outcomes,
    refused,
    result,
    saw,
)

GONE = Reason(code=ReasonCode.RUNTIME_SILENT, words="no answer within 5 s")
ENDED = Reason(code=ReasonCode.RUNTIME_ENDED, where="process 7", other="process 5", words="panic: nil")
NO_IMAGE = Reason(code=ReasonCode.REGISTRY_UNREACHABLE, where="127.0.0.1:5010", words="connection refused")
NO_SELINUX = CapabilityFact(name="SELinux", present=False, evidence="no /sys/fs/selinux")
TOO_LONG = Reason(code=ReasonCode.TOO_LONG, expected="60", unit="s")


def test_a_follower_of_a_broken_rpc_is_blocked_by_its_judge() -> None:
    found = judged(
        result("test_run", "SBX-01", Outcome.FAILED, raw_rpc="RunPodSandbox", reason="it cannot"),
        result("test_other", "SBX-09", Outcome.FAILED, raw_rpc="RunPodSandbox"),
        result("test_list", "SBA-01", Outcome.BLOCKED, setup_rpc="RunPodSandbox"),
    )

    assert outcomes(found) == {
        "test_run": Outcome.FAILED,
        "test_other": Outcome.BLOCKED,
        "test_list": Outcome.BLOCKED,
    }
    assert [test.blocked_by for test in found.tests] == ["", "SBX-01", "SBX-01"]
    (cause,) = found.root_causes
    assert (cause.requirement, cause.rpc, cause.shown_by, len(cause.blocked)) == (
        "SBX-01",
        "RunPodSandbox",
        "a.py::test_run",
        2,
    )
    assert found.exit_code == 1


def lacking(name: str, requirement: str) -> TestResult:
    return result(
        name,
        requirement,
        Outcome.FAILED,
        raw_rpc="RemoveContainer",
        answer="UNIMPLEMENTED",
        reason="no",
    )


def test_an_rpc_that_the_runtime_lacks_is_one_failure_under_its_judge() -> None:
    found = judged(
        lacking("test_other", "CTR-30"),
        lacking("test_remove[one]", "CTR-28/removed"),
        lacking("test_remove[two]", "CTR-28/removed"),
        lacking("test_same_requirement", "CTR-28/first-call"),
        result("test_set_up", "CTR-31", Outcome.BLOCKED, setup_rpc="RemoveContainer", answer="UNIMPLEMENTED"),
    )

    assert [test.name for test in found.tests if test.outcome is Outcome.FAILED] == ["test_remove[one]"]
    assert {test.blocked_by for test in found.tests if test.outcome is Outcome.BLOCKED} == {"CTR-28"}
    assert [len(cause.blocked) for cause in found.root_causes] == [4]
    assert found.exit_code == 1


def test_an_rpc_that_the_runtime_lacks_is_judged_where_its_judge_did_not_run() -> None:
    found = judged(lacking("test_other", "CTR-30"), lacking("test_another", "CTR-31"))

    (failed,) = [test for test in found.tests if test.outcome is Outcome.FAILED]
    assert (failed.requirement, failed.synthesized, failed.reason) == ("CTR-28/removed", True, "no")
    assert found.exit_code == 1


def test_an_rpc_that_works_for_its_judge_is_not_lacking() -> None:
    found = judged(result("test_remove", "CTR-28/removed"), lacking("test_other", "CTR-30"))

    assert outcomes(found)["test_other"] is Outcome.FAILED


def test_a_known_failure_of_a_must_is_not_called_conforming() -> None:
    def known(level: Level) -> str:
        passed, broken = result("test_a", "CTR-30"), result("test_b", "CTR-31", Outcome.KNOWN, level=level)
        return end_of(judged(passed, broken))

    for level in (Level.MUST, Level.SHOULD):
        assert known(level) == "no new failure (1 known failure, no warnings)"


def test_a_failure_by_an_rpc_whose_judge_passed_stays_a_failure() -> None:
    found = judged(
        result("test_run", "SBX-01"), result("test_other", "SBX-09", Outcome.FAILED, raw_rpc="RunPodSandbox")
    )

    assert outcomes(found)["test_other"] is Outcome.FAILED


def test_a_failure_by_assertion_stays_a_failure_with_a_broken_rpc() -> None:
    found = judged(
        result("test_run", "SBX-01", Outcome.FAILED), result("test_other", "SBX-09", Outcome.FAILED)
    )

    assert outcomes(found)["test_other"] is Outcome.FAILED


def test_a_judge_that_is_itself_only_a_follower_breaks_nothing() -> None:
    found = judged(
        result("test_create", "CTR-01", Outcome.FAILED, raw_rpc="RunPodSandbox"),
        result("test_run", "SBX-01", Outcome.FAILED, raw_rpc="RunPodSandbox"),
        result("test_start", "CTR-02", Outcome.FAILED, raw_rpc="CreateContainer"),
    )

    assert outcomes(found) == {
        "test_create": Outcome.BLOCKED,
        "test_run": Outcome.FAILED,
        "test_start": Outcome.FAILED,
    }


def test_a_failure_that_another_requirement_explains_follows_it_only_where_that_is_broken() -> None:
    waits = result("test_log", "LOG-15", Outcome.FAILED, reported_blocker="CTR-21", reason="waited 10 s")
    exited = result("test_exited", "CTR-21", Outcome.PASSED)
    in_set_up = result("test_list", "CTA-17", Outcome.BLOCKED, reported_blocker="CTR-21")

    alone, blocked = judged(waits, exited), judged(waits, in_set_up)

    assert [(test.outcome, test.blocked_by) for test in alone.tests] == [
        (Outcome.FAILED, ""),
        (Outcome.PASSED, ""),
    ]
    assert outcomes(blocked)["test_log"] is Outcome.BLOCKED
    assert [(cause.requirement, len(cause.blocked)) for cause in blocked.root_causes] == [("CTR-21", 2)]
    assert outcomes(judged(waits))["test_log"] is Outcome.FAILED


def test_failures_that_follow_each_other_in_a_circle_do_not_vanish() -> None:
    found = judged(
        result("test_run", "SBX-01", Outcome.FAILED, raw_rpc="CreateContainer"),
        result("test_create", "CTR-01", Outcome.FAILED, raw_rpc="RunPodSandbox"),
    )

    assert outcomes(found) == {"test_run": Outcome.FAILED, "test_create": Outcome.BLOCKED}


def test_a_failure_of_what_builds_on_a_broken_requirement_is_blocked_by_it() -> None:
    def facts(name: str) -> RequirementFacts:
        return RequirementFacts(builds_on="RES-04" if name == "RES-28" else "")

    def judged_with(*tests: TestResult) -> dict[str, Outcome]:
        return outcomes(judge(tests, JudgeContext(judge_of=JUDGES.get, facts_of=facts)))

    command = result("test_command", "RES-28", Outcome.FAILED)
    fine = result("test_fine", "RES-28")

    with_limit = judged_with(result("test_limit", "RES-04"), command)
    alone = judged_with(command)
    without = judged_with(result("test_limit", "RES-04", Outcome.FAILED), command, fine)

    assert with_limit["test_command"] is alone["test_command"] is Outcome.FAILED
    assert without["test_command"] is Outcome.BLOCKED
    assert without["test_fine"] is Outcome.PASSED


def test_only_the_judging_aspect_blocks() -> None:
    followers = result("test_other", "LOG-01", Outcome.FAILED, raw_rpc="RemoveContainer")

    assert (
        outcomes(judged(result("test_code", "CTR-28/code", Outcome.FAILED), followers))["test_other"]
        is Outcome.FAILED
    )
    assert (
        outcomes(judged(result("test_gone", "CTR-28/removed", Outcome.FAILED), followers))["test_other"]
        is Outcome.BLOCKED
    )


def test_judging_twice_changes_nothing() -> None:
    first = judged(
        result("test_a", "CTA-01", Outcome.BLOCKED, setup_rpc="RunPodSandbox", reason="no"),
        result("test_b", "LOG-01", Outcome.FAILED, level=Level.SHOULD),
        result("test_c", "LOG-02", Outcome.FAILED, unproven_since="1.34"),
        required=["SELinux"],
    )

    again = judged(*first.tests, required=["SELinux"])

    assert sorted(again.tests, key=lambda test: test.id) == sorted(first.tests, key=lambda test: test.id)
    assert again.exit_code == first.exit_code


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ({}, Outcome.FAILED),
        ({"level": Level.SHOULD}, Outcome.WARNED),
        ({"judgement": True}, Outcome.WARNED),
        ({"level": Level.OPT}, Outcome.FAILED),
        ({"level": Level.DIV}, Outcome.FAILED),
        ({"unproven_since": "1.34"}, Outcome.UNSUPPORTED),
    ],
)
def test_a_breach_means_what_its_level_says(more: dict[str, object], outcome: Outcome) -> None:
    assert judged(result("test_a", "CTA-01", Outcome.FAILED, **more)).tests[0].outcome is outcome


def test_the_verdict_is_the_worst_of_the_tests_and_forms_are_recorded() -> None:
    found = judged(
        result("test_a[1]", "CTA-01/error"),
        result("test_a[2]", "CTA-01/code", Outcome.FAILED, level=Level.SHOULD),
        result("test_a[3]", "CTA-01/form", level=Level.DIV, form="an error"),
        result("test_a[4]", "CTA-01/form", level=Level.DIV, form="empty"),
    )

    verdict = found.requirements["CTA-01"]
    assert verdict.outcome is Outcome.WARNED
    assert verdict.aspects == {
        "CTA-01/error": Outcome.PASSED,
        "CTA-01/code": Outcome.WARNED,
        "CTA-01/form": Outcome.PASSED,
    }
    assert verdict.forms == {"CTA-01/form": "an error / empty"}
    assert found.counts.outcomes == {"passed": 3, "warned": 1}
    assert found.counts.areas == {"containers": {"passed": 3, "warned": 1}}
    assert found.counts.requirements == {"warned": 1}


def test_known_failures_leave_the_run_green_and_block_like_failures(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(
        '[[known]]\nrequirement = "SBX-01"\ntest = "test_run"\nversions = "*"\noutcome = "failed"\n'
        'reason = "r"\napi = "a"\nowner = "o"\nexpires = 2999-01-01\n'
    )
    found = judged(
        result("test_run", "SBX-01", Outcome.FAILED),
        result("test_other", "SBX-09", Outcome.FAILED, raw_rpc="RunPodSandbox"),
        expectations=load(tmp_path / "x.toml"),
    )

    assert outcomes(found) == {"test_run": Outcome.KNOWN, "test_other": Outcome.BLOCKED}
    assert found.exit_code == 0
    assert "1 known failure" in end_of(found)


def test_an_unexpected_pass_is_not_called_a_broken_must(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(
        '[[known]]\nrequirement = "SBX-01"\ntest = "test_run"\nversions = "*"\noutcome = "failed"\n'
        'reason = "r"\napi = "a"\nowner = "o"\nexpires = 2999-01-01\n'
    )
    known = load(tmp_path / "x.toml")
    passed = result("test_run", "SBX-01", Outcome.PASSED)

    alone = judged(passed, expectations=known)
    both = judged(passed, result("test_other", "SBX-09", Outcome.FAILED), expectations=known)

    assert alone.exit_code == 1
    assert end_of(alone).startswith("1 known failure passed, so the list of known failures is wrong (")
    assert end_of(both).startswith("1 test found a broken MUST; 1 known failure passed")


def test_a_declared_capability_that_is_absent_fails() -> None:
    found = judged(
        result("test_a", "CTA-01"),
        required=["SELinux", "IPv6", "seccomp"],
        capabilities=[
            NO_SELINUX,
            CapabilityFact(name="IPv6", present=True),
        ],
    )

    assert end_of(found) == "2 capabilities that --require names are missing (no known failures)"
    assert [test.id for test in found.tests[1:]] == [
        "<required capability: SELinux>",
        "<required capability: seccomp>",
    ]
    assert [(test.why.seen, test.why.words) for test in found.tests[1:]] == [
        ("False", "no /sys/fs/selinux"),
        ("", ""),
    ]
    assert found.exit_code == 1


@pytest.mark.parametrize(
    ("tests", "more", "code"),
    [
        ([result("test_a", "A-01")], {}, 0),
        ([result("test_a", "A-01", Outcome.FAILED)], {}, 1),
        (
            [result("test_a", "A-01", Outcome.FAILED)],
            {"interrupted": True, "harness_error": "x", "runtime_gone": GONE},
            2,
        ),
        ([result("test_a", "A-01", Outcome.FAILED)], {"harness_error": "x", "runtime_gone": GONE}, 3),
        ([result("test_a", "A-01", Outcome.ERROR), result("test_b", "A-02", Outcome.FAILED)], {}, 3),
        ([result("test_a", "A-01", Outcome.FAILED)], {"runtime_gone": GONE}, 1),
        ([result("test_a", "A-01", Outcome.KNOWN, why=ENDED)], {"runtime_gone": GONE}, 1),
        ([result("test_a", "A-01", Outcome.KNOWN)], {"runtime_gone": GONE}, 5),
        (
            [
                result("test_a", "A-01", Outcome.FAILED),
                result("b", "", Outcome.BLOCKED, why=NO_IMAGE, reason="r"),
            ],
            {},
            5,
        ),
        ([], {}, 5),
        ([result("test_a", "A-01", Outcome.BLOCKED, reason="r")], {}, 5),
        (
            [result("test_a", "A-01", Outcome.UNSUPPORTED), result("test_b", "A-02", level=Level.SHOULD)],
            {},
            5,
        ),
        ([result("test_b", "A-02", level=Level.SHOULD)], {}, 0),
        ([result("test_a", "A-01"), result("test_b", "A-02", Outcome.WARNED)], {}, 0),
        ([result("test_a", "A-01"), result("test_b", "A-02", Outcome.WARNED)], {"strict": True}, 1),
        ([result("test_a", "A-01", Outcome.BLOCKED, setup_rpc="RunPodSandbox")], {}, 1),
    ],
)
def test_the_exit_code_follows_its_precedence(
    tests: list[TestResult], more: dict[str, object], code: int
) -> None:
    found = judged(*tests, **more)

    assert found.exit_code == code
    assert end_of(found)


@pytest.mark.parametrize(
    ("area", "reason"),
    [("benchmark", "no scenario could run"), ("sandboxes", "no test of a MUST could run")],
    ids=["a benchmark", "a validation"],
)
def test_what_could_not_run_is_called_by_its_name(area: str, reason: str) -> None:
    why = Reason(code=ReasonCode.NOT_HERE, words="needs a private runtime")
    blocked = dataclasses.replace(result("test_a", "A-01", Outcome.BLOCKED, why=why), area=area)

    found = judged(blocked)

    assert end_of(found) == f"{reason}; most common reason: needs a private runtime"


def test_no_verdict_hangs_on_a_sentence() -> None:
    silent = Reason(code=ReasonCode.RUNTIME_SILENT)
    tests = [
        refused("test_other", "CTR-30", "container 12ab is busy"),
        refused("test_remove", "CTR-31", "container 34cd is busy"),
        saw("test_keeps_its_code", "STP-02", "exit_code", "137"),
        saw("test_ends_by_itself", "STP-05", "exit_code", "137"),
        lacking("test_lacks", "CTR-28/removed"),
        result("test_ends", "GEN-17", Outcome.FAILED, why=ENDED, reason="the daemon ended"),
        result("test_silent", "A-09", Outcome.BLOCKED, why=silent, reason="it stopped answering"),
        result("test_run", "SBX-01", Outcome.FAILED, raw_rpc="RunPodSandbox", reason="it cannot"),
        result("test_list", "SBA-01", Outcome.BLOCKED, setup_rpc="RunPodSandbox", reason="no"),
        result("test_should", "A-02", Outcome.FAILED, level=Level.SHOULD, reason="expected 1, seen 2"),
        result("test_events", "A-03", Outcome.UNSUPPORTED, reason="no events"),
        result("test_young", "A-04", Outcome.FAILED, unproven_since="1.34", reason="none"),
        result("test_kept", "A-05"),
        result("test_no_image", "A-08", Outcome.BLOCKED, why=Reason(code=ReasonCode.NO_IMAGES)),
    ]
    alone = [
        *tests,
        result("test_typo", "A-06", Outcome.ERROR, reason="NameError in the harness"),
        result("test_sleeps", "A-10", Outcome.ERROR, why=TOO_LONG),
    ]
    here = [test for test in tests if test.outcome is Outcome.BLOCKED] + [
        result("test_image", "A-07", Outcome.BLOCKED, why=NO_IMAGE, reason="out of reach")
    ]

    for chosen in (tests, alone, here):
        original = judged(*chosen, runtime_gone=GONE, required=[NO_SELINUX.name], capabilities=[NO_SELINUX])
        garbled = judged(
            *map(nonsense, chosen),
            runtime_gone=nonsense_of(GONE),
            required=[NO_SELINUX.name],
            capabilities=[dataclasses.replace(NO_SELINUX, evidence="xzz")],
        )
        assert [(test.id, test.outcome, test.blocked_by, test.cause) for test in garbled.tests] == [
            (test.id, test.outcome, test.blocked_by, test.cause) for test in original.tests
        ]
        assert [
            (each.requirement, each.blocked, each.failed, each.outcome) for each in garbled.root_causes
        ] == [(each.requirement, each.blocked, each.failed, each.outcome) for each in original.root_causes]
        assert (garbled.exit_code, garbled.counts) == (original.exit_code, original.counts)


@pytest.mark.parametrize(
    ("failures", "tries", "outcome", "code"),
    [
        (1, 21, Outcome.WARNED, 0),
        (2, 21, Outcome.FAILED, 1),
        (21, 21, Outcome.FAILED, 1),
        (1, 20, Outcome.FAILED, 1),
        (0, 0, Outcome.FAILED, 1),
    ],
    ids=["by chance", "now and then", "always", "too few tries", "not tried again"],
)
def test_a_failure_that_does_not_come_again_is_a_warning(
    failures: int, tries: int, outcome: Outcome, code: int
) -> None:
    test = result("test_a", "A-01", Outcome.FAILED, failures=failures, tries=tries)

    found = judged(test, result("test_b", "A-02"))

    assert (found.tests[0].outcome, found.exit_code) == (outcome, code)
    assert judged(test, result("test_b", "A-02"), strict=True).exit_code == 1
    assert ("did not recur" in end_of(found)) is (outcome is Outcome.WARNED)
    assert ("intermittently" in end_of(found)) is (outcome is Outcome.FAILED and 0 < failures < tries)
