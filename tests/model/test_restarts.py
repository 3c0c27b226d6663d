"""How the model judges a restart of the daemon."""

from dataclasses import replace

import pytest

from critests.model import Step
from critests.model.observations import CallResult
from critests.model.steps import DAEMON_RESTARTS
from critests.model.world import UNKNOWN
from tests.model.fake_runtime import CREATED, EXITED, NOTREADY, FakeRuntime, aspects

RESTART = Step(DAEMON_RESTARTS)


def test_a_restart_may_change_nothing(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.add_container("container-2", name="other")

    assert fake.run(RESTART) == []


def test_a_container_that_exits_is_a_breach(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=137)

    assert aspects(fake.run(RESTART)) == ["RST-01"]


@pytest.mark.parametrize("state", [CREATED, EXITED, UNKNOWN])
def test_a_container_without_a_start_may_have_another_state_and_can_be_removed(
    fake: FakeRuntime, state: str
) -> None:
    fake.add_container()
    fake.set_state("container-1", state, finished_at=9 if state == EXITED else 0)

    assert fake.run(RESTART) == []
    fake.containers.clear()
    assert fake.run(Step("RemoveContainer", on="container-1")) == []


def test_a_sandbox_that_was_ready_is_ready(fake: FakeRuntime) -> None:
    fake.set_state("sandbox-1", NOTREADY)

    assert aspects(fake.run(RESTART)) == ["RST-02"]


def test_a_ready_sandbox_keeps_its_addresses(fake: FakeRuntime) -> None:
    ready = fake.sandboxes["sandbox-1"]
    fake.sandboxes["sandbox-1"] = replace(ready, addresses=("10.0.0.2",))
    assert fake.run(Step("PodSandboxStatus", on="sandbox-1"), CallResult(id=ready.id)) == []
    fake.sandboxes["sandbox-1"] = ready

    assert aspects(fake.run(RESTART)) == ["RST-02"]
    assert fake.run(RESTART) == []


def test_addresses_may_be_missing_after_a_stop_that_failed_half_way(fake: FakeRuntime) -> None:
    ready = fake.sandboxes["sandbox-1"]
    fake.sandboxes["sandbox-1"] = replace(ready, addresses=("10.0.0.2",))
    stop = Step("StopPodSandbox", on="sandbox-1", failing="kill")
    assert fake.run(stop, CallResult("UNKNOWN")) == []
    fake.sandboxes["sandbox-1"] = ready

    assert fake.run(RESTART) == []


@pytest.mark.parametrize("name", ["mounts", "image_ref"])
def test_a_container_keeps_the_fields_of_its_status(fake: FakeRuntime, name: str) -> None:
    fake.add_running()
    running = fake.containers["container-1"]
    fake.containers["container-1"] = replace(running, restart_safe={name: "value"})
    assert fake.run(Step("ContainerStatus", on="container-1"), CallResult(id=running.id)) == []
    fake.containers["container-1"] = running

    assert aspects(fake.run(RESTART)) == ["RST-22/containers"]
    assert fake.run(RESTART) == []


def test_a_daemon_that_does_not_come_back_is_a_breach(fake: FakeRuntime) -> None:
    assert aspects(fake.run(RESTART, CallResult("NOT_BACK"))) == ["RST-02"]


def test_a_restart_may_complete_a_failed_removal(fake: FakeRuntime) -> None:
    fake.set_state("sandbox-1", NOTREADY)
    assert fake.run(Step("RemovePodSandbox", on="sandbox-1", failing="DEL"), CallResult("UNKNOWN")) == []
    fake.sandboxes.clear()

    assert fake.run(RESTART) == []
