"""How sequences are made, shortened and handed over."""

import ast
import contextlib
import json
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from critests.explore import crictl, exploration_findings, shortening, step_machine
from critests.explore.exploration_findings import ExplorationFinding
from critests.explore.sequence_counts import Over, SequenceCounts
from critests.explore.sequence_runner import Played
from critests.explore.step_generator import IN_A_ROW, likely, steps_by_place
from critests.model import Beat, Breach, Step, World
from critests.model.steps import DAEMON_RESTARTS, ContainerProcess, one_by_one
from tests.explore.planted import our_own_server, player_on

LIFE = [
    Step("RunPodSandbox", makes="sandbox-1", name="pod-1"),
    Step(
        "CreateContainer",
        makes="container-2",
        inside="sandbox-1",
        name="app-2",
        process=ContainerProcess.FAILS,
    ),
    Step("StartContainer", on="container-2"),
    Step("ExecSync", on="container-2"),
    Step("StopPodSandbox", on="sandbox-1"),
]


def sequences(logs: Path, number: int) -> list[list[Beat]]:
    """The first sequences of a round."""
    played: list[list[Beat]] = []
    with player_on(our_own_server(), logs) as player:
        watch = SequenceCounts(lambda _: False, lambda: len(played) > 6)
        play = Played.play

        def keeping(sequence: Played, beat: Beat, muted: Callable[[Breach], bool]) -> list[Breach]:
            if not any(sequence.beats is known for known in played):
                played.append(sequence.beats)
            return play(sequence, beat, muted)

        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(Over):
            patch.setattr(Played, "play", keeping)
            step_machine.play_round(player, watch, number, 12)
    return played[:6]


def test_the_same_seed_makes_the_same_sequences(tmp_path: Path) -> None:
    once, again, other = sequences(tmp_path, 1), sequences(tmp_path, 1), sequences(tmp_path, 2)

    assert once == again
    assert once != other
    assert all(len(beats) == 12 for beats in once)


def test_of_a_sequence_only_what_breaks_the_promise_is_left() -> None:
    tried: list[list[Beat]] = []

    def breaks(beats: list[Beat]) -> bool:
        tried.append(beats)
        return any(step.rpc == "StartContainer" for beat in beats for step in beat)

    assert shortening.shortest(one_by_one(LIFE), breaks) == one_by_one([*LIFE[:3], LIFE[4]])
    assert len(tried) < 15


def test_of_several_steps_at_once_only_those_are_left_that_break_the_promise() -> None:
    run, create, start, command, stop = LIFE

    def breaks(beats: list[Beat]) -> bool:
        return {start, stop} <= set(beats[-1])

    assert shortening.shortest([(run,), (create,), (start, command, stop)], breaks) == [
        (run,),
        (create,),
        (start, stop),
    ]


def test_what_was_never_covered_is_more_likely() -> None:
    places = [("StopPodSandbox", "ready with none"), ("StopPodSandbox", "notready with none")]

    drawn = Counter(likely(places, Counter({places[0]: 100})))

    assert drawn[places[1]] > 2 * drawn[places[0]] > 0


def test_how_long_something_is_shortened_does_not_decide_what_comes_next(tmp_path: Path) -> None:
    watch = SequenceCounts(lambda _: False, lambda: False)
    watch.round_begins()
    with player_on(our_own_server("lost=StopPodSandbox"), tmp_path) as player, player.sequence() as played:
        for step in (LIFE[0], LIFE[4], LIFE[4], LIFE[4]):
            watch.play(played, (step,), [(step.rpc, "a situation")])

    assert watch.covered == {("RunPodSandbox", "a situation"): 1, ("StopPodSandbox", "a situation"): 1}
    assert watch.outcomes["StopPodSandbox", "a situation", "OK"] == 3


def test_the_same_step_comes_twice_in_a_row_at_most() -> None:
    step = Step("ListPodSandbox", colour="red")
    place = ("ListPodSandbox", World().situation(step))

    assert step in steps_by_place(World(), [step])[place]
    assert step not in steps_by_place(World(), [step] * IN_A_ROW)[place]


def test_the_daemon_is_disturbed_only_where_it_may_be() -> None:
    world = World()

    assert not any(step.failing for steps in steps_by_place(world, []).values() for step in steps)
    disruptive = [step for steps in steps_by_place(world, [], disruptive=True).values() for step in steps]
    assert Step(DAEMON_RESTARTS) in disruptive
    assert {step.rpc for step in disruptive if step.failing} == {"RunPodSandbox"}


def test_a_finding_is_written_as_a_test_and_a_script_and_is_plain_data(tmp_path: Path) -> None:
    breach = Breach("SBX-12", "a sandbox is READY", "StopPodSandbox", "NOTREADY", 'hostile """ \\ text')
    finding = ExplorationFinding(breach, (*one_by_one(LIFE[:3]), tuple(LIFE[3:])), 10, 10)

    place = exploration_findings.write(finding, tmp_path, seed=1, runtime="a runtime")

    (test,) = place.glob("test_found_*.py")
    ast.parse(test.read_text(encoding="utf-8"))
    plain = json.loads(json.dumps(finding.plain()))
    assert (plain["level"], [len(beat) for beat in plain["steps"]]) == ("MUST", [1, 1, 1, 2])
    subprocess.run(["sh", "-n", place / "crictl.sh"], check=True)


def test_what_crictl_cannot_say_is_a_comment() -> None:
    script = crictl.script([(Step("ProcessEnds", on="container-2"),)], "title")

    assert "# crictl cannot say: ProcessEnds(container-2)" in script
