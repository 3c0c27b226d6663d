"""How the model judges Exec and Attach, and the sessions at their URLs."""

from dataclasses import replace

import pytest

from critests.model import Step
from critests.model.observations import NOT_SIGNALLED, CallResult
from critests.model.steps import EXEC_CODE, INPUT, NOTHING, TERMINAL, ContainerProcess
from tests.model.fake_runtime import ERROR, EXITED, RUNNING, FakeRuntime, aspects

EXEC, ATTACH = Step("Exec", on="container-1"), Step("Attach", on="container-1")
PRINTED = "in container-1\n"


def test_a_session_in_a_running_container_has_its_output_and_its_exit_code(fake: FakeRuntime) -> None:
    fake.add_running()

    assert fake.run(EXEC, CallResult(exit_code=EXEC_CODE, output=PRINTED)) == []
    assert aspects(fake.run(EXEC, CallResult(exit_code=0, output=PRINTED))) == ["EXE-04"]
    assert aspects(fake.run(EXEC, CallResult(exit_code=EXEC_CODE, output="in container-2\n"))) == ["EXE-01"]
    assert aspects(fake.run(EXEC, ERROR)) == ["EXE-14"]


@pytest.mark.parametrize(("by", "aspect"), [(INPUT, "EXE-03"), (TERMINAL, "EXE-02")])
def test_a_session_with_input_or_a_terminal_has_them_too(fake: FakeRuntime, by: str, aspect: str) -> None:
    fake.add_running()
    session = replace(EXEC, by=by)

    assert fake.run(session, CallResult(exit_code=EXEC_CODE, output=PRINTED)) == []
    assert aspects(fake.run(session, CallResult("SESSION_FAILED"))) == [aspect]
    assert aspects(fake.run(session, CallResult(exit_code=EXEC_CODE, output="in container-2\n"))) == [aspect]
    assert aspects(fake.run(session, CallResult(exit_code=0, output=PRINTED))) == ["EXE-04"]


def test_session_in_an_exited_container_must_fail(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=5)
    assert fake.run(Step("StopContainer", on="container-1", timeout=2)) == []

    assert fake.run(EXEC, ERROR) == []
    assert aspects(fake.run(EXEC)) == ["EXE-15/exited"]
    assert fake.run(ATTACH, ERROR) == fake.run(ATTACH) == []


@pytest.mark.parametrize("rpc", ["Exec", "Attach"])
def test_session_in_an_unknown_container_must_fail(fake: FakeRuntime, rpc: str) -> None:
    assert fake.run(Step(rpc, on=NOTHING), ERROR) == []
    assert aspects(fake.run(Step(rpc, on=NOTHING))) == ["STR-06/error"]


def test_an_attached_client_receives_the_output(fake: FakeRuntime) -> None:
    fake.add_running()

    assert fake.run(ATTACH) == []
    assert aspects(fake.run(ATTACH, CallResult("SESSION_FAILED"))) == ["ATT-01"]
    fake.world.containers["container-1"].process = ContainerProcess.LISTENS
    (breach,) = fake.run(ATTACH, CallResult("SESSION_FAILED"))
    assert breach.what.endswith("that has no input for it")
    assert aspects(fake.run(replace(ATTACH, by=INPUT), CallResult("SESSION_FAILED"))) == ["ATT-02"]
    # nothing was written
    assert fake.run(ATTACH, CallResult(NOT_SIGNALLED)) == []


def test_the_end_of_a_session_does_not_stop_the_container(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=137)

    assert aspects(fake.run(ATTACH)) == ["ATT-06"]


def test_before_the_start_a_session_may_succeed_or_fail(fake: FakeRuntime) -> None:
    fake.add_container()

    assert fake.run(ATTACH) == fake.run(ATTACH, ERROR) == fake.run(EXEC) == fake.run(EXEC, ERROR) == []
    assert fake.world.containers["container-1"].may_be != {RUNNING}
