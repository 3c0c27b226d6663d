"""What the model of the API expects of Exec and Attach, and of the sessions at their URLs."""

from dataclasses import replace

import pytest

from critests.model import Step
from critests.model.observations import NOT_TOLD, CallResult
from critests.model.steps import EXEC_CODE, INPUT, NOTHING, TERMINAL, ContainerProcess
from tests.model.telling import ERROR, EXITED, RUNNING, Told, aspects

EXEC, ATTACH = Step("Exec", on="container-1"), Step("Attach", on="container-1")
PRINTED = "in container-1\n"


def test_a_session_in_what_runs_has_its_output_and_its_exit_code(told: Told) -> None:
    told.running()

    assert told.play(EXEC, CallResult(exit_code=EXEC_CODE, output=PRINTED)) == []
    assert aspects(told.play(EXEC, CallResult(exit_code=0, output=PRINTED))) == ["EXE-04"]
    assert aspects(told.play(EXEC, CallResult(exit_code=EXEC_CODE, output="in container-2\n"))) == ["EXE-01"]
    assert aspects(told.play(EXEC, ERROR)) == ["EXE-14"]


@pytest.mark.parametrize(("by", "aspect"), [(INPUT, "EXE-03"), (TERMINAL, "EXE-02")])
def test_one_with_input_or_a_terminal_has_them_too(told: Told, by: str, aspect: str) -> None:
    told.running()
    session = replace(EXEC, by=by)

    assert told.play(session, CallResult(exit_code=EXEC_CODE, output=PRINTED)) == []
    assert aspects(told.play(session, CallResult("SESSION_FAILED"))) == [aspect]
    assert aspects(told.play(session, CallResult(exit_code=EXEC_CODE, output="in container-2\n"))) == [aspect]
    assert aspects(told.play(session, CallResult(exit_code=0, output=PRINTED))) == ["EXE-04"]


def test_there_is_no_session_in_what_has_ended(told: Told) -> None:
    told.running()
    told.becomes("container-1", EXITED, finished_at=9, exit_code=5)
    assert told.play(Step("StopContainer", on="container-1", timeout=2)) == []

    assert told.play(EXEC, ERROR) == []
    assert aspects(told.play(EXEC)) == ["EXE-15/exited"]
    assert told.play(ATTACH, ERROR) == told.play(ATTACH) == []


@pytest.mark.parametrize("rpc", ["Exec", "Attach"])
def test_nor_in_what_nobody_has(told: Told, rpc: str) -> None:
    assert told.play(Step(rpc, on=NOTHING), ERROR) == []
    assert aspects(told.play(Step(rpc, on=NOTHING))) == ["STR-06/error"]


def test_what_is_written_while_a_client_is_attached_comes(told: Told) -> None:
    told.running()

    assert told.play(ATTACH) == []
    assert aspects(told.play(ATTACH, CallResult("SESSION_FAILED"))) == ["ATT-01"]
    told.world.containers["container-1"].process = ContainerProcess.LISTENS
    (breach,) = told.play(ATTACH, CallResult("SESSION_FAILED"))
    assert breach.what.endswith("that has no input for it")
    assert aspects(told.play(replace(ATTACH, by=INPUT), CallResult("SESSION_FAILED"))) == ["ATT-02"]
    # nothing was written
    assert told.play(ATTACH, CallResult(NOT_TOLD)) == []


def test_a_client_that_leaves_ends_nothing(told: Told) -> None:
    told.running()
    told.becomes("container-1", EXITED, finished_at=9, exit_code=137)

    assert aspects(told.play(ATTACH)) == ["ATT-06"]


def test_before_the_start_either_way_will_do(told: Told) -> None:
    told.container()

    assert told.play(ATTACH) == told.play(ATTACH, ERROR) == told.play(EXEC) == told.play(EXEC, ERROR) == []
    assert told.world.containers["container-1"].may_be != {RUNNING}
