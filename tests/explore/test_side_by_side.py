"""Which steps are played at once."""

import random
from collections import Counter

from critests.explore import side_by_side
from critests.explore.step_generator import steps_by_place
from critests.model import Step, World
from critests.model.linearization import touches
from critests.model.steps import NOTHING, STATISTICS
from tests.model.telling import Told

ROUNDS = 1000


def told() -> Told:
    told = Told()
    told.sandbox()
    told.running()
    return told


def drawn(world: World, clients: int = 3, only: str = "") -> list[tuple[Step, ...]]:
    choice = {
        place: steps
        for place, steps in steps_by_place(world, [], disruptive=True).items()
        if only in {"", place[0]}
    }
    chance = random.Random(1)  # noqa: S311 - chance, no secret
    return [side_by_side.next_beat(world, choice, Counter(), chance, clients)[0] for _ in range(ROUNDS)]


def test_steps_at_once_are_about_the_same_object_or_make_some() -> None:
    world = told().world
    beats = [beat for beat in drawn(world) if len(beat) > 1]

    assert {len(beat) for beat in beats} == {2, 3}
    assert all(
        touches(world, beat[0]) & touches(world, step)
        for beat in beats
        for step in beat
        # what is made under another name is a pod, or a container in a sandbox that nobody has
        if step.rpc not in STATISTICS and not (step.makes and step.rpc == beat[0].rpc)
    )


def test_statistics_are_asked_for_beside_what_is_made() -> None:
    beats = [{step.rpc for step in beat} for beat in drawn(told().world)]

    assert any("CreateContainer" in rpcs and rpcs & set(STATISTICS) for rpcs in beats)


def test_each_makes_something_under_a_name_of_its_own() -> None:
    for beat in drawn(told().world):
        names = [step.makes for step in beat if step.makes]
        assert len(names) == len(set(names))
        assert {int(name.rpartition("-")[2]) for name in names} == set(range(2 + 1, 2 + 1 + len(names))), (
            "the next step takes up the count there"
        )


def test_of_two_creations_some_have_one_name() -> None:
    pairs = [
        [(step.inside, step.name) for step in beat]
        for beat in drawn(told().world, clients=2, only="CreateContainer")
        if len(beat) > 1 and not any(step.attempt for step in beat)
    ]
    equal = sum(one == other for one, other in pairs)

    assert 0 < equal < len(pairs) / 2


def test_what_fails_below_the_runtime_is_alone() -> None:
    beats = drawn(told().world)

    assert any(step.failing for beat in beats for step in beat)
    assert all(len(beat) == 1 for beat in beats if any(step.failing for step in beat))


def test_what_is_about_nothing_is_alone() -> None:
    stop = Step("StopContainer", on=NOTHING)

    choice = {("StopContainer", "unknown"): [stop]}
    chance = random.Random(1)  # noqa: S311 - chance, no secret
    beat, _ = side_by_side.next_beat(World(), choice, Counter(), chance, 2)

    assert beat == (stop,)
