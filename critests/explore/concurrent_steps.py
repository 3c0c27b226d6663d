"""Generates sequences of several clients: some of their groups are steps about the same object that run
concurrently.

Hypothesis runs one step after another, and reports what does not reproduce as flaky. Races seldom reproduce,
so these sequences are drawn without it, and a finding is reported with its calls however often it reproduces.
"""

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from critests.explore.sequence_counts import SequenceCounts
from critests.explore.sequence_runner import SequenceRunner
from critests.explore.step_generator import Place, likely, steps_by_place
from critests.model import Step, StepGroup, World
from critests.model.linearization import CHANGING, DURING_A_STOP, touches
from critests.model.steps import STATISTICS
from critests.model.world import LINGERING

SEQUENCES_PER_ROUND = 10
"""Sequences of a round; after it, the weights are computed anew from what was covered."""
CONCURRENT_SHARE = 0.5
"""Share of the steps that change something and run concurrently with others."""
CHANGING_SHARE = 0.75
"""Share of those others that change something too."""
STATISTICS_SHARE = 0.3
"""Share of the rest that list statistics, while objects are half created or half removed."""
DURING_STOP_SHARE = 0.75
"""Share of the steps during a stop within its grace period that must work meanwhile."""
OWN_NAME_SHARE = 0.8
"""Share of concurrent creations with two names: with one name, some runtimes let the second call wait until
its client gives up, which takes as long as twenty other steps.
"""


def run_round(
    runner: SequenceRunner, counts: SequenceCounts, number: int, most_steps: int, clients: int
) -> None:
    """Run sequences until one breaks a promise.

    Args:
        runner: runs them.
        counts: counts the steps, and holds what was found afterwards.
        number: seed of the round's random choices; they repeat as long as the runtime responds alike.
        most_steps: groups of a sequence.
        clients: the most steps of a group.

    Raises:
        TimeIsOver: the time is over.
    """
    chance = random.Random(number)  # noqa: S311 - no secret
    before = counts.begin_round()
    for _ in range(SEQUENCES_PER_ROUND):
        with runner.sequence() as sequence:
            for _ in range(most_steps):
                counts.check()
                done = [group[0] for group in sequence.groups]
                choice = steps_by_place(sequence.world, done, disruptive=runner.daemon is not None)
                steps, places = next_group(sequence.world, choice, before, chance, clients)
                if counts.run(sequence, steps, places) is not None:
                    return
                if sequence.over:
                    break


def next_group(
    world: World,
    choice: dict[Place, list[Step]],
    before: Counter[Place],
    chance: random.Random,
    clients: int,
) -> tuple[StepGroup, list[Place]]:
    """Draw a group.

    Args:
        world: as it is.
        choice: every step that makes sense in it, by its place.
        before: how often each place was covered.
        chance: random generator.
        clients: the most steps of a group.

    Returns:
        The steps, and the place of each.
    """
    place = chance.choice(likely(list(choice), before))
    first = chance.choice(choice[place])
    steps, places = [first], [place]
    if first.rpc not in CHANGING or first.disturbed or chance.random() > CONCURRENT_SHARE:
        return (first,), places
    # a failure or hang below the runtime would affect all of them, so steps with one run alone
    about = touches(world, first)
    related = {
        place: [step for step in steps_there if _is_about(world, step, about) and not step.disturbed]
        for place, steps_there in choice.items()
    }
    if not about:  # the step names no existing object
        return (first,), places
    size = chance.randint(2, clients)
    while len(steps) < size:
        rpcs = _next_rpcs(places[0], chance)
        possible = [place for place, found in related.items() if found]
        preferred = [place for place in possible if place[0] in rpcs] or possible
        place = chance.choice(likely(preferred, before))
        steps.append(_renamed(chance.choice(related[place]), steps, chance))
        places.append(place)
    return tuple(steps), places


def _next_rpcs(first: Place, chance: random.Random) -> Collection[str]:
    """Draw the RPCs among which the next one is; empty for any RPC."""
    if LINGERING in first[1] and chance.random() < DURING_STOP_SHARE:
        return DURING_A_STOP
    if chance.random() < CHANGING_SHARE:
        return CHANGING
    return STATISTICS if chance.random() < STATISTICS_SHARE else ()


def _is_about(world: World, step: Step, objects: set[str]) -> bool:
    """Whether a step is about some of these objects; statistics are about all."""
    return step.rpc in STATISTICS or bool(touches(world, step) & objects)


def _renamed(step: Step, earlier: Sequence[Step], chance: random.Random) -> Step:
    """Return a step with a unique key for the object that it creates, and mostly a unique name as well."""
    if not step.makes:
        return step
    kind, _, number = step.makes.rpartition("-")
    own = str(int(number) + sum(bool(each.makes) for each in earlier))
    name = step.name
    if name.endswith(f"-{number}") and chance.random() < OWN_NAME_SHARE:
        name = name.removesuffix(number) + own
    return replace(step, makes=f"{kind}-{own}", name=name)
