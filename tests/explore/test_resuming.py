"""An exploration resumes where an earlier one ended."""

from collections import Counter
from pathlib import Path

import pytest

from critests.exit_codes import UsageError
from critests.explore import exploration_output
from critests.explore.exploration_state import StoppedExploration, read
from critests.explore.exploring import Exploration, ExplorationResult
from tests.explore.planted import MOST_STEPS, runner_on, server_with

EARLIER = StoppedExploration(
    7, 3, Counter({("StopPodSandbox", "ready"): 2}), frozenset({("SBX-12", "a sandbox is READY", "X")})
)


def explored(logs: Path, earlier: StoppedExploration, *wrong: str, seconds: float) -> ExplorationResult:
    with runner_on(server_with(*wrong), logs) as runner:
        return Exploration(runner, earlier, seconds, MOST_STEPS, most_findings=1).run()


def test_the_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert list(exploration_output.write_results(ExplorationResult(EARLIER), tmp_path, "a runtime")) == []

    assert read(tmp_path) == EARLIER


@pytest.mark.parametrize("content", [None, "{}", "no file of ours"])
def test_a_file_without_a_state_is_rejected(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "explore.json").write_text(content, encoding="utf-8")

    with pytest.raises(UsageError, match=r"explore\.json: no exploration to resume"):
        read(tmp_path)


def test_earlier_findings_are_not_reported_again_and_rounds_continue(tmp_path: Path) -> None:
    first = explored(tmp_path, StoppedExploration(1), "lost=StopPodSandbox", seconds=60.0)
    (finding,) = first.findings

    again = explored(tmp_path, first.earlier, "lost=StopPodSandbox", seconds=3.0)

    assert finding.breach.kind not in {each.breach.kind for each in again.findings}
    assert again.earlier.rounds > first.earlier.rounds
    assert again.earlier.reported >= first.earlier.reported
