"""What the model of the API expects of the stream of events."""

import pytest

from critests.model import Step
from critests.model.event_rules import DELETED, MADE, STARTED, STOPPED
from critests.model.observations import CallResult, ObservedEvent
from critests.model.steps import EVENTS, NO_EVENTS, PROCESS_ENDS
from tests.model.telling import EXITED, NOTREADY, RUNNING, Told, aspects

NAME = "id of container-1"


def hears(told: Told, *kinds: str, identity: str = NAME, **fields: str) -> None:
    """Let events come."""
    assert told.events is not None
    earlier = told.events.get(identity, ())
    told.events[identity] = (
        *earlier,
        *(ObservedEvent(kind, 10 + len(earlier) + index, **fields) for index, kind in enumerate(kinds)),
    )


@pytest.fixture
def listening(told: Told) -> Told:
    """A client that has heard of a container that runs."""
    told.events = {}
    assert told.play(Step(EVENTS)) == []
    told.events = {NAME: (ObservedEvent(MADE, 8), ObservedEvent(STARTED, 9))}
    told.running()
    return told


def test_every_change_is_told(listening: Told) -> None:
    listening.becomes("container-1", EXITED, finished_at=9, exit_code=5)
    hears(listening, STOPPED)
    assert listening.play(Step("StopContainer", on="container-1", timeout=2)) == []
    listening.containers.clear()
    hears(listening, DELETED)
    assert listening.play(Step("RemoveContainer", on="container-1")) == []


@pytest.mark.parametrize(
    ("step", "code", "aspect"),
    [
        (Step("StopContainer", on="container-1", timeout=2), 5, "EVT-02/sent"),
        (Step(PROCESS_ENDS, on="container-1"), 7, "EVT-07"),
    ],
)
def test_an_end_that_is_not_told_is_missed(listening: Told, step: Step, code: int, aspect: str) -> None:
    listening.becomes("container-1", EXITED, finished_at=9, exit_code=code)

    assert aspects(listening.play(step)) == [aspect]


def test_a_removal_that_is_not_told_is_missed(listening: Told) -> None:
    listening.containers.clear()

    assert aspects(listening.play(Step("RemoveContainer", on="container-1"))) == ["EVT-02/sent"]


def test_what_goes_with_its_sandbox_may_go_untold(listening: Told) -> None:
    listening.containers.clear()
    listening.sandboxes.clear()

    assert listening.play(Step("RemovePodSandbox", on="sandbox-1")) == []


def test_sandboxes_are_told_of_too(listening: Told) -> None:
    listening.becomes("sandbox-1", NOTREADY)
    listening.becomes("container-1", EXITED, finished_at=9, exit_code=5)
    hears(listening, STOPPED)

    assert aspects(listening.play(Step("StopPodSandbox", on="sandbox-1"))) == ["EVT-03/sent"]


def test_nothing_is_told_twice_or_out_of_its_order(listening: Told) -> None:
    hears(listening, STARTED)
    assert aspects(listening.play(Step("ListImages"))) == ["EVT-02/once"]
    hears(listening, DELETED, STOPPED)
    assert aspects(listening.play(Step("ListImages"))) == ["EVT-02/order"]


def test_the_state_in_an_event_is_the_one_it_tells_of(listening: Told) -> None:
    hears(listening, STOPPED, state=RUNNING)

    assert aspects(listening.play(Step("ListImages"))) == ["EVT-05"]


def test_nothing_is_missing_before_the_first_event(told: Told) -> None:
    told.events = {}
    assert told.play(Step(EVENTS)) == []
    told.container()
    told.becomes("container-1", RUNNING, started_at=7)

    # the creation was waited for in vain, so that from now on the client is known
    assert aspects(told.play(Step("StartContainer", on="container-1"))) == ["EVT-02/sent"]


def test_a_stream_that_is_not_offered_tells_nothing(told: Told) -> None:
    assert told.play(Step(EVENTS)) == []
    told.running()

    assert told.world.stream is None


def test_a_stream_that_ends_by_itself_is_missed(listening: Told) -> None:
    listening.events = None

    assert aspects(listening.play(Step("ListImages"))) == ["EVT-08"]


def test_whoever_has_left_hears_nothing(listening: Told) -> None:
    listening.events = None
    assert listening.play(Step(NO_EVENTS)) == []
    listening.containers.clear()

    assert listening.play(Step("RemoveContainer", on="container-1"), CallResult()) == []


def test_what_failed_below_may_go_untold(listening: Told) -> None:
    listening.becomes("container-1", EXITED, finished_at=9, exit_code=137)

    assert listening.play(Step("StopContainer", on="container-1", failing="delete")) == []


def test_what_was_given_up_may_have_been_told_before(told: Told) -> None:
    hanging = Step("CreateContainer", makes="container-1", inside="sandbox-1", name="app", hanging="create")
    assert told.play(hanging, CallResult("DEADLINE_EXCEEDED")) == []
    told.events = {}
    assert told.play(Step(EVENTS)) == []
    hears(told, MADE, STARTED, identity="id of another")
    assert told.play(Step("ListImages")) == []

    told.container("container-2")
