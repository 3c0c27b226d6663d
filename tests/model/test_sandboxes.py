"""How the model judges sandboxes."""

from dataclasses import replace

import pytest

from critests.model import Step
from critests.model.observations import CallResult
from critests.model.steps import DAEMON_RESTARTS, NOTHING
from tests.model.fake_runtime import ERROR, EXITED, NOTREADY, READY, RUNNING, FakeRuntime, aspects


def test_a_creation_with_used_metadata_may_fail_or_return_the_existing_sandbox(fake: FakeRuntime) -> None:
    again = Step("RunPodSandbox", makes="sandbox-2", name="pod")

    assert fake.run(again, ERROR) == []
    assert fake.run(again, CallResult(id="id of sandbox-1")) == []


def test_a_creation_with_used_metadata_must_not_create_a_second_sandbox(fake: FakeRuntime) -> None:
    breaches = fake.run(Step("RunPodSandbox", makes="sandbox-2", name="pod"), CallResult(id="another"))

    assert aspects(breaches)[0] == "SBX-05/never-two"


def test_metadata_is_free_after_the_removal(fake: FakeRuntime) -> None:
    fake.sandboxes.clear()
    fake.run(Step("RemovePodSandbox", on="sandbox-1"))

    breaches = fake.run(Step("RunPodSandbox", makes="sandbox-2", name="pod"), ERROR)

    assert aspects(breaches) == ["SBX-08"]


