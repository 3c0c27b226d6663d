"""Calls at the same time, as the model of the API has them."""

import pytest

from critests.model import Breach, Step
from critests.model.linearization import Done, judge_together, orders
from critests.model.observations import CallResult
from critests.model.steps import EXEC_CODE, LINGER_SECONDS, TERMINATED, ContainerProcess
from tests.model.telling import ERROR, EXITED, RUNNING, Told, aspects

START, REMOVE = Step("StartContainer", on="container-1"), Step("RemoveContainer", on="container-1")
STOP = Step("StopContainer", on="container-1")
RUN = Step("RunPodSandbox", makes="sandbox-2", name="twin")
RUN_TOO = Step("RunPodSandbox", makes="sandbox-3", name="twin")


def together(told: Told, *steps: tuple[Step, CallResult]) -> list[Breach]:
    done = [Done(step, answer, 0.0, 1.0) for step, answer in steps]
    return judge_together(told.world, done, told.look())


def test_what_had_ended_comes_first() -> None:
    early, late, long = (Done(START, CallResult(), *times) for times in ((0, 1), (2, 3), (0, 3)))

    assert list(orders([late, early])) == [(early, late)]
    assert len(list(orders([early, late, long]))) == 3


def test_either_order_explains_what_is_seen(told: Told) -> None:
    told.running()
    told.containers.clear()

    assert together(told, (STOP, CallResult()), (REMOVE, CallResult())) == []
    assert together(told, (REMOVE, CallResult()), (STOP, CallResult())) == []


def test_of_two_twins_one_is_made_and_the_other_refused_or_the_same(told: Told) -> None:
    told.is_there("sandbox-2", "twin")

    assert together(told, (RUN_TOO, ERROR), (RUN, CallResult(id="id of sandbox-2"))) == []


def test_two_twins_are_one_too_many(told: Told) -> None:
    told.is_there("sandbox-2", "twin")
    told.is_there("sandbox-3", "twin")

    breaches = together(
        told, (RUN, CallResult(id="id of sandbox-2")), (RUN_TOO, CallResult(id="id of sandbox-3"))
    )

    assert "CNC-02/one" in aspects(breaches)


def test_a_start_that_fails_beside_a_stop_may_leave_nothing(told: Told) -> None:
    told.container()
    told.containers.clear()

    assert together(told, (START, ERROR), (STOP, CallResult())) == []


def test_a_start_that_succeeds_beside_a_stop_leaves_a_container(told: Told) -> None:
    told.container()
    told.containers.clear()

    (breach, *_) = together(told, (START, CallResult()), (STOP, CallResult()))

    assert breach.aspect == "CNC-06"


def test_a_start_and_a_removal_that_both_succeed_leave_nothing(told: Told) -> None:
    told.container()
    told.becomes("container-1", RUNNING, started_at=7)

    (breach,) = together(told, (START, CallResult()), (REMOVE, CallResult()))

    assert (breach.aspect, breach.rpc) == ("CNC-06", "RemoveContainer | StartContainer")


def test_a_call_may_fail_beside_another_for_the_same_object(told: Told) -> None:
    told.running()
    told.containers.clear()

    assert together(told, (REMOVE, ERROR), (REMOVE, CallResult())) == []


def test_all_stops_of_a_container_succeed(told: Told) -> None:
    told.running()
    told.becomes("container-1", EXITED, finished_at=9, exit_code=137)

    assert aspects(together(told, (STOP, ERROR), (STOP, CallResult()))) == ["STP-17"]


def test_a_call_must_not_fail_beside_another_for_something_else(told: Told) -> None:
    told.running()
    told.sandbox("sandbox-3", name="other")
    told.becomes("container-1", EXITED, finished_at=9, exit_code=137)

    breaches = together(told, (STOP, CallResult()), (Step("StopPodSandbox", on="sandbox-3"), ERROR))

    assert aspects(breaches) == ["CNC-05"]


def test_a_command_may_be_ended_with_its_container(told: Told) -> None:
    told.running()
    told.becomes("container-1", EXITED, finished_at=9, exit_code=137)
    command = Step("ExecSync", on="container-1")

    assert together(told, (STOP, CallResult()), (command, CallResult(exit_code=137))) == []


def test_a_command_that_ended_well_has_its_own_code(told: Told) -> None:
    told.running()
    told.becomes("container-1", EXITED, finished_at=9, exit_code=137)
    command = Step("ExecSync", on="container-1")

    assert together(told, (STOP, CallResult()), (command, CallResult(exit_code=0)))


def test_what_is_known_does_not_count_against_an_order(told: Told) -> None:
    told.running()
    done = [Done(STOP, CallResult(), 0, 1), Done(Step("ExecSync", on="container-1"), ERROR, 0, 1)]

    breaches = judge_together(told.world, done, told.look(), lambda breach: breach.aspect == "CTA-27")

    assert {breach.aspect for breach in breaches} == {"CTA-27"}


STOP_WITH_GRACE = Step("StopContainer", on="container-1", timeout=2)
COMMAND, REOPENING = (Step(rpc, on="container-1") for rpc in ("ExecSync", "ReopenContainerLog"))
SOON, LATE = 0.1, LINGER_SECONDS + 0.1


def beside_a_stop(told: Told, step: Step, answer: CallResult, ended: float) -> list[str]:
    """Play a step beside the stop of what lingers."""
    told.running(process=ContainerProcess.LINGERS)
    told.becomes("container-1", EXITED, finished_at=9, exit_code=TERMINATED)
    stop = Done(STOP_WITH_GRACE, CallResult(), 0.0, LATE)
    return aspects(judge_together(told.world, [stop, Done(step, answer, 0.0, ended)], told.look()))


def test_in_the_grace_period_a_container_is_there_for_other_calls(told: Told) -> None:
    answer = CallResult(exit_code=EXEC_CODE, output="in container-1\n")

    assert beside_a_stop(told, COMMAND, answer, SOON) == []


@pytest.mark.parametrize("answer", [ERROR, CallResult(exit_code=137)])
def test_a_command_that_a_stop_refuses_or_ends_is_seen(told: Told, answer: CallResult) -> None:
    assert beside_a_stop(told, COMMAND, answer, SOON) == ["STP-18"]


@pytest.mark.parametrize("answer", [ERROR, CallResult()])
def test_a_log_that_is_reopened_only_after_a_stop_is_seen(told: Told, answer: CallResult) -> None:
    assert beside_a_stop(told, REOPENING, answer, LATE) == ["LOG-26"]


def test_what_is_stopped_without_grace_or_ends_at_once_is_there_for_nothing(told: Told) -> None:
    told.running(process=ContainerProcess.LINGERS)
    told.becomes("container-1", EXITED, finished_at=9, exit_code=137)

    assert together(told, (STOP, CallResult()), (COMMAND, ERROR)) == []
    told.running("container-2", name="other")
    told.becomes("container-2", EXITED, finished_at=9, exit_code=TERMINATED)
    other = (Step("StopContainer", on="container-2", timeout=2), Step("ExecSync", on="container-2"))
    assert together(told, (other[0], CallResult()), (other[1], ERROR)) == []
