"""How the model judges the stream of events."""

import pytest

from critests.model import Step
from critests.model.event_rules import CREATED_EVENT, DELETED, STARTED, STOPPED
from critests.model.observations import CallResult, ObservedEvent
from critests.model.steps import EVENTS, NO_EVENTS, PROCESS_ENDS
from tests.model.fake_runtime import EXITED, NOTREADY, RUNNING, FakeRuntime, aspects

NAME = "id of container-1"


def receive(fake: FakeRuntime, *kinds: str, identity: str = NAME, **fields: str) -> None:
    """Let events arrive."""
    assert fake.events is not None
    earlier = fake.events.get(identity, ())
    fake.events[identity] = (
        *earlier,
        *(ObservedEvent(kind, 10 + len(earlier) + index, **fields) for index, kind in enumerate(kinds)),
    )


@pytest.fixture
def listening(fake: FakeRuntime) -> FakeRuntime:
    """A client that received the events of a running container."""
    fake.events = {}
    assert fake.run(Step(EVENTS)) == []
    fake.events = {NAME: (ObservedEvent(CREATED_EVENT, 8), ObservedEvent(STARTED, 9))}
    fake.add_running()
    return fake


def test_every_change_has_an_event(listening: FakeRuntime) -> None:
    listening.set_state("container-1", EXITED, finished_at=9, exit_code=5)
    receive(listening, STOPPED)
    assert listening.run(Step("StopContainer", on="container-1", timeout=2)) == []
    listening.containers.clear()
    receive(listening, DELETED)
    assert listening.run(Step("RemoveContainer", on="container-1")) == []


@pytest.mark.parametrize(
    ("step", "code", "aspect"),
    [
        (Step("StopContainer", on="container-1", timeout=2), 5, "EVT-02/sent"),
        (Step(PROCESS_ENDS, on="container-1"), 7, "EVT-07"),
    ],
)
def test_an_exit_without_an_event_is_a_breach(
    listening: FakeRuntime, step: Step, code: int, aspect: str
) -> None:
    listening.set_state("container-1", EXITED, finished_at=9, exit_code=code)

    assert aspects(listening.run(step)) == [aspect]


def test_a_removal_without_an_event_is_a_breach(listening: FakeRuntime) -> None:
    listening.containers.clear()

    assert aspects(listening.run(Step("RemoveContainer", on="container-1"))) == ["EVT-02/sent"]


def test_a_container_removed_with_its_sandbox_needs_no_event(listening: FakeRuntime) -> None:
    listening.containers.clear()
    listening.sandboxes.clear()

    assert listening.run(Step("RemovePodSandbox", on="sandbox-1")) == []


def test_a_stopped_sandbox_without_an_event_is_a_breach(listening: FakeRuntime) -> None:
    listening.set_state("sandbox-1", NOTREADY)
    listening.set_state("container-1", EXITED, finished_at=9, exit_code=5)
    receive(listening, STOPPED)

    assert aspects(listening.run(Step("StopPodSandbox", on="sandbox-1"))) == ["EVT-03/sent"]


def test_an_event_that_comes_twice_or_out_of_order_is_a_breach(listening: FakeRuntime) -> None:
    receive(listening, STARTED)
    assert aspects(listening.run(Step("ListImages"))) == ["EVT-02/once"]
    receive(listening, DELETED, STOPPED)
    assert aspects(listening.run(Step("ListImages"))) == ["EVT-02/order"]


def test_the_state_in_an_event_matches_its_kind(listening: FakeRuntime) -> None:
    receive(listening, STOPPED, state=RUNNING)

    assert aspects(listening.run(Step("ListImages"))) == ["EVT-05"]


def test_nothing_is_missing_before_the_first_event(fake: FakeRuntime) -> None:
    fake.events = {}
    assert fake.run(Step(EVENTS)) == []
    fake.add_container()
    fake.set_state("container-1", RUNNING, started_at=7)

    # the event of the creation was awaited in vain, so from now on none may be missing
    assert aspects(fake.run(Step("StartContainer", on="container-1"))) == ["EVT-02/sent"]


def test_without_the_stream_no_event_is_expected(fake: FakeRuntime) -> None:
    assert fake.run(Step(EVENTS)) == []
    fake.add_running()

    assert fake.world.stream is None


def test_a_stream_that_ends_by_itself_is_a_breach(listening: FakeRuntime) -> None:
    listening.events = None

    assert aspects(listening.run(Step("ListImages"))) == ["EVT-08"]


def test_after_the_client_cancelled_no_event_is_expected(listening: FakeRuntime) -> None:
    listening.events = None
    assert listening.run(Step(NO_EVENTS)) == []
    listening.containers.clear()

    assert listening.run(Step("RemoveContainer", on="container-1"), CallResult()) == []


def test_a_step_that_failed_below_the_runtime_needs_no_event(listening: FakeRuntime) -> None:
    listening.set_state("container-1", EXITED, finished_at=9, exit_code=137)

    assert listening.run(Step("StopContainer", on="container-1", failing="delete")) == []


def test_events_of_an_abandoned_creation_may_come_before_it_is_listed(fake: FakeRuntime) -> None:
    hanging = Step("CreateContainer", makes="container-1", inside="sandbox-1", name="app", hanging="create")
    assert fake.run(hanging, CallResult("DEADLINE_EXCEEDED")) == []
    fake.events = {}
    assert fake.run(Step(EVENTS)) == []
    receive(fake, CREATED_EVENT, STARTED, identity="id of another")
    assert fake.run(Step("ListImages")) == []

    fake.add_container("container-2")