def test_a_stop_must_stop_the_containers(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.set_state("sandbox-1", NOTREADY)

    breaches = fake.run(Step("StopPodSandbox", on="sandbox-1"))

    assert aspects(breaches) == ["SBX-12"]
    assert breaches[0].observed == "RUNNING"


def test_a_stop_without_an_effect_is_a_breach(fake: FakeRuntime) -> None:
    assert aspects(fake.run(Step("StopPodSandbox", on="sandbox-1"))) == ["SBX-12"]


def test_a_failed_stop_may_still_be_in_progress(fake: FakeRuntime) -> None:
    assert aspects(fake.run(Step("StopPodSandbox", on="sandbox-1"), ERROR)) == ["SBX-12"]

    fake.set_state("sandbox-1", NOTREADY)
    assert fake.run(Step("ListImages")) == []
    fake.set_state("sandbox-1", READY)
    assert aspects(fake.run(Step("ListImages"))) == ["SBX-12"]


@pytest.mark.parametrize(
    ("rpc", "on", "aspect", "level"),
    [
        ("StopPodSandbox", NOTHING, "SBX-16", "SHOULD"),
        ("RemovePodSandbox", NOTHING, "SBX-24", "MUST"),
    ],
)
def test_an_unknown_sandbox_can_be_stopped_and_removed(
    fake: FakeRuntime, rpc: str, on: str, aspect: str, level: str
) -> None:
    assert fake.run(Step(rpc, on=on)) == []
    (breach,) = fake.run(Step(rpc, on=on), ERROR)
    assert (breach.aspect, breach.level) == (aspect, level)


def test_a_removed_sandbox_has_no_status(fake: FakeRuntime) -> None:
    fake.sandboxes.clear()
    fake.run(Step("RemovePodSandbox", on="sandbox-1"))
    status = Step("PodSandboxStatus", on="sandbox-1")

    assert fake.run(status, CallResult("NOT_FOUND")) == []
    assert aspects(fake.run(status, ERROR)) == ["SBX-26/code"]
    assert aspects(fake.run(status, CallResult(id="id of sandbox-1"))) == ["SBX-26/error"]


def test_a_filter_returns_exactly_the_matching_sandboxes(fake: FakeRuntime) -> None:
    ready = Step("ListPodSandbox", state=READY)

    assert fake.run(ready, CallResult(ids=("id of sandbox-1", "id of an unknown sandbox"))) == []
    assert aspects(fake.run(ready, CallResult())) == ["SBA-17"]
    assert aspects(
        fake.run(Step("ListPodSandbox", state=NOTREADY), CallResult(ids=("id of sandbox-1",)))
    ) == ["SBA-17"]
    assert aspects(fake.run(Step("ListPodSandbox", colour="blue"), CallResult(ids=("id of sandbox-1",)))) == [
        "SBA-19"
    ]


def test_a_sandbox_that_vanishes_is_reported_once(fake: FakeRuntime) -> None:
    fake.sandboxes.clear()

    assert aspects(fake.run(Step("ListImages"))) == ["SBA-15"]
    assert fake.run(Step("ListImages")) == []


def test_a_removal_must_remove_the_containers(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.sandboxes.clear()
    fake.set_state("container-1", EXITED, finished_at=9, exit_code=137)

    assert aspects(fake.run(Step("RemovePodSandbox", on="sandbox-1"))) == ["SBX-21"]


def test_a_lost_container_is_not_judged_any_more(fake: FakeRuntime) -> None:
    fake.add_running()
    fake.containers.clear()
    fake.run(Step("ListImages"))

    assert fake.run(Step("ListContainers", state=RUNNING), CallResult()) == []


def test_a_new_sandbox_has_the_current_time(fake: FakeRuntime) -> None:
    now = 1795348013_500000000
    fake.at = now
    fake.list_sandbox("sandbox-2", "other")
    created = fake.sandboxes["sandbox-2"]
    fake.sandboxes["sandbox-2"] = replace(created, created_at=now // 10**9)

    breaches = fake.run(Step("RunPodSandbox", makes="sandbox-2", name="other"), CallResult(id=created.id))

    assert aspects(breaches) == ["SBA-03"]
    assert fake.run(Step("RunPodSandbox", makes="sandbox-2", name="other"), CallResult(id=created.id)) == []


def test_a_sandbox_that_a_failed_creation_left_has_the_current_time(fake: FakeRuntime) -> None:
    fake.at = 1795348013_500000000
    fake.list_sandbox("left", "other")
    fake.sandboxes["left"] = replace(fake.sandboxes["left"], state=NOTREADY, created_at=-6795364578871345152)

    step = Step("RunPodSandbox", makes="sandbox-2", name="other", failing="add")
    assert aspects(fake.run(step, ERROR)) == ["SBA-03"]


ADDRESS = "10.0.0.2"
STOP, REMOVE = (Step(rpc, on="sandbox-1") for rpc in ("StopPodSandbox", "RemovePodSandbox"))


@pytest.fixture
def with_address(fake: FakeRuntime) -> FakeRuntime:
    """A sandbox with an address of the network."""
    fake.sandboxes["sandbox-1"] = replace(fake.sandboxes["sandbox-1"], addresses=(ADDRESS,))
    fake.leases = frozenset({ADDRESS})
    assert fake.run(Step("ListImages")) == []
    return fake


def test_a_stopped_sandbox_releases_its_address(with_address: FakeRuntime) -> None:
    with_address.set_state("sandbox-1", NOTREADY)
    with_address.leases = frozenset()

    assert with_address.run(STOP) == []


def test_an_address_that_a_stopped_sandbox_keeps_is_reported_once(with_address: FakeRuntime) -> None:
    with_address.set_state("sandbox-1", NOTREADY)

    assert aspects(with_address.run(STOP)) == ["SBX-13"]
    assert with_address.run(STOP) == []


def test_an_address_that_a_removed_sandbox_keeps_is_a_breach(with_address: FakeRuntime) -> None:
    with_address.sandboxes.clear()

    assert aspects(with_address.run(REMOVE)) == ["NET-40"]


def test_after_a_failed_stop_the_address_may_stay(with_address: FakeRuntime) -> None:
    failing = replace(STOP, failing="DEL")

    assert with_address.run(failing, ERROR) == []
    with_address.sandboxes["sandbox-1"] = replace(with_address.sandboxes["sandbox-1"], addresses=())
    assert with_address.run(Step(DAEMON_RESTARTS)) == []
    with_address.set_state("sandbox-1", NOTREADY)
    assert aspects(with_address.run(STOP)) == ["SBX-19"]


def test_open_pipes_of_a_removed_container_are_a_breach(fake: FakeRuntime) -> None:
    fake.pipes["id of sandbox-1"] = 3
    assert fake.run(Step("ListImages")) == []
    fake.add_container()
    assert fake.run(Step("StartContainer", on="container-1", failing="create"), ERROR) == []
    fake.pipes["id of sandbox-1"] = 5
    assert fake.run(Step("ListImages")) == []
    fake.containers.clear()

    assert aspects(fake.run(Step("RemoveContainer", on="container-1"))) == ["CTR-18"]
    assert fake.run(Step("ListImages")) == []
