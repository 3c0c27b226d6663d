"""Sandboxes as the model of the API has them."""

from dataclasses import replace

import pytest

from critests.model import Step
from critests.model.observations import CallResult
from critests.model.steps import DAEMON_RESTARTS, NOTHING
from tests.model.telling import ERROR, EXITED, NOTREADY, READY, RUNNING, Told, aspects


def test_metadata_that_is_taken_may_be_refused_or_lead_to_the_one_that_is_there(told: Told) -> None:
    again = Step("RunPodSandbox", makes="sandbox-2", name="pod")

    assert told.play(again, ERROR) == []
    assert told.play(again, CallResult(id="id of sandbox-1")) == []


def test_metadata_that_is_taken_never_makes_a_second_one(told: Told) -> None:
    breaches = told.play(Step("RunPodSandbox", makes="sandbox-2", name="pod"), CallResult(id="another"))

    assert aspects(breaches)[0] == "SBX-05/never-two"


def test_metadata_is_free_after_the_removal(told: Told) -> None:
    told.sandboxes.clear()
    told.play(Step("RemovePodSandbox", on="sandbox-1"))

    breaches = told.play(Step("RunPodSandbox", makes="sandbox-2", name="pod"), ERROR)

    assert aspects(breaches) == ["SBX-08"]


def test_a_stop_ends_what_runs_in_it(told: Told) -> None:
    told.running()
    told.becomes("sandbox-1", NOTREADY)

    breaches = told.play(Step("StopPodSandbox", on="sandbox-1"))

    assert aspects(breaches) == ["SBX-12"]
    assert breaches[0].seen == "RUNNING"


def test_a_stop_that_did_nothing_is_seen(told: Told) -> None:
    assert aspects(told.play(Step("StopPodSandbox", on="sandbox-1"))) == ["SBX-12"]


def test_a_stop_that_failed_may_still_be_at_work(told: Told) -> None:
    assert aspects(told.play(Step("StopPodSandbox", on="sandbox-1"), ERROR)) == ["SBX-12"]

    told.becomes("sandbox-1", NOTREADY)
    assert told.play(Step("ListImages")) == []
    told.becomes("sandbox-1", READY)
    assert aspects(told.play(Step("ListImages"))) == ["SBX-12"]


@pytest.mark.parametrize(
    ("rpc", "on", "aspect", "level"),
    [
        ("StopPodSandbox", NOTHING, "SBX-16", "SHOULD"),
        ("RemovePodSandbox", NOTHING, "SBX-24", "MUST"),
    ],
)
def test_what_is_not_there_can_be_stopped_and_removed(
    told: Told, rpc: str, on: str, aspect: str, level: str
) -> None:
    assert told.play(Step(rpc, on=on)) == []
    (breach,) = told.play(Step(rpc, on=on), ERROR)
    assert (breach.aspect, breach.level) == (aspect, level)


def test_what_was_removed_has_no_status(told: Told) -> None:
    told.sandboxes.clear()
    told.play(Step("RemovePodSandbox", on="sandbox-1"))
    status = Step("PodSandboxStatus", on="sandbox-1")

    assert told.play(status, CallResult("NOT_FOUND")) == []
    assert aspects(told.play(status, ERROR)) == ["SBX-26/code"]
    assert aspects(told.play(status, CallResult(id="id of sandbox-1"))) == ["SBX-26/error"]


def test_a_filter_holds_exactly_what_matches(told: Told) -> None:
    ready = Step("ListPodSandbox", state=READY)

    assert told.play(ready, CallResult(ids=("id of sandbox-1", "a stranger's"))) == []
    assert aspects(told.play(ready, CallResult())) == ["SBA-17"]
    assert aspects(
        told.play(Step("ListPodSandbox", state=NOTREADY), CallResult(ids=("id of sandbox-1",)))
    ) == ["SBA-17"]
    assert aspects(
        told.play(Step("ListPodSandbox", colour="blue"), CallResult(ids=("id of sandbox-1",)))
    ) == ["SBA-19"]


