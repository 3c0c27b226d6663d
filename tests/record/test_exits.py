"""The sentence that ends a run."""

import pytest

from critests.catalogue.words import Level, Outcome
from critests.exit_codes import ExitCode
from critests.record.exits import ending
from critests.record.result_records import TestResult
from critests.report.wording.endings import exit_sentence


def reason(*levels: Level) -> str:
    """Return the end of a run with a failed test of each of these levels and a passed MUST."""
    passed = TestResult(id="a.py::test_kept", name="test_kept", outcome=Outcome.PASSED)
    failed = [
        TestResult(id=f"a.py::test_{level}", name=f"test_{level}", level=level, outcome=Outcome.FAILED)
        for level in levels
    ]
    end = ending([passed, *failed])
    assert end.code == 1
    return exit_sentence(end).partition(" (")[0]


def test_the_last_sentence_is_true_of_the_level_of_what_is_broken() -> None:
    assert reason(Level.MUST) == "1 test found a broken MUST"
    assert reason(Level.OPT) == "1 test found a broken optional feature that the runtime offers"
    assert reason(Level.DIV) == "1 test found a hang, crash or leak where runtimes may differ"


@pytest.mark.parametrize("level", Level)
def test_a_failure_of_whatever_level_is_no_end_of_a_run_that_keeps_all(level: Level) -> None:
    assert reason(level).startswith("1 test found ")


def test_a_run_whose_time_limit_left_no_must_judged_could_not_test() -> None:
    should = TestResult(
        id="a.py::test_should", name="test_should", level=Level.SHOULD, outcome=Outcome.PASSED
    )
    must = TestResult(id="a.py::test_must", name="test_must", level=Level.MUST, outcome=Outcome.PASSED)

    without = ending([should], musts_not_begun=2)

    assert without.code == ExitCode.NOT_TESTED
    assert exit_sentence(without) == "the time limit left out 2 tests of MUSTs, and none was judged"
    assert ending([should]).code == ending([should, must], musts_not_begun=2).code == ExitCode.NO_NEW_FAILURE


def test_broken_levels_are_distinguished() -> None:
    assert reason(Level.OPT, Level.MUST) == (
        "1 test found a broken MUST, 1 test found a broken optional feature that the runtime offers"
    )
