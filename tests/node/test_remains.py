"""How long a removal waits for what it has killed."""

import time
from pathlib import Path
from typing import cast

import pytest

from critests.node import remains
from critests.node.traces import Traces

NOBODY = range(2**30, 2**30 + 10)
"""Numbers that no process has."""
SECONDS = 0.1


def killed(monkeypatch: pytest.MonkeyPatch, *, dying: bool) -> list[str]:
    """Kill processes of which one dies in half the time that is given, or none ever."""
    living = set(NOBODY)

    def our_processes(_traces: Traces) -> set[int]:
        time.sleep(SECONDS / 2)
        if dying and living:
            living.pop()
        return set(living)

    monkeypatch.setattr(remains, "our_processes", our_processes)
    return remains.kill_processes(cast("Traces", Path()), seconds=SECONDS)


def test_killed_processes_are_waited_for_as_long_as_they_go(monkeypatch: pytest.MonkeyPatch) -> None:
    assert killed(monkeypatch, dying=True) == []


def test_processes_that_stay_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(killed(monkeypatch, dying=False)) == len(NOBODY)
