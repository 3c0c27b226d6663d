"""Sessions and events as steps, on our own server: right, and with a bug that a few steps show."""

from pathlib import Path

import pytest

from critests.model import Step
from critests.model.steps import (
    EVENTS,
    INPUT,
    NO_EVENTS,
    PROCESS_ENDS,
    TERMINAL,
    ContainerProcess,
    one_by_one,
)
from tests.explore.planted import our_own_server, player_on

MADE = [
    Step("RunPodSandbox", makes="sandbox-1", name="pod"),
    Step(EVENTS),
    *(
        Step("CreateContainer", makes=key, inside="sandbox-1", name=name, process=process)
        for key, name, process in (
            ("container-2", "one", ContainerProcess.WAITS),
            ("container-3", "two", ContainerProcess.LISTENS),
        )
    ),
    Step("StartContainer", on="container-2"),
    Step("StartContainer", on="container-3"),
]
SPOKEN_TO = [
    *MADE,
    Step("Attach", on="container-3"),
    Step("ExecSync", on="container-3"),
    Step("Exec", on="container-3"),
    Step("Exec", on="container-3", by=INPUT),
    Step("Exec", on="container-3", by=TERMINAL),
    Step("Attach", on="container-3", by=INPUT),
    Step("ReopenContainerLog", on="container-3"),
    Step("Attach", on="container-3"),
    Step("Attach", on="container-3", by=INPUT),
    Step(PROCESS_ENDS, on="container-3"),
    Step("Exec", on="container-3"),
    Step("Attach", on="nothing"),
]
ENDED = [
    *MADE,
    Step("StopContainer", on="container-2", timeout=2),
    Step("RemoveContainer", on="container-2"),
    Step("StopPodSandbox", on="sandbox-1"),
    Step("RemovePodSandbox", on="sandbox-1"),
    Step("ListContainerStats"),
    Step(NO_EVENTS),
    Step("RunPodSandbox", makes="sandbox-4", name="other"),
]


def broken(logs: Path, steps: list[Step], *wrong: str) -> list[str]:
    """Return the aspects that a sequence breaks on our own server."""
    with player_on(our_own_server(*wrong), logs) as player:
        return [breach.aspect for breach in player.breaches(one_by_one(steps))]


@pytest.mark.parametrize("steps", [SPOKEN_TO, ENDED])
def test_where_nothing_is_wrong_nothing_is_told(tmp_path: Path, steps: list[Step]) -> None:
    assert broken(tmp_path, steps) == []


@pytest.mark.parametrize(
    ("wrong", "steps", "aspect"),
    [
        ("no-session-after-a-reopened-log", SPOKEN_TO, "ATT-01"),
        ("session-after-the-end", SPOKEN_TO, "EXE-15/exited"),
        ("exit-code-of-a-session-lost", SPOKEN_TO, "EXE-04"),
        ("input-after-the-first-session-lost", SPOKEN_TO, "EXE-03"),
        ("input-after-the-first-client-lost", SPOKEN_TO, "ATT-02"),
        ("no-terminal-beside-a-neighbour", SPOKEN_TO, "EXE-02"),
        ("end-told-twice", ENDED, "EVT-02/once"),
        ("removal-untold", ENDED, "EVT-02/sent"),
        ("runs-in-the-event-of-its-end", ENDED, "EVT-05"),
        ("events-end-with-a-removal", ENDED, "EVT-08"),
    ],
)
def test_a_session_or_an_event_that_is_wrong_is_told(
    tmp_path: Path, wrong: str, steps: list[Step], aspect: str
) -> None:
    assert broken(tmp_path, steps, wrong) == [aspect]
