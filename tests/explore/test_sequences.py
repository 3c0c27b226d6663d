"""How sequences are made, shortened and handed over."""

import ast
import contextlib
import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from critests.explore import crictl, findings, machine, shortening
from critests.explore.findings import Finding
from critests.explore.playing import Played
from critests.explore.possible import IN_A_ROW, likely, steps_by_place
from critests.model import Breach, Step, World
from critests.model.steps import Process
from tests.explore.planted import player_on_our_own_server

LIFE = [
    Step("RunPodSandbox", makes="sandbox-1", name="pod-1"),
    Step("CreateContainer", makes="container-2", inside="sandbox-1", name="app-2", process=Process.FAILS),
    Step("StartContainer", on="container-2"),
    Step("ExecSync", on="container-2"),
    Step("StopPodSandbox", on="sandbox-1"),
]


def sequences(logs: Path, number: int) -> list[list[Step]]:
    """The first sequences of a round."""
    played: list[list[Step]] = []
    with player_on_our_own_server(logs) as player:
        watch = machine.Watch(lambda _: False, lambda: len(played) > 6)
        play = Played.play

        def keeping(sequence: Played, step: Step) -> list[Breach]:
            if not any(sequence.steps is known for known in played):
                played.append(sequence.steps)
            return play(sequence, step)

        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(machine.Over):
            patch.setattr(Played, "play", keeping)
            machine.play_round(player, watch, number, 12)
    return played[:6]


def test_the_same_seed_makes_the_same_sequences(tmp_path: Path) -> None:
    once, again, other = sequences(tmp_path, 1), sequences(tmp_path, 1), sequences(tmp_path, 2)

    assert once == again
    assert once != other
    assert all(len(steps) == 12 for steps in once)


def test_of_a_sequence_only_what_breaks_the_promise_is_left() -> None:
    tried: list[list[Step]] = []

    def breaks(steps: list[Step]) -> bool:
        tried.append(steps)
        return any(step.rpc == "StartContainer" for step in steps)

    assert shortening.shortest(LIFE, breaks) == [*LIFE[:3], LIFE[4]]
    assert len(tried) < 15


def test_what_was_never_covered_is_more_likely() -> None:
    places = [("StopPodSandbox", "ready with none"), ("StopPodSandbox", "notready with none")]

    drawn = Counter(likely(places, Counter({places[0]: 100})))

    assert drawn[places[1]] > 2 * drawn[places[0]] > 0


def test_the_same_step_comes_twice_in_a_row_at_most() -> None:
    step = Step("ListPodSandbox", colour="red")
    place = ("ListPodSandbox", World().situation(step))

    assert step in steps_by_place(World(), [step])[place]
    assert step not in steps_by_place(World(), [step] * IN_A_ROW)[place]


def test_a_finding_is_written_as_a_test_a_script_and_plain_data(tmp_path: Path) -> None:
    breach = Breach("SBX-12", "a sandbox is READY", "StopPodSandbox", "NOTREADY", 'hostile """ \\ text')
    finding = Finding(breach, tuple(LIFE), 10, 10)

    place = findings.write(finding, tmp_path, seed=1, runtime="a runtime")

    (test,) = place.glob("test_found_*.py")
    ast.parse(test.read_text(encoding="utf-8"))
    plain = json.loads((place / "finding.json").read_text(encoding="utf-8"))
    assert (plain["level"], len(plain["steps"])) == ("MUST", 5)
    subprocess.run(["sh", "-n", place / "crictl.sh"], check=True)


def test_what_crictl_cannot_say_is_a_comment() -> None:
    script = crictl.script([Step("ProcessEnds", on="container-2")], "title")

    assert "# crictl cannot say: ProcessEnds(container-2)" in script
