"""A restart of the daemon, as the model of the API has it."""

from dataclasses import replace

import pytest

from critests.model import Step
from critests.model.observations import CallResult
from critests.model.steps import DAEMON_RESTARTS
from critests.model.world import UNKNOWN
from tests.model.telling import CREATED, EXITED, NOTREADY, Told, aspects

RESTART = Step(DAEMON_RESTARTS)


def test_everything_is_as_it_was(told: Told) -> None:
    told.running()
    told.container("container-2", name="other")

    assert told.play(RESTART) == []


def test_what_ran_runs_on(told: Told) -> None:
    told.running()
    told.becomes("container-1", EXITED, finished_at=9, exit_code=137)

    assert aspects(told.play(RESTART)) == ["RST-01"]


@pytest.mark.parametrize("state", [CREATED, EXITED, UNKNOWN])
def test_what_was_never_started_may_be_lost_and_can_be_removed(told: Told, state: str) -> None:
    told.container()
    told.becomes("container-1", state, finished_at=9 if state == EXITED else 0)

    assert told.play(RESTART) == []
    told.containers.clear()
    assert told.play(Step("RemoveContainer", on="container-1")) == []


def test_a_sandbox_that_was_ready_is_ready(told: Told) -> None:
    told.becomes("sandbox-1", NOTREADY)

    assert aspects(told.play(RESTART)) == ["RST-02"]


def test_a_ready_sandbox_keeps_its_addresses(told: Told) -> None:
    ready = told.sandboxes["sandbox-1"]
    told.sandboxes["sandbox-1"] = replace(ready, addresses=("10.0.0.2",))
    assert told.play(Step("PodSandboxStatus", on="sandbox-1"), CallResult(id=ready.id)) == []
    told.sandboxes["sandbox-1"] = ready

    assert aspects(told.play(RESTART)) == ["RST-02"]
    assert told.play(RESTART) == []


def test_after_a_stop_that_came_half_way_its_addresses_may_be_gone(told: Told) -> None:
    ready = told.sandboxes["sandbox-1"]
    told.sandboxes["sandbox-1"] = replace(ready, addresses=("10.0.0.2",))
    stop = Step("StopPodSandbox", on="sandbox-1", failing="kill")
    assert told.play(stop, CallResult("UNKNOWN")) == []
    told.sandboxes["sandbox-1"] = ready

    assert told.play(RESTART) == []


@pytest.mark.parametrize("name", ["mounts", "image_ref"])
def test_a_container_keeps_what_its_status_tells(told: Told, name: str) -> None:
    told.running()
    running = told.containers["container-1"]
    told.containers["container-1"] = replace(running, kept={name: "value"})
    assert told.play(Step("ContainerStatus", on="container-1"), CallResult(id=running.id)) == []
    told.containers["container-1"] = running

    assert aspects(told.play(RESTART)) == ["RST-22/containers"]
    assert told.play(RESTART) == []


def test_a_daemon_that_does_not_come_back_is_told(told: Told) -> None:
    assert aspects(told.play(RESTART, CallResult("NOT_BACK"))) == ["RST-02"]


def test_a_restart_may_bring_to_its_end_what_a_removal_has_begun(told: Told) -> None:
    told.becomes("sandbox-1", NOTREADY)
    assert told.play(Step("RemovePodSandbox", on="sandbox-1", failing="DEL"), CallResult("UNKNOWN")) == []
    told.sandboxes.clear()

    assert told.play(RESTART) == []
