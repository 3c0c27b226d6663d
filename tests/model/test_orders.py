"""How the model judges concurrent calls."""

import pytest

from critests.model import Breach, Step
from critests.model.linearization import CompletedStep, judge_together, orders
from critests.model.observations import CallResult
from critests.model.steps import EXEC_CODE, LINGER_SECONDS, TERMINATED, ContainerProcess
from tests.model.fake_runtime import ERROR, EXITED, RUNNING, FakeRuntime, aspects

START, REMOVE = Step("StartContainer", on="container-1"), Step("RemoveContainer", on="container-1")
STOP = Step("StopContainer", on="container-1")
RUN = Step("RunPodSandbox", makes="sandbox-2", name="twin")
RUN_TOO = Step("RunPodSandbox", makes="sandbox-3", name="twin")


def together(fake: FakeRuntime, *steps: tuple[Step, CallResult]) -> list[Breach]:
    done = [CompletedStep(step, result, 0.0, 1.0) for step, result in steps]
    return judge_together(fake.world, done, fake.snapshot())


def test_a_call_that_returned_earlier_comes_first() -> None:
    early, late, long = (CompletedStep(START, CallResult(), *times) for times in ((0, 1), (2, 3), (0, 3)))

    assert list(orders([late, early])) == [(early, late)]
    assert len(list(orders([early, late, long]))) == 3


def test_either_order_may_explain_the_results(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.containers.clear()

    assert together(fake, (STOP, CallResult()), (REMOVE, CallResult())) == []
    assert together(fake, (REMOVE, CallResult()), (STOP, CallResult())) == []


def test_one_of_two_equal_creations_succeeds_and_the_other_fails_or_returns_the_same(
    fake: FakeRuntime,
) -> None:
    fake.list_sandbox("sandbox-2", "twin")

    assert together(fake, (RUN_TOO, ERROR), (RUN, CallResult(id="id of sandbox-2"))) == []


def test_two_equal_creations_must_not_create_two_sandboxes(fake: FakeRuntime) -> None:
    fake.list_sandbox("sandbox-2", "twin")
    fake.list_sandbox("sandbox-3", "twin")

    breaches = together(
        fake, (RUN, CallResult(id="id of sandbox-2")), (RUN_TOO, CallResult(id="id of sandbox-3"))
    )

    assert "CNC-02/one" in aspects(breaches)


def test_a_start_that_fails_during_a_stop_may_leave_nothing(fake: FakeRuntime) -> None:
    fake.add_container()
    fake.containers.clear()

    assert together(fake, (START, ERROR), (STOP, CallResult())) == []


def test_a_start_that_succeeds_during_a_stop_leaves_a_container(fake: FakeRuntime) -> None:
    fake.add_container()
    fake.containers.clear()

    (breach, *_) = together(fake, (START, CallResult()), (STOP, CallResult()))

    assert breach.aspect == "CNC-06"


def test_a_start_and_a_removal_that_both_succeed_leave_nothing(fake: FakeRuntime) -> None:
    fake.add_container()
    fake.set_state("container-1", RUNNING, started_at=7)

    (breach,) = together(fake, (START, CallResult()), (REMOVE, CallResult()))

    assert (breach.aspect, breach.rpc) == ("CNC-06", "RemoveContainer | StartContainer")


def test_a_call_may_fail_during_another_for_the_same_object(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.containers.clear()

    assert together(fake, (REMOVE, ERROR), (REMOVE, CallResult())) == []


def test_all_stops_of_a_container_succeed(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=137)

    assert aspects(together(fake, (STOP, ERROR), (STOP, CallResult()))) == ["STP-17"]


def test_a_call_must_not_fail_during_another_for_something_else(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.add_sandbox("sandbox-3", name="other")
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=137)

    breaches = together(fake, (STOP, CallResult()), (Step("StopPodSandbox", on="sandbox-3"), ERROR))

    assert aspects(breaches) == ["CNC-05"]


def test_a_command_may_be_killed_with_its_container(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=137)
    command = Step("ExecSync", on="container-1")

    assert together(fake, (STOP, CallResult()), (command, CallResult(exit_code=137))) == []


def test_completed_command_has_its_own_exit_code(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=137)
    command = Step("ExecSync", on="container-1")

    assert together(fake, (STOP, CallResult()), (command, CallResult(exit_code=0)))


def test_known_breaches_do_not_count_against_an_order(fake: FakeRuntime) -> None:
    fake.add_running()
    done = [
        CompletedStep(STOP, CallResult(), 0, 1),
        CompletedStep(Step("ExecSync", on="container-1"), ERROR, 0, 1),
    ]

    breaches = judge_together(fake.world, done, fake.snapshot(), lambda breach: breach.aspect == "CTA-27")

    assert {breach.aspect for breach in breaches} == {"CTA-27"}


STOP_WITH_GRACE = Step("StopContainer", on="container-1", timeout=2)
COMMAND, REOPENING = (Step(rpc, on="container-1") for rpc in ("ExecSync", "ReopenContainerLog"))
SOON, LATE = 0.1, LINGER_SECONDS + 0.1


def during_a_stop(fake: FakeRuntime, step: Step, result: CallResult, ended: float) -> list[str]:
    """Run a step during the stop of a container that exits late in its grace period."""
    fake.add_running(process=ContainerProcess.LINGERS)
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=TERMINATED)
    stop = CompletedStep(STOP_WITH_GRACE, CallResult(), 0.0, LATE)
    return aspects(
        judge_together(fake.world, [stop, CompletedStep(step, result, 0.0, ended)], fake.snapshot())
    )


def test_other_calls_work_during_the_grace_period(fake: FakeRuntime) -> None:
    result = CallResult(exit_code=EXEC_CODE, output="in container-1\n")

    assert during_a_stop(fake, COMMAND, result, SOON) == []


@pytest.mark.parametrize("result", [ERROR, CallResult(exit_code=137)])
def test_a_command_that_a_stop_rejects_or_kills_is_a_breach(fake: FakeRuntime, result: CallResult) -> None:
    assert during_a_stop(fake, COMMAND, result, SOON) == ["STP-18"]


@pytest.mark.parametrize("result", [ERROR, CallResult()])
def test_a_log_that_is_reopened_only_after_a_stop_is_a_breach(fake: FakeRuntime, result: CallResult) -> None:
    assert during_a_stop(fake, REOPENING, result, LATE) == ["LOG-26"]


def test_without_a_grace_period_or_a_slow_exit_other_calls_may_fail(fake: FakeRuntime) -> None:
    fake.add_running(process=ContainerProcess.LINGERS)
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=137)

    assert together(fake, (STOP, CallResult()), (COMMAND, ERROR)) == []
    fake.add_running("container-2", name="other")
    fake.set_state("container-2", EXITED, finished_at=9, exit_code=TERMINATED)
    other = (Step("StopContainer", on="container-2", timeout=2), Step("ExecSync", on="container-2"))
    assert together(fake, (other[0], CallResult()), (other[1], ERROR)) == []
