"""Calls whose OCI runtime fails, as the model of the API has them: how they fail is open, what is true then
is not.
"""

from dataclasses import replace

from critests.model import Step, judge
from critests.model.observations import NOT_TOLD, CallResult, SandboxSeen
from critests.model.steps import PROCESS_ENDS, TOLD, colour_of
from tests.model.telling import CREATED, ERROR, EXITED, NOTREADY, READY, RUNNING, Told, aspects


def test_a_start_that_fails_leaves_a_container_that_can_be_removed(told: Told) -> None:
    told.container()

    assert told.play(Step("StartContainer", on="container-1", failing="create"), ERROR) == []
    told.containers.clear()
    assert told.play(Step("RemoveContainer", on="container-1")) == []


def test_a_start_that_fails_may_leave_nothing(told: Told) -> None:
    told.container()
    del told.containers["container-1"]

    assert told.play(Step("StartContainer", on="container-1", failing="start"), ERROR) == []
    status = Step("ContainerStatus", on="container-1")
    assert told.play(status, CallResult("NOT_FOUND")) == []


def test_a_start_that_fails_in_a_stopped_sandbox_may_leave_nothing(told: Told) -> None:
    told.container()
    told.becomes("sandbox-1", NOTREADY)
    assert told.play(Step("StopPodSandbox", on="sandbox-1", failing="kill"), ERROR) == []
    del told.containers["container-1"]

    assert told.play(Step("StartContainer", on="container-1"), ERROR) == []


def test_a_start_that_fails_behind_a_stop_that_failed_may_leave_nothing(told: Told) -> None:
    told.container()
    assert told.play(Step("StopContainer", on="container-1", failing="kill"), ERROR) == []
    assert told.play(Step("StartContainer", on="container-1"), ERROR) == []
    del told.containers["container-1"]
    told.becomes("sandbox-1", NOTREADY)

    assert told.play(Step("StopPodSandbox", on="sandbox-1")) == []


def test_what_is_asked_for_again_may_be_what_was_given_up(told: Told) -> None:
    hanging = Step("RunPodSandbox", makes="sandbox-2", name="twin", hanging="ADD")
    assert told.play(hanging, CallResult("DEADLINE_EXCEEDED")) == []
    told.is_there("sandbox-2", "twin")

    again = Step("RunPodSandbox", makes="sandbox-3", name="twin")
    assert told.play(again, CallResult(id="id of sandbox-2")) == []
    listed = Step("ListPodSandbox", colour=colour_of("sandbox-2"))
    assert told.play(listed, CallResult(ids=("id of sandbox-2",))) == []


def test_of_what_broke_a_promise_nothing_more_is_said(told: Told) -> None:
    told.running()
    del told.containers["container-1"]
    assert told.play(Step("ListContainerStats")) != []

    assert told.play(Step("ExecSync", on="container-1"), ERROR) == []
    made_anew = Step("CreateContainer", makes="container-2", inside="sandbox-1", name="app", process="waits")
    assert told.play(made_anew, CallResult(id="id of container-2")) == []


def test_a_stop_that_succeeds_has_stopped_whatever_failed(told: Told) -> None:
    told.running()

    assert aspects(told.play(Step("StopContainer", on="container-1", failing="kill"))) == ["CTA-27"]


def test_a_stop_that_fails_can_be_asked_for_again(told: Told) -> None:
    told.running()

    assert told.play(Step("StopContainer", on="container-1", failing="kill"), ERROR) == []
    assert aspects(told.play(Step("StopContainer", on="container-1"), ERROR)) == ["STP-04"]


def test_a_removal_that_failed_can_be_asked_for_again(told: Told) -> None:
    told.sandbox()
    removal = Step("RemovePodSandbox", on="sandbox-1")
    assert told.play(Step("RemovePodSandbox", on="sandbox-1", failing="DEL"), ERROR) == []
    told.becomes("sandbox-1", NOTREADY)
    assert told.play(Step("StopPodSandbox", on="sandbox-1")) == []

    assert aspects(told.play(removal, ERROR)) == ["SBX-39"]
    told.sandboxes.clear()
    assert told.play(removal) == []


