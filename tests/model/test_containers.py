"""Containers as the model of the API has them."""

from dataclasses import replace

from critests.model import Step
from critests.model.observations import CallResult
from critests.model.steps import (
    DAEMON_RESTARTS,
    EXEC_CODE,
    LAST_WORDS,
    NOTHING,
    PROCESS_ENDS,
    TERMINATED,
    TOLD,
    ContainerProcess,
)
from tests.model.telling import CREATED, ERROR, EXITED, NOTREADY, RUNNING, Told, aspects


def test_a_stop_ends_it_with_a_code_of_its_own_or_of_the_signal(told: Told) -> None:
    told.running()
    told.becomes("container-1", EXITED, finished_at=9, exit_code=TERMINATED)

    assert told.play(Step("StopContainer", on="container-1", timeout=2)) == []


def test_another_exit_code_is_seen(told: Told) -> None:
    told.running()
    told.becomes("container-1", EXITED, finished_at=9, exit_code=0)

    assert aspects(told.play(Step("StopContainer", on="container-1"))) == ["CTR-21"]


def test_a_stop_that_did_nothing_is_seen(told: Told) -> None:
    told.running()

    assert aspects(told.play(Step("StopContainer", on="container-1"))) == ["CTA-27"]


def test_a_stop_of_what_was_never_started_leaves_a_choice_and_then_holds_to_it(told: Told) -> None:
    told.container()
    stop = Step("StopContainer", on="container-1")

    assert told.play(stop) == []
    told.becomes("container-1", EXITED, finished_at=9)
    assert told.play(stop) == []
    told.becomes("container-1", CREATED, finished_at=0)
    assert aspects(told.play(stop)) == ["CTA-26"]


def test_an_end_stays_as_it_was(told: Told) -> None:
    told.running()
    told.becomes("container-1", EXITED, finished_at=9, exit_code=TERMINATED)
    stop = Step("StopContainer", on="container-1")
    told.play(stop)
    told.becomes("container-1", EXITED, finished_at=10)

    assert aspects(told.play(stop)) == ["STP-07"]


def test_a_process_that_ends_by_itself_may_be_seen_running_a_moment_longer(told: Told) -> None:
    told.container(process=ContainerProcess.FAILS)
    told.becomes("container-1", RUNNING, started_at=7)
    assert told.play(Step("StartContainer", on="container-1")) == []
    told.becomes("container-1", EXITED, finished_at=8, exit_code=3)

    assert told.play(Step("ListImages")) == []
    assert aspects(told.play(Step("ExecSync", on="container-1"), CallResult(exit_code=EXEC_CODE))) == [
        "EXS-15/exited"
    ]


def test_another_time_of_creation_is_seen_once(told: Told) -> None:
    told.running()
    told.containers["container-1"] = replace(told.containers["container-1"], created_at=8)

    assert aspects(told.play(Step(DAEMON_RESTARTS))) == ["CTA-04"]
    assert told.play(Step(DAEMON_RESTARTS)) == []


def test_an_end_that_never_comes_is_seen(told: Told) -> None:
    told.running()

    assert aspects(told.play(Step(PROCESS_ENDS, on="container-1"), CallResult("NOT_ENDED"))) == ["CTR-21"]


def test_a_process_that_was_told_to_end_has_its_own_code(told: Told) -> None:
    told.running()
    told.becomes("container-1", EXITED, finished_at=9, exit_code=TOLD)

    assert told.play(Step(PROCESS_ENDS, on="container-1")) == []


def test_a_second_start_should_fail_and_changes_nothing(told: Told) -> None:
    told.running()
    (breach,) = told.play(Step("StartContainer", on="container-1"))

    assert (breach.aspect, breach.level) == ("CTR-19/error", "SHOULD")


def test_nothing_is_started_in_a_stopped_sandbox(told: Told) -> None:
    told.container()
    told.becomes("sandbox-1", NOTREADY)
    told.play(Step("StopPodSandbox", on="sandbox-1"))

    assert told.play(Step("StartContainer", on="container-1"), ERROR) == []
    assert aspects(told.play(Step("StartContainer", on="container-1"))) == ["SBX-30"]


def test_a_neighbour_s_end_is_no_business_of_a_stop(told: Told) -> None:
    told.running()
    told.running("container-2", name="other")
    told.becomes("container-1", EXITED, finished_at=9, exit_code=TERMINATED)
    told.becomes("container-2", EXITED, finished_at=9, exit_code=TERMINATED)

    breaches = told.play(Step("StopContainer", on="container-1"))

    assert [(breach.aspect, breach.expected) for breach in breaches] == [("CTR-34", "container-2 is RUNNING")]


def test_a_command_tells_its_own_code_and_output(told: Told) -> None:
    told.running()
    command = Step("ExecSync", on="container-1")

    assert told.play(command, CallResult(exit_code=EXEC_CODE, output="in container-1\n")) == []
    assert aspects(told.play(command, CallResult(exit_code=0, output="in container-2\n"))) == [
        "EXS-02",
        "EXS-01/small",
    ]
    assert aspects(told.play(Step("ExecSync", on=NOTHING), ERROR)) == ["EXS-16/code"]


def test_a_container_that_a_failed_call_left_is_seen(told: Told) -> None:
    told.container()
    stranger = told.containers.pop("container-1")
    told.world.containers.clear()
    told.containers["left"] = stranger

    assert aspects(told.play(Step("CreateContainer", makes="container-2", inside=NOTHING), ERROR)) == [
        "CTR-11"
    ]


def test_a_container_of_another_sandbox_is_no_answer(told: Told) -> None:
    told.container()
    told.sandbox("sandbox-2", name="other pod")
    step = Step("CreateContainer", makes="container-3", inside="sandbox-2", name="app")

    (breach,) = told.play(step, CallResult(id="id of container-1"))

    assert (breach.aspect, breach.seen) == ("CTR-09", "that of container-1 in sandbox-1")


def test_what_a_process_wrote_last_is_in_its_log(told: Told) -> None:
    told.running()
    told.becomes("container-1", EXITED, finished_at=9, exit_code=TOLD)
    told.logs["id of container-1"] = ("ready", LAST_WORDS[TOLD])

    assert told.play(Step(PROCESS_ENDS, on="container-1")) == []
    assert told.world.containers["container-1"].log_read


def test_the_end_of_a_log_that_is_missing_is_seen(told: Told) -> None:
    told.running()
    told.becomes("container-1", EXITED, finished_at=9, exit_code=TOLD)
    told.logs["id of container-1"] = ("ready",)

    assert aspects(told.play(Step(PROCESS_ENDS, on="container-1"))) == ["LOG-15"]


def test_what_was_killed_has_no_last_words(told: Told) -> None:
    told.running()
    told.becomes("container-1", EXITED, finished_at=9, exit_code=137)
    told.logs["id of container-1"] = ("ready",)

    assert told.play(Step("StopContainer", on="container-1")) == []


def test_a_log_is_reopened_where_a_container_runs_and_nowhere_that_nobody_knows(told: Told) -> None:
    told.running()

    assert aspects(told.play(Step("ReopenContainerLog", on="container-1"), ERROR)) == ["LOG-21"]
    assert aspects(told.play(Step("ReopenContainerLog", on=NOTHING))) == ["LOG-25/error"]
