"""Planted bugs are found, and without a bug nothing is reported.

This is a sample of bugs that are found within seconds, so that the time limit never decides; `python -m
tests.explore.planted` explores with all of them.
"""

import os
from pathlib import Path

import pytest

from critests.exit_codes import CannotTest
from critests.explore.exploration_state import StoppedExploration
from critests.explore.exploring import Exploration
from critests.lifecycle.waiting import eventually
from tests.explore.planted import BUGS, explored, found_as, runner_on, server_with

SAMPLE = [
    "lost=StopPodSandbox",
    "once=StopPodSandbox",
    "second-sandbox-with-used-metadata",
    "id-reused",
    "removed-sandbox-listed",
    "labels-lost-when-stopped",
]
SECONDS = 240.0
SOUND_SECONDS = float(os.environ.get("CRITESTS_EXPLORE_SECONDS", "10"))
"""Duration of the exploration without a bug; CI sets two minutes."""


@pytest.mark.parametrize(
    "wrong",
    [
        SAMPLE[0],
        *(pytest.param(wrong, marks=pytest.mark.nightly("one more of a kind")) for wrong in SAMPLE[1:]),
    ],
)
def test_a_planted_bug_is_found(tmp_path: Path, wrong: str) -> None:
    assert found_as(wrong, explored(tmp_path, wrong, seconds=SECONDS)) == ""


@pytest.mark.nightly("explores until time is up")
def test_without_a_bug_nothing_is_reported(tmp_path: Path) -> None:
    found = explored(tmp_path, "", seconds=SOUND_SECONDS)

    assert (found.findings, dict(found.known)) == ([], {})
    assert found.steps > 0


def test_the_table_of_planted_bugs_is_long_enough() -> None:
    assert len(BUGS) >= 30
    assert set(SAMPLE) <= set(BUGS)


@pytest.mark.nightly("explores until time is up")
def test_a_planted_bug_of_concurrent_calls_is_found(tmp_path: Path) -> None:
    wrong = "sandbox-created-twice-at-once"

    assert found_as(wrong, explored(tmp_path, wrong, seconds=SECONDS)) == ""


@pytest.mark.nightly("explores until time is up")
def test_without_a_bug_nothing_is_reported_of_concurrent_calls(tmp_path: Path) -> None:
    found = explored(tmp_path, "", seconds=10.0, clients=3)

    assert (found.findings, dict(found.known)) == ([], {})


@pytest.mark.parametrize("clients", [1, 2])
def test_a_daemon_that_exits_is_reported_and_ends_the_exploration(tmp_path: Path, clients: int) -> None:
    with runner_on(server_with("dies-after=300"), tmp_path) as runner:
        found = Exploration(runner, StoppedExploration(1), 60.0, 30, clients=clients).run()

    assert [each.breach.aspect for each in found.findings] == ["GEN-17"]


@pytest.mark.nightly("explores until time is up")
def test_a_finding_is_reported_even_if_the_daemon_exits_while_it_is_shortened(tmp_path: Path) -> None:
    server = server_with("lost=StopContainer")

    def kill_it(line: str) -> None:
        if line.endswith("shortening"):
            server.die()

    with runner_on(server, tmp_path) as runner:
        found = Exploration(runner, StoppedExploration(1), SECONDS, 30, say=kill_it).run()

    assert [each.breach.aspect for each in found.findings] == ["CTA-27", "GEN-17"]


@pytest.mark.nightly("explores until time is up")
@pytest.mark.parametrize("clients", [1, 2])
def test_a_daemon_that_exits_is_started_again_and_the_exploration_continues(
    tmp_path: Path, clients: int
) -> None:
    server = server_with("dies-at=ReopenContainerLog")
    with runner_on(server, tmp_path) as runner:

        def again() -> None:
            server.start_again()
            eventually("the server that was started again", runner.daemon_lives, 10)

        runner.start_again = again
        found = Exploration(runner, StoppedExploration(1), 60.0, 30, most_findings=1, clients=clients).run()

    (finding,) = found.findings
    assert finding.breach.aspect == "GEN-17"
    assert len(finding.groups) <= 3  # the call needs a container, which needs a sandbox
    # each try has killed it
    assert (finding.reproduced, finding.tries) == (10, 10)
    assert not runner.gone


def test_a_daemon_that_does_not_come_back_ends_the_exploration(tmp_path: Path) -> None:
    def fail() -> None:
        raise CannotTest("it does not start again")

    with runner_on(server_with("dies-after=300"), tmp_path) as runner:
        runner.start_again = fail
        found = Exploration(runner, StoppedExploration(1), 60.0, 30).run()

    assert [each.breach.aspect for each in found.findings] == ["GEN-17"]
    assert runner.gone
