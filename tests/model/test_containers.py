"""How the model judges containers."""

from dataclasses import replace

from critests.model import Step
from critests.model.observations import CallResult
from critests.model.steps import (
    DAEMON_RESTARTS,
    EXEC_CODE,
    EXIT_ASKED,
    LAST_LINES,
    NOTHING,
    PROCESS_ENDS,
    TERMINATED,
    ContainerProcess,
)
from tests.model.fake_runtime import CREATED, ERROR, EXITED, NOTREADY, RUNNING, FakeRuntime, aspects


def test_after_a_stop_the_exit_code_is_the_process_s_own_or_the_signal_s(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=TERMINATED)

    assert fake.run(Step("StopContainer", on="container-1", timeout=2)) == []


def test_another_exit_code_is_a_breach(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=0)

    assert aspects(fake.run(Step("StopContainer", on="container-1"))) == ["CTR-21"]


def test_a_stop_without_an_effect_is_a_breach(fake: FakeRuntime) -> None:
    fake.add_running()

    assert aspects(fake.run(Step("StopContainer", on="container-1"))) == ["CTA-27"]


def test_a_stop_before_the_start_may_change_the_state_but_not_back(fake: FakeRuntime) -> None:
    fake.add_container()
    stop = Step("StopContainer", on="container-1")

    assert fake.run(stop) == []
    fake.set_state("container-1", EXITED, finished_at=9)
    assert fake.run(stop) == []
    fake.set_state("container-1", CREATED, finished_at=0)
    assert aspects(fake.run(stop)) == ["CTA-26"]


def test_an_exit_does_not_change_later(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=TERMINATED)
    stop = Step("StopContainer", on="container-1")
    fake.run(stop)
    fake.set_state("container-1", EXITED, finished_at=10)

    assert aspects(fake.run(stop)) == ["STP-07"]


def test_a_process_that_exits_by_itself_may_be_reported_running_a_moment_longer(fake: FakeRuntime) -> None:
    fake.add_container(process=ContainerProcess.FAILS)
    fake.set_state("container-1", RUNNING, started_at=7)
    assert fake.run(Step("StartContainer", on="container-1")) == []
    fake.set_state("container-1", EXITED, finished_at=8, exit_code=3)

    assert fake.run(Step("ListImages")) == []
    assert aspects(fake.run(Step("ExecSync", on="container-1"), CallResult(exit_code=EXEC_CODE))) == [
        "EXS-15/exited"
    ]


def test_another_creation_time_is_reported_once(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.containers["container-1"] = replace(fake.containers["container-1"], created_at=8)

    assert aspects(fake.run(Step(DAEMON_RESTARTS))) == ["CTA-04"]
    assert fake.run(Step(DAEMON_RESTARTS)) == []


def test_a_missing_exit_is_a_breach(fake: FakeRuntime) -> None:
    fake.add_running()

    assert aspects(fake.run(Step(PROCESS_ENDS, on="container-1"), CallResult("NOT_ENDED"))) == ["CTR-21"]


def test_a_process_that_exits_by_itself_has_its_own_exit_code(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=EXIT_ASKED)

    assert fake.run(Step(PROCESS_ENDS, on="container-1")) == []


def test_a_second_start_should_fail_and_changes_nothing(fake: FakeRuntime) -> None:
    fake.add_running()
    (breach,) = fake.run(Step("StartContainer", on="container-1"))

    assert (breach.aspect, breach.level) == ("CTR-19/error", "SHOULD")


def test_start_in_a_stopped_sandbox_must_fail(fake: FakeRuntime) -> None:
    fake.add_container()
    fake.set_state("sandbox-1", NOTREADY)
    fake.run(Step("StopPodSandbox", on="sandbox-1"))

    assert fake.run(Step("StartContainer", on="container-1"), ERROR) == []
    assert aspects(fake.run(Step("StartContainer", on="container-1"))) == ["SBX-30"]


def test_a_stop_must_not_stop_another_container(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.add_running("container-2", name="other")
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=TERMINATED)
    fake.set_state("container-2", EXITED, finished_at=9, exit_code=TERMINATED)

    breaches = fake.run(Step("StopContainer", on="container-1"))

    assert [(breach.aspect, breach.expected) for breach in breaches] == [("CTR-34", "container-2 is RUNNING")]


def test_a_command_has_its_own_exit_code_and_output(fake: FakeRuntime) -> None:
    fake.add_running()
    command = Step("ExecSync", on="container-1")

    assert fake.run(command, CallResult(exit_code=EXEC_CODE, output="in container-1\n")) == []
    assert aspects(fake.run(command, CallResult(exit_code=0, output="in container-2\n"))) == [
        "EXS-02",
        "EXS-01/small",
    ]
    assert aspects(fake.run(Step("ExecSync", on=NOTHING), ERROR)) == ["EXS-16/code"]


def test_a_container_that_a_failed_call_left_is_a_breach(fake: FakeRuntime) -> None:
    fake.add_container()
    leftover = fake.containers.pop("container-1")
    fake.world.containers.clear()
    fake.containers["left"] = leftover

    assert aspects(fake.run(Step("CreateContainer", makes="container-2", inside=NOTHING), ERROR)) == [
        "CTR-11"
    ]


def test_a_creation_must_not_return_the_container_of_another_sandbox(fake: FakeRuntime) -> None:
    fake.add_container()
    fake.add_sandbox("sandbox-2", name="other pod")
    step = Step("CreateContainer", makes="container-3", inside="sandbox-2", name="app")

    (breach,) = fake.run(step, CallResult(id="id of container-1"))

    assert (breach.aspect, breach.observed) == ("CTR-09", "that of container-1 in sandbox-1")


def test_the_last_line_of_a_process_is_in_its_log(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=EXIT_ASKED)
    fake.logs["id of container-1"] = ("ready", LAST_LINES[EXIT_ASKED])

    assert fake.run(Step(PROCESS_ENDS, on="container-1")) == []
    assert fake.world.containers["container-1"].log_read


def test_a_missing_last_line_is_a_breach(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=EXIT_ASKED)
    fake.logs["id of container-1"] = ("ready",)

    assert aspects(fake.run(Step(PROCESS_ENDS, on="container-1"))) == ["LOG-15"]


def test_a_killed_process_has_no_last_line(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=137)
    fake.logs["id of container-1"] = ("ready",)

    assert fake.run(Step("StopContainer", on="container-1")) == []


def test_the_log_of_a_running_container_is_reopened_and_of_an_unknown_one_not(fake: FakeRuntime) -> None:
    fake.add_running()

    assert aspects(fake.run(Step("ReopenContainerLog", on="container-1"), ERROR)) == ["LOG-21"]
    assert aspects(fake.run(Step("ReopenContainerLog", on=NOTHING))) == ["LOG-25/error"]
