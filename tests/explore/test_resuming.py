"""An exploration goes on where another one was ended."""

from collections import Counter
from pathlib import Path

import pytest

from critests.exit_codes import UsageError
from critests.explore import exploration_output
from critests.explore.exploration_state import StoppedExploration, read
from critests.explore.exploring import Exploration, Explored
from tests.explore.planted import MOST_STEPS, our_own_server, player_on

EARLIER = StoppedExploration(
    7, 3, Counter({("StopPodSandbox", "ready"): 2}), frozenset({("SBX-12", "a sandbox is READY", "X")})
)


def explored(logs: Path, earlier: StoppedExploration, *wrong: str, seconds: float) -> Explored:
    with player_on(our_own_server(*wrong), logs) as player:
        return Exploration(player, earlier, seconds, MOST_STEPS, most_findings=1).run()


def test_it_is_read_as_it_was_kept(tmp_path: Path) -> None:
    assert list(exploration_output.keep(Explored(EARLIER), tmp_path, "a runtime")) == []

    assert read(tmp_path) == EARLIER


@pytest.mark.parametrize("content", [None, "{}", "no file of ours"])
def test_what_is_none_is_refused(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "explore.json").write_text(content, encoding="utf-8")

    with pytest.raises(UsageError, match=r"explore\.json: no exploration to resume"):
        read(tmp_path)


def test_what_was_told_is_not_told_again_and_rounds_go_on(tmp_path: Path) -> None:
    first = explored(tmp_path, StoppedExploration(1), "lost=StopPodSandbox", seconds=60.0)
    (finding,) = first.findings

    again = explored(tmp_path, first.earlier, "lost=StopPodSandbox", seconds=3.0)

    assert finding.breach.kind not in {each.breach.kind for each in again.findings}
    assert again.earlier.rounds > first.earlier.rounds
    assert again.earlier.told >= first.earlier.told
