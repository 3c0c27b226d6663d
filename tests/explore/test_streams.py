"""Sessions and events as steps, on the suite's own CRI server: without a bug, and with one that a few steps
show.
"""

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
)
from tests.explore.planted import runner_on, server_with

CREATIONS = [
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
SESSIONS = [
    *CREATIONS,
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
    *CREATIONS,
    Step("StopContainer", on="container-2", timeout=2),
    Step("RemoveContainer", on="container-2"),
    Step("StopPodSandbox", on="sandbox-1"),
    Step("RemovePodSandbox", on="sandbox-1"),
    Step("ListContainerStats"),
    Step(NO_EVENTS),
    Step("RunPodSandbox", makes="sandbox-4", name="other"),
]


def broken(logs: Path, steps: list[Step], *wrong: str) -> list[str]:
    """Return the aspects that a sequence breaks on the suite's own server."""
    with runner_on(server_with(*wrong), logs) as runner:
        return [breach.aspect for breach in runner.breaches([(step,) for step in steps])]


@pytest.mark.parametrize("steps", [SESSIONS, ENDED])
def test_without_a_bug_nothing_is_reported(tmp_path: Path, steps: list[Step]) -> None:
    assert broken(tmp_path, steps) == []


@pytest.mark.parametrize(
    ("wrong", "steps", "aspect"),
    [
        ("no-session-after-a-reopened-log", SESSIONS, "ATT-01"),
        ("session-in-an-exited-container", SESSIONS, "EXE-15/exited"),
        ("exit-code-of-a-session-lost", SESSIONS, "EXE-04"),
        ("input-after-the-first-session-lost", SESSIONS, "EXE-03"),
        ("input-after-the-first-client-lost", SESSIONS, "ATT-02"),
        ("terminal-without-output-with-a-second-container", SESSIONS, "EXE-02"),
        ("exit-event-sent-twice", ENDED, "EVT-02/once"),
        ("removal-event-missing", ENDED, "EVT-02/sent"),
        ("running-in-the-exit-event", ENDED, "EVT-05"),
        ("events-end-with-a-removal", ENDED, "EVT-08"),
    ],
)
def test_a_wrong_session_or_event_is_reported(
    tmp_path: Path, wrong: str, steps: list[Step], aspect: str
) -> None:
    assert broken(tmp_path, steps, wrong) == [aspect]
