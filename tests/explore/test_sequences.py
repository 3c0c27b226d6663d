"""How sequences are generated, shortened and written."""

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
from critests.explore.sequence_counts import SequenceCounts, TimeIsOver
from critests.explore.sequence_runner import StepSequence
from critests.explore.step_generator import MAX_REPEATS, likely, steps_by_place
from critests.model import Breach, Step, StepGroup, World
from critests.model.steps import DAEMON_RESTARTS, ContainerProcess
from tests.explore.planted import runner_on, server_with

LIFECYCLE = [
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


def sequences(logs: Path, number: int) -> list[list[StepGroup]]:
    """Return the first sequences of a round."""
    groups: list[list[StepGroup]] = []
    with runner_on(server_with(), logs) as runner:
        counts = SequenceCounts(lambda _: False, lambda: len(groups) > 6)
        run = StepSequence.run

        def recording(
            sequence: StepSequence, group: StepGroup, muted: Callable[[Breach], bool]
        ) -> list[Breach]:
            if not any(sequence.groups is known for known in groups):
                groups.append(sequence.groups)
            return run(sequence, group, muted)

        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(TimeIsOver):
            patch.setattr(StepSequence, "run", recording)
            step_machine.run_round(runner, counts, number, 12)
    return groups[:6]


def test_the_same_seed_makes_the_same_sequences(tmp_path: Path) -> None:
    once, again, other = sequences(tmp_path, 1), sequences(tmp_path, 1), sequences(tmp_path, 2)

    assert once == again
    assert once != other
    assert all(len(groups) == 12 for groups in once)


def test_only_the_steps_that_break_the_promise_remain() -> None:
    tried: list[list[StepGroup]] = []

    def breaks(groups: list[StepGroup]) -> bool:
        tried.append(groups)
        return any(step.rpc == "StartContainer" for group in groups for step in group)

    steps: list[StepGroup] = [(step,) for step in LIFECYCLE]

    assert shortening.shortest(steps, breaks) == [*steps[:3], steps[4]]
    assert len(tried) < 15


def test_only_the_concurrent_steps_that_break_the_promise_remain() -> None:
    run, create, start, command, stop = LIFECYCLE

    def breaks(groups: list[StepGroup]) -> bool:
        return {start, stop} <= set(groups[-1])

    assert shortening.shortest([(run,), (create,), (start, command, stop)], breaks) == [
        (run,),
        (create,),
        (start, stop),
    ]


def test_place_that_was_never_covered_is_more_likely() -> None:
    places = [("StopPodSandbox", "ready with none"), ("StopPodSandbox", "notready with none")]

    drawn = Counter(likely(places, Counter({places[0]: 100})))

    assert drawn[places[1]] > 2 * drawn[places[0]] > 0


def test_the_time_for_shortening_does_not_influence_later_choices(tmp_path: Path) -> None:
    counts = SequenceCounts(lambda _: False, lambda: False)
    counts.begin_round()
    with runner_on(server_with("lost=StopPodSandbox"), tmp_path) as runner, runner.sequence() as sequence:
        for step in (LIFECYCLE[0], LIFECYCLE[4], LIFECYCLE[4], LIFECYCLE[4]):
            counts.run(sequence, (step,), [(step.rpc, "a situation")])

    assert counts.covered == {("RunPodSandbox", "a situation"): 1, ("StopPodSandbox", "a situation"): 1}
    assert counts.outcomes["StopPodSandbox", "a situation", "OK"] == 3


def test_the_same_step_occurs_at_most_twice_in_a_row() -> None:
    step = Step("ListPodSandbox", colour="red")
    place = ("ListPodSandbox", World().situation(step))

    assert step in steps_by_place(World(), [step])[place]
    assert step not in steps_by_place(World(), [step] * MAX_REPEATS)[place]


def test_the_daemon_is_disturbed_only_if_that_is_allowed() -> None:
    world = World()

    assert not any(step.failing for steps in steps_by_place(world, []).values() for step in steps)
    disruptive = [step for steps in steps_by_place(world, [], disruptive=True).values() for step in steps]
    assert Step(DAEMON_RESTARTS) in disruptive
    assert {step.rpc for step in disruptive if step.failing} == {"RunPodSandbox"}


def test_a_finding_is_written_as_a_test_and_a_script_and_is_plain_data(tmp_path: Path) -> None:
    breach = Breach("SBX-12", "a sandbox is READY", "StopPodSandbox", "NOTREADY", 'hostile """ \\ text')
    finding = ExplorationFinding(breach, (*((step,) for step in LIFECYCLE[:3]), tuple(LIFECYCLE[3:])), 10, 10)

    place = exploration_findings.write(finding, tmp_path, seed=1, runtime="a runtime")

    (test,) = place.glob("test_found_*.py")
    ast.parse(test.read_text(encoding="utf-8"))
    plain = json.loads(json.dumps(finding.plain()))
    assert (plain["level"], [len(group) for group in plain["steps"]]) == ("MUST", [1, 1, 1, 2])
    subprocess.run(["sh", "-n", place / "crictl.sh"], check=True)


def test_a_step_that_crictl_cannot_do_is_a_comment() -> None:
    script = crictl.script([(Step("ProcessEnds", on="container-2"),)], "title")

    assert "# crictl cannot do: ProcessEnds(container-2)" in script
