"""Which of several tests ended the daemon."""

import dataclasses

import pytest

from critests.catalogue.words import Outcome
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.report.wording.reason_sentences import sentence
from critests.run.crash_suspects import end_between_tests, resolve_crash_suspects

DIED = TestResult(
    id="a.py::test_a",
    name="test_a",
    requirement="GEN-17",
    outcome=Outcome.FAILED,
    why=Reason(code=ReasonCode.RUNTIME_ENDED, where="process 7"),
)
OTHER = dataclasses.replace(DIED, id="a.py::test_b", name="test_b")
PASSED = TestResult(id="a.py::test_c", name="test_c", outcome=Outcome.PASSED)


def outcomes(results: list[TestResult]) -> dict[str, Outcome]:
    return {test.name: test.outcome for test in results}


def test_one_alone_has_done_it() -> None:
    assert resolve_crash_suspects([DIED, PASSED], [[DIED.id]], lambda _: pytest.fail("not repeated")) == [
        DIED,
        PASSED,
    ]


def test_who_does_it_again_has_done_it() -> None:
    again = {
        DIED.id: DIED,
        OTHER.id: dataclasses.replace(OTHER, outcome=Outcome.PASSED, requirement="SBX-01"),
    }

    results = resolve_crash_suspects(
        [DIED, OTHER, PASSED], [[DIED.id, OTHER.id]], lambda test: again[test.id]
    )

    assert results == [DIED, again[OTHER.id], PASSED]


def test_where_nothing_can_be_repeated_one_failure_names_all_and_accuses_none() -> None:
    results = resolve_crash_suspects([DIED, OTHER, PASSED], [[DIED.id, OTHER.id]], lambda _: None)

    assert outcomes(results) == {
        "test_a": Outcome.BLOCKED,
        "test_b": Outcome.BLOCKED,
        "test_c": Outcome.PASSED,
        "daemon_outlives_tests_side_by_side": Outcome.FAILED,
    }
    assert sentence(results[-1]) == "the daemon (process 7) exited while these ran: test_a, test_b"


def test_who_does_not_do_it_again_is_judged_by_that() -> None:
    again = {test.id: dataclasses.replace(test, outcome=Outcome.PASSED) for test in (DIED, OTHER)}

    results = resolve_crash_suspects([DIED, OTHER], [[DIED.id, OTHER.id]], lambda test: again[test.id])

    assert [test.outcome for test in results] == [Outcome.PASSED, Outcome.PASSED, Outcome.FAILED]


def test_daemon_that_ended_between_two_tests_is_gone_and_no_test_is_to_blame() -> None:
    blocked = dataclasses.replace(OTHER, outcome=Outcome.BLOCKED)

    assert end_between_tests([PASSED, blocked], [[blocked.id]]) == DIED.why
    assert end_between_tests([DIED, blocked], [[DIED.id, blocked.id]]) is None
    assert end_between_tests([PASSED], []) is None
