"""How the model judges calls whose OCI runtime fails: they may fail in any way, but lists and statuses must
be right afterwards.
"""

from dataclasses import replace

from critests.model import Step, judge
from critests.model.observations import NOT_SIGNALLED, CallResult, ObservedSandbox
from critests.model.steps import EXIT_ASKED, PROCESS_ENDS, colour_of
from tests.model.fake_runtime import CREATED, ERROR, EXITED, NOTREADY, READY, RUNNING, FakeRuntime, aspects


def test_a_start_that_fails_leaves_a_container_that_can_be_removed(fake: FakeRuntime) -> None:
    fake.add_container()

    assert fake.run(Step("StartContainer", on="container-1", failing="create"), ERROR) == []
    fake.containers.clear()
    assert fake.run(Step("RemoveContainer", on="container-1")) == []


def test_a_start_that_fails_may_leave_nothing(fake: FakeRuntime) -> None:
    fake.add_container()
    del fake.containers["container-1"]

    assert fake.run(Step("StartContainer", on="container-1", failing="start"), ERROR) == []
    status = Step("ContainerStatus", on="container-1")
    assert fake.run(status, CallResult("NOT_FOUND")) == []


def test_a_start_that_fails_in_a_stopped_sandbox_may_leave_nothing(fake: FakeRuntime) -> None:
    fake.add_container()
    fake.set_state("sandbox-1", NOTREADY)
    assert fake.run(Step("StopPodSandbox", on="sandbox-1", failing="kill"), ERROR) == []
    del fake.containers["container-1"]

    assert fake.run(Step("StartContainer", on="container-1"), ERROR) == []


def test_a_start_that_fails_after_a_failed_stop_may_leave_nothing(fake: FakeRuntime) -> None:
    fake.add_container()
    assert fake.run(Step("StopContainer", on="container-1", failing="kill"), ERROR) == []
    assert fake.run(Step("StartContainer", on="container-1"), ERROR) == []
    del fake.containers["container-1"]
    fake.set_state("sandbox-1", NOTREADY)

    assert fake.run(Step("StopPodSandbox", on="sandbox-1")) == []


def test_a_repeated_creation_may_return_the_abandoned_sandbox(fake: FakeRuntime) -> None:
    hanging = Step("RunPodSandbox", makes="sandbox-2", name="twin", hanging="ADD")
    assert fake.run(hanging, CallResult("DEADLINE_EXCEEDED")) == []
    fake.list_sandbox("sandbox-2", "twin")

    again = Step("RunPodSandbox", makes="sandbox-3", name="twin")
    assert fake.run(again, CallResult(id="id of sandbox-2")) == []
    listed = Step("ListPodSandbox", colour=colour_of("sandbox-2"))
    assert fake.run(listed, CallResult(ids=("id of sandbox-2",))) == []


def test_an_object_that_broke_a_promise_is_not_judged_any_more(fake: FakeRuntime) -> None:
    fake.add_running()
    del fake.containers["container-1"]
    assert fake.run(Step("ListContainerStats")) != []

    assert fake.run(Step("ExecSync", on="container-1"), ERROR) == []
    again = Step("CreateContainer", makes="container-2", inside="sandbox-1", name="app", process="waits")
    assert fake.run(again, CallResult(id="id of container-2")) == []


def test_a_stop_that_succeeds_must_have_stopped_the_container(fake: FakeRuntime) -> None:
    fake.add_running()

    assert aspects(fake.run(Step("StopContainer", on="container-1", failing="kill"))) == ["CTA-27"]


def test_a_failed_stop_can_be_repeated(fake: FakeRuntime) -> None:
    fake.add_running()

    assert fake.run(Step("StopContainer", on="container-1", failing="kill"), ERROR) == []
    assert aspects(fake.run(Step("StopContainer", on="container-1"), ERROR)) == ["STP-04"]


def test_a_failed_removal_can_be_repeated(fake: FakeRuntime) -> None:
    fake.add_sandbox()
    removal = Step("RemovePodSandbox", on="sandbox-1")
    assert fake.run(Step("RemovePodSandbox", on="sandbox-1", failing="DEL"), ERROR) == []
    fake.set_state("sandbox-1", NOTREADY)
    assert fake.run(Step("StopPodSandbox", on="sandbox-1")) == []

    assert aspects(fake.run(removal, ERROR)) == ["SBX-39"]
    fake.sandboxes.clear()
    assert fake.run(removal) == []


