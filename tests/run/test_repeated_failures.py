"""How often a new failure comes is found out when the run is over."""

import dataclasses
import subprocess
from types import SimpleNamespace

import pytest

from critests.catalogue.words import Outcome
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import CONDITION_REPEATS, REPEATS, TestResult
from critests.report.wording.reason_sentences import worded_result
from critests.run.stop_signals import announce_cleanup, handled_by
from critests.run.tries import MOST_TESTS, repeat_in_new_run, tried_again

FAILED = TestResult(
    id="a.py::test_a",
    name="test_a",
    requirement="SBX-02",
    outcome=Outcome.FAILED,
    why=Reason(code=ReasonCode.SAID, words="no"),
    repeat_command="critests run --node containerd --select SBX-02 -k test_a",
)


class Tries:
    """Lets a test fail in some of its tries."""

    def __init__(self, failing: int = 0, verdicts: int = REPEATS) -> None:
        self.asked: list[tuple[str, int, str]] = []
        self._failing, self._verdicts = failing, verdicts

    def __call__(self, test: TestResult, times: int, endpoint: str, seconds: float) -> list[Outcome]:
        assert seconds > 0
        self.asked.append((test.name, times, endpoint))
        given = min(times, self._verdicts)
        failed = min(given, self._failing)
        self._failing -= failed
        return [Outcome.FAILED] * failed + [Outcome.PASSED] * (given - failed)


def again(*tests: TestResult, tries: Tries, fresh: bool = False) -> list[tuple[int, int]]:
    said: list[str] = []
    found = tried_again(tests, tests, same="unix:///a", fresh=fresh, say=said.append, try_it=tries)
    assert len(said) == len({name for name, *_ in tries.asked})
    return [(test.failures, test.tries) for test in found]


def test_a_new_failure_is_tried_again_on_the_daemon_it_came_on() -> None:
    tries = Tries(failing=2)

    assert again(FAILED, tries=tries) == [(3, 21)]
    assert tries.asked == [("test_a", 20, "unix:///a")]


def test_where_the_suite_started_the_daemon_half_of_the_tries_are_on_a_new_one() -> None:
    tries = Tries()

    assert again(FAILED, tries=tries, fresh=True) == [(1, 21)]
    assert tries.asked == [("test_a", 10, "unix:///a"), ("test_a", 10, "")]


def test_what_cannot_be_tried_on_a_daemon_that_runs_is_tried_on_a_new_one_alone() -> None:
    class OnlyOnANewOne(Tries):
        def __call__(self, test: TestResult, times: int, endpoint: str, seconds: float) -> list[Outcome]:
            return [] if endpoint else super().__call__(test, times, endpoint, seconds)

    tries = OnlyOnANewOne()

    assert again(FAILED, tries=tries, fresh=True) == [(1, 21)]
    assert tries.asked == [("test_a", 20, "")]


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": Outcome.PASSED},
        {"outcome": Outcome.KNOWN},
        {"outcome": Outcome.WARNED},
        {"synthesized": True},
        {"why": Reason(code=ReasonCode.RUNTIME_ENDED)},
        {"why": Reason(code=ReasonCode.UNEXPECTED_PASS)},
    ],
    ids=str,
)
def test_what_is_no_new_failure_of_a_test_is_not_tried_again(changes: dict[str, object]) -> None:
    tries = Tries()

    assert again(dataclasses.replace(FAILED, **changes), tries=tries) == [(0, 0)]  # type: ignore[arg-type]  # real fields only
    assert tries.asked == []


def test_a_runtime_that_fails_everything_is_not_tried_for_long() -> None:
    tests = [
        dataclasses.replace(FAILED, id=f"a.py::test_{number}", name=f"test_{number}") for number in range(30)
    ]
    tries = Tries()

    found = again(*tests, tries=tries)

    assert len(tries.asked) == MOST_TESTS
    assert found.count((0, 0)) == 30 - MOST_TESTS


def test_ctrl_c_ends_the_tries_and_not_the_run() -> None:
    class Interrupted(Tries):
        def __call__(self, test: TestResult, times: int, endpoint: str, seconds: float) -> list[Outcome]:
            if self.asked:
                raise KeyboardInterrupt
            return super().__call__(test, times, endpoint, seconds)

    said: list[str] = []
    tests = [FAILED, dataclasses.replace(FAILED, id="b.py::test_b", name="test_b")]
    with handled_by(announce_cleanup):  # restores the handlers of pytest
        found = tried_again(
            tests, tests, same="unix:///a", fresh=False, say=said.append, try_it=Interrupted()
        )

    assert [(test.failures, test.tries) for test in found] == [(1, 21), (FAILED.failures, FAILED.tries)]
    assert said[-1] == "interrupted: no more tries, cleaning up"


def test_tries_without_a_verdict_are_none() -> None:
    assert again(FAILED, tries=Tries(verdicts=0)) == [(0, 0)]


def test_tries_on_a_running_daemon_have_no_option_that_starts_one(monkeypatch: pytest.MonkeyPatch) -> None:
    commands: list[list[str]] = []

    def started(command: list[str], **_: object) -> SimpleNamespace:
        commands.append(command)
        return SimpleNamespace(wait=lambda _: None)

    monkeypatch.setattr(subprocess, "Popen", started)
    repeat = "critests run --node crio --cgroup-driver systemd --node-setting nri --select SBX-02 -k test_a"

    repeat_in_new_run(dataclasses.replace(FAILED, repeat_command=repeat), 1, "unix:///a", 1.0)

    (command,) = commands
    assert command[3:9] == ["run", "--select", "SBX-02", "-k", "test_a", "--runtime-endpoint"]


def test_a_failure_under_a_condition_is_tried_with_and_without_it() -> None:
    commands: list[str] = []

    def only_under_churn(test: TestResult, times: int, endpoint: str, seconds: float) -> list[Outcome]:
        assert (times, endpoint) == (CONDITION_REPEATS, "")
        assert seconds > 0
        commands.append(test.repeat_command)
        return [Outcome.FAILED if "churn" in test.repeat_command else Outcome.PASSED] * times

    under = dataclasses.replace(
        FAILED, repeat_command="critests run --node crio --condition churn --seed 7 --select SBX-02 -k test_a"
    )

    (found,) = tried_again(
        [under],
        [under],
        same="unix:///a",
        fresh=True,
        say=print,
        try_it=only_under_churn,
        under_conditions=True,
    )

    assert commands == [under.repeat_command, "critests run --node crio --select SBX-02 -k test_a"]
    assert (found.failures, found.tries, found.plain_failures, found.plain_tries) == (6, 6, 0, 5)
    assert found.only_under_condition
    assert worded_result(found).reason.startswith(
        "failed in 6 of 6 tries under the condition and in 0 of 5 without it, so only under it: "
    )


def test_a_failure_that_occurs_without_the_condition_too_is_not_only_under_it() -> None:
    found = dataclasses.replace(FAILED, tries=6, failures=6, plain_tries=5, plain_failures=1)

    assert not found.only_under_condition
    assert worded_result(found).reason == (
        "failed in 6 of 6 tries under the condition and in 1 of 5 without it: no"
    )
