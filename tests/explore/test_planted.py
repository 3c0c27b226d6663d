"""Bugs of state that were planted in our own server are found, and where there are none nothing is told.

A sample of those that are found within seconds, so that the bound of time is never what decides; all are
played by `python -m tests.explore.planted`.
"""

from pathlib import Path

import pytest

from tests.explore.planted import BUGS, explored, found_as

SAMPLE = [
    "lost=StopPodSandbox",
    "once=StopPodSandbox",
    "second-sandbox",
    "id-reused",
    "removed-sandbox-listed",
    "labels-lost-when-stopped",
]
SECONDS = 240.0


@pytest.mark.parametrize("wrong", SAMPLE)
def test_a_planted_bug_is_found(tmp_path: Path, wrong: str) -> None:
    assert found_as(wrong, explored(tmp_path, wrong, seconds=SECONDS)) == ""


def test_where_nothing_is_wrong_nothing_is_told(tmp_path: Path) -> None:
    found = explored(tmp_path, "", seconds=10.0)

    assert (found.findings, dict(found.known)) == ([], {})
    assert found.steps > 0


def test_the_table_of_planted_bugs_is_long_enough() -> None:
    assert len(BUGS) >= 30
    assert set(SAMPLE) <= set(BUGS)


def test_a_planted_bug_of_calls_at_once_is_found(tmp_path: Path) -> None:
    wrong = "made-twice-at-once"

    assert found_as(wrong, explored(tmp_path, wrong, seconds=SECONDS)) == ""


def test_where_nothing_is_wrong_nothing_is_told_of_calls_at_once(tmp_path: Path) -> None:
    found = explored(tmp_path, "", seconds=10.0, clients=3)

    assert (found.findings, dict(found.known)) == ([], {})