def test_a_sandbox_whose_removal_failed_may_be_only_a_list_entry(fake: FakeRuntime) -> None:
    fake.add_sandbox()
    assert fake.run(Step("RemovePodSandbox", on="sandbox-1", failing="delete"), ERROR) == []
    fake.add_container()

    assert fake.run(Step("StartContainer", on="container-1"), ERROR) == []


def test_a_creation_that_fails_leaves_no_container(fake: FakeRuntime) -> None:
    step = Step("CreateContainer", makes="container-1", inside="sandbox-1", name="app", failing="create")
    fake.add_container("container-2", name="left")
    left = fake.world.containers.pop("container-2")

    assert aspects(fake.run(step, ERROR)) == ["CTR-11"]
    assert left.id in fake.world.unpredictable


def test_the_metadata_of_a_failed_creation_are_free(fake: FakeRuntime) -> None:
    fails = Step("RunPodSandbox", makes="sandbox-2", name="other", failing="create")
    again = Step("RunPodSandbox", makes="sandbox-3", name="other")
    assert fake.run(fails, ERROR) == []

    assert aspects(fake.run(again, ERROR)) == ["SBX-09"]


def test_the_metadata_may_be_taken_by_what_a_failed_creation_left(fake: FakeRuntime) -> None:
    fails = Step("RunPodSandbox", makes="sandbox-2", name="other", failing="create")
    again = Step("RunPodSandbox", makes="sandbox-3", name="other")
    fake.sandboxes["left"] = ObservedSandbox("left", NOTREADY, "other")
    assert fake.run(fails, ERROR) == []

    assert fake.run(again, ERROR) == []


def test_a_failed_second_start_leaves_the_container_running(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.run(Step("StartContainer", on="container-1", failing="start"), ERROR)

    assert fake.world.containers["container-1"].may_be == {RUNNING}


def test_a_container_may_exit_by_itself_after_a_failed_stop(fake: FakeRuntime) -> None:
    fake.add_running()
    assert fake.run(Step("StopPodSandbox", on="sandbox-1", failing="kill"), ERROR) == []
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=EXIT_ASKED)

    assert fake.run(Step(PROCESS_ENDS, on="container-1")) == []


def test_a_container_that_rejects_commands_after_a_failed_stop_need_not_exit(fake: FakeRuntime) -> None:
    fake.add_running()
    assert fake.run(Step("StopContainer", on="container-1", failing="kill"), ERROR) == []

    assert fake.run(Step(PROCESS_ENDS, on="container-1"), CallResult(NOT_SIGNALLED)) == []
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=137)
    assert fake.run(Step("StopContainer", on="container-1")) == []


def test_an_abandoned_creation_may_complete(fake: FakeRuntime) -> None:
    fails = Step("RunPodSandbox", makes="sandbox-2", name="other", hanging="ADD")
    assert fake.run(fails, CallResult("DEADLINE_EXCEEDED")) == []
    fake.list_sandbox("sandbox-2", "other")
    assert fake.run(Step("ListContainerStats")) == []

    again = Step("RunPodSandbox", makes="sandbox-2", name="other")
    assert fake.run(again, ERROR) == []
    assert fake.run(again, CallResult(id="id of sandbox-2")) == []
    assert fake.world.sandboxes["sandbox-2"].may_be == {READY}


def test_an_abandoned_creation_of_a_container_may_complete(fake: FakeRuntime) -> None:
    step = Step("CreateContainer", makes="container-1", inside="sandbox-1", name="app", hanging="create")
    fake.add_container("container-2", name="app")
    del fake.world.containers["container-2"]

    assert fake.run(step, CallResult("DEADLINE_EXCEEDED")) == []


def test_a_start_that_hangs_may_happen_later(fake: FakeRuntime) -> None:
    fake.add_container()
    assert fake.run(Step("StartContainer", on="container-1", hanging="start"), ERROR) == []
    fake.set_state("container-1", RUNNING, started_at=7)

    assert fake.run(Step("ListContainerStats")) == []


def test_a_state_may_change_between_the_list_and_the_status(fake: FakeRuntime) -> None:
    fake.add_container()
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=137)
    snapshot = fake.snapshot()
    earlier = replace(snapshot, containers=(replace(snapshot.containers[0], state=CREATED),))
    start = Step("StartContainer", on="container-1", hanging="start")

    assert judge(fake.world, start, CallResult("DEADLINE_EXCEEDED"), earlier) == []
    status, result = Step("ContainerStatus", on="container-1"), CallResult(id="id of container-1")
    assert aspects(judge(fake.world, status, result, earlier)) == ["CTA-26"]
