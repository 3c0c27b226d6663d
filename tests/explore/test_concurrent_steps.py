"""Which steps run concurrently."""

import random
from collections import Counter

from critests.explore import concurrent_steps
from critests.explore.step_generator import steps_by_place
from critests.model import Step, World
from critests.model.linearization import touches
from critests.model.steps import NOTHING, STATISTICS
from tests.model.fake_runtime import FakeRuntime

ROUNDS = 1000


def fake_runtime() -> FakeRuntime:
    fake = FakeRuntime()
    fake.add_sandbox()
    fake.add_running()
    return fake


def drawn(world: World, clients: int = 3, only: str = "") -> list[tuple[Step, ...]]:
    choice = {
        place: steps
        for place, steps in steps_by_place(world, [], disruptive=True).items()
        if only in {"", place[0]}
    }
    chance = random.Random(1)  # noqa: S311 - chance, no secret
    return [concurrent_steps.next_group(world, choice, Counter(), chance, clients)[0] for _ in range(ROUNDS)]


def test_concurrent_steps_are_about_the_same_object_or_create_some() -> None:
    world = fake_runtime().world
    groups = [group for group in drawn(world) if len(group) > 1]

    assert {len(group) for group in groups} == {2, 3}
    assert all(
        touches(world, group[0]) & touches(world, step)
        for group in groups
        for step in group
        # a creation with another name is a pod, or a container in an unknown sandbox
        if step.rpc not in STATISTICS and not (step.makes and step.rpc == group[0].rpc)
    )


def test_statistics_are_listed_during_creations() -> None:
    groups = [{step.rpc for step in group} for group in drawn(fake_runtime().world)]

    assert any("CreateContainer" in rpcs and rpcs & set(STATISTICS) for rpcs in groups)


def test_each_creation_has_its_own_key() -> None:
    for group in drawn(fake_runtime().world):
        names = [step.makes for step in group if step.makes]
        assert len(names) == len(set(names))
        assert {int(name.rpartition("-")[2]) for name in names} == set(range(2 + 1, 2 + 1 + len(names))), (
            "the next step continues the numbers"
        )


def test_some_concurrent_creations_have_the_same_name() -> None:
    pairs = [
        [(step.inside, step.name) for step in group]
        for group in drawn(fake_runtime().world, clients=2, only="CreateContainer")
        if len(group) > 1 and not any(step.attempt for step in group)
    ]
    equal = sum(one == other for one, other in pairs)

    assert 0 < equal < len(pairs) / 2


def test_a_step_that_fails_below_the_runtime_runs_alone() -> None:
    groups = drawn(fake_runtime().world)

    assert any(step.failing for group in groups for step in group)
    assert all(len(group) == 1 for group in groups if any(step.failing for step in group))


def test_a_step_about_an_unknown_object_runs_alone() -> None:
    stop = Step("StopContainer", on=NOTHING)

    choice = {("StopContainer", "unknown"): [stop]}
    chance = random.Random(1)  # noqa: S311 - chance, no secret
    group, _ = concurrent_steps.next_group(World(), choice, Counter(), chance, 2)

    assert group == (stop,)