def test_of_a_sandbox_whose_removal_failed_there_may_be_the_entry_alone(told: Told) -> None:
    told.sandbox()
    assert told.play(Step("RemovePodSandbox", on="sandbox-1", failing="delete"), ERROR) == []
    told.container()

    assert told.play(Step("StartContainer", on="container-1"), ERROR) == []


def test_a_creation_that_fails_leaves_no_container(told: Told) -> None:
    step = Step("CreateContainer", makes="container-1", inside="sandbox-1", name="app", failing="create")
    told.container("container-2", name="left")
    left = told.world.containers.pop("container-2")

    assert aspects(told.play(step, ERROR)) == ["CTR-11"]
    assert left.id in told.world.lost


def test_the_metadata_of_what_failed_are_free(told: Told) -> None:
    fails = Step("RunPodSandbox", makes="sandbox-2", name="other", failing="create")
    again = Step("RunPodSandbox", makes="sandbox-3", name="other")
    assert told.play(fails, ERROR) == []

    assert aspects(told.play(again, ERROR)) == ["SBX-09"]


def test_they_may_be_taken_by_what_it_left_behind(told: Told) -> None:
    fails = Step("RunPodSandbox", makes="sandbox-2", name="other", failing="create")
    again = Step("RunPodSandbox", makes="sandbox-3", name="other")
    told.sandboxes["left"] = SandboxSeen("left", NOTREADY, "other")
    assert told.play(fails, ERROR) == []

    assert told.play(again, ERROR) == []


def test_what_runs_is_left_alone(told: Told) -> None:
    told.running()
    told.play(Step("StartContainer", on="container-1", failing="start"), ERROR)

    assert told.world.containers["container-1"].may_be == {RUNNING}


def test_what_a_stop_that_failed_has_left_running_may_end_by_itself(told: Told) -> None:
    told.running()
    assert told.play(Step("StopPodSandbox", on="sandbox-1", failing="kill"), ERROR) == []
    told.becomes("container-1", EXITED, finished_at=9, exit_code=TOLD)

    assert told.play(Step(PROCESS_ENDS, on="container-1")) == []


def test_what_takes_no_commands_after_a_stop_that_failed_need_not_end(told: Told) -> None:
    told.running()
    assert told.play(Step("StopContainer", on="container-1", failing="kill"), ERROR) == []

    assert told.play(Step(PROCESS_ENDS, on="container-1"), CallResult(NOT_TOLD)) == []
    told.becomes("container-1", EXITED, finished_at=9, exit_code=137)
    assert told.play(Step("StopContainer", on="container-1")) == []


def test_what_a_client_has_given_up_may_come_about(told: Told) -> None:
    fails = Step("RunPodSandbox", makes="sandbox-2", name="other", hanging="ADD")
    assert told.play(fails, CallResult("DEADLINE_EXCEEDED")) == []
    told.is_there("sandbox-2", "other")
    assert told.play(Step("ListContainerStats")) == []

    again = Step("RunPodSandbox", makes="sandbox-2", name="other")
    assert told.play(again, ERROR) == []
    assert told.play(again, CallResult(id="id of sandbox-2")) == []
    assert told.world.sandboxes["sandbox-2"].may_be == {READY}


def test_so_may_a_container(told: Told) -> None:
    step = Step("CreateContainer", makes="container-1", inside="sandbox-1", name="app", hanging="create")
    told.container("container-2", name="app")
    del told.world.containers["container-2"]

    assert told.play(step, CallResult("DEADLINE_EXCEEDED")) == []


def test_a_start_that_hangs_may_happen_later(told: Told) -> None:
    told.container()
    assert told.play(Step("StartContainer", on="container-1", hanging="start"), ERROR) == []
    told.becomes("container-1", RUNNING, started_at=7)

    assert told.play(Step("ListContainerStats")) == []


def test_what_goes_on_between_the_list_and_the_status_does_so(told: Told) -> None:
    told.container()
    told.becomes("container-1", EXITED, finished_at=9, exit_code=137)
    look = told.look()
    earlier = replace(look, containers=(replace(look.containers[0], state=CREATED),))
    start = Step("StartContainer", on="container-1", hanging="start")

    assert judge(told.world, start, CallResult("DEADLINE_EXCEEDED"), earlier) == []
    status, answer = Step("ContainerStatus", on="container-1"), CallResult(id="id of container-1")
    assert aspects(judge(told.world, status, answer, earlier)) == ["CTA-26"]