def test_a_sandbox_that_vanishes_is_told_once(told: Told) -> None:
    told.sandboxes.clear()

    assert aspects(told.play(Step("ListImages"))) == ["SBA-15"]
    assert told.play(Step("ListImages")) == []


def test_a_removal_takes_the_containers_along(told: Told) -> None:
    told.running()
    told.sandboxes.clear()
    told.becomes("container-1", EXITED, finished_at=9, exit_code=137)

    assert aspects(told.play(Step("RemovePodSandbox", on="sandbox-1"))) == ["SBX-21"]


def test_nothing_is_expected_of_what_was_lost(told: Told) -> None:
    told.running()
    told.containers.clear()
    told.play(Step("ListImages"))

    assert told.play(Step("ListContainers", state=RUNNING), CallResult()) == []


def test_what_is_new_was_made_now(told: Told) -> None:
    now = 1795348013_500000000
    told.at = now
    told.is_there("sandbox-2", "other")
    made = told.sandboxes["sandbox-2"]
    told.sandboxes["sandbox-2"] = replace(made, created_at=now // 10**9)

    breaches = told.play(Step("RunPodSandbox", makes="sandbox-2", name="other"), CallResult(id=made.id))

    assert aspects(breaches) == ["SBA-03"]
    assert told.play(Step("RunPodSandbox", makes="sandbox-2", name="other"), CallResult(id=made.id)) == []


def test_what_a_failed_creation_leaves_was_made_now(told: Told) -> None:
    told.at = 1795348013_500000000
    told.is_there("left", "other")
    told.sandboxes["left"] = replace(told.sandboxes["left"], state=NOTREADY, created_at=-6795364578871345152)

    step = Step("RunPodSandbox", makes="sandbox-2", name="other", failing="add")
    assert aspects(told.play(step, ERROR)) == ["SBA-03"]


ADDRESS = "10.0.0.2"
STOP, REMOVE = (Step(rpc, on="sandbox-1") for rpc in ("StopPodSandbox", "RemovePodSandbox"))


@pytest.fixture
def with_address(told: Told) -> Told:
    """A sandbox with an address of the network."""
    told.sandboxes["sandbox-1"] = replace(told.sandboxes["sandbox-1"], addresses=(ADDRESS,))
    told.leases = frozenset({ADDRESS})
    assert told.play(Step("ListImages")) == []
    return told


def test_what_is_stopped_gives_its_address_back(with_address: Told) -> None:
    with_address.becomes("sandbox-1", NOTREADY)
    with_address.leases = frozenset()

    assert with_address.play(STOP) == []


def test_an_address_that_a_stopped_sandbox_keeps_is_seen_once(with_address: Told) -> None:
    with_address.becomes("sandbox-1", NOTREADY)

    assert aspects(with_address.play(STOP)) == ["SBX-13"]
    assert with_address.play(STOP) == []


def test_an_address_that_a_removed_sandbox_keeps_is_seen(with_address: Told) -> None:
    with_address.sandboxes.clear()

    assert aspects(with_address.play(REMOVE)) == ["NET-40"]


def test_as_long_as_a_stop_fails_the_address_may_stay(with_address: Told) -> None:
    failing = replace(STOP, failing="DEL")

    assert with_address.play(failing, ERROR) == []
    with_address.sandboxes["sandbox-1"] = replace(with_address.sandboxes["sandbox-1"], addresses=())
    assert with_address.play(Step(DAEMON_RESTARTS)) == []
    with_address.becomes("sandbox-1", NOTREADY)
    assert aspects(with_address.play(STOP)) == ["SBX-19"]


def test_pipes_of_a_container_that_is_gone_are_seen(told: Told) -> None:
    told.pipes["id of sandbox-1"] = 3
    assert told.play(Step("ListImages")) == []
    told.container()
    assert told.play(Step("StartContainer", on="container-1", failing="create"), ERROR) == []
    told.pipes["id of sandbox-1"] = 5
    assert told.play(Step("ListImages")) == []
    told.containers.clear()

    assert aspects(told.play(Step("RemoveContainer", on="container-1"))) == ["CTR-18"]
    assert told.play(Step("ListImages")) == []
