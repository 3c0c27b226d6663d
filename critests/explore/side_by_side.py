"""Makes sequences of several clients: some of their beats are steps that are played at once, about the same
object.

Hypothesis plays one step after another, and calls flaky what does not come again. What clients do side by
side seldom comes about twice, so that these sequences are drawn by chance alone, and what they find is kept
with its calls however often it comes.
"""

import random
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from critests.explore.sequence_counts import SequenceCounts
from critests.explore.sequence_runner import Player
from critests.explore.step_generator import Place, likely, steps_by_place
from critests.model import Beat, Step, World
from critests.model.linearization import CHANGING, DURING_A_STOP, touches
from critests.model.steps import STATISTICS
from critests.model.world import LINGERING

SEQUENCES = 10
"""Sequences of a round; after it, what is likely is reckoned anew from what was covered."""
AT_ONCE = 0.5
"""How many of the steps that change something are played beside others."""
CHANGE = 0.75
"""How many of those others change something too."""
STATED = 0.3
"""How many of the rest ask for statistics, which meet what is half made or half gone."""
GO_ON = 0.75
"""How many of those beside the stop of what lingers are calls that are to go on meanwhile."""
OWN_NAME = 0.8
"""How many of two creations at once have two names: of two with one name, some runtimes let the second wait
until its client gives up, which takes the time of twenty other steps.
"""


def play_round(player: Player, watch: SequenceCounts, number: int, most_steps: int, clients: int) -> None:
    """Play sequences until one breaks a promise.

    Args:
        player: plays them.
        watch: is told, and has what was found afterwards.
        number: of the round's random choices: which steps come is certain only as long as the runtime answers
            the same.
        most_steps: beats of a sequence.
        clients: the most steps of a beat.

    Raises:
        Over: the time is over.
    """
    chance = random.Random(number)  # noqa: S311 - chance, no secret
    before = watch.round_begins()
    for _ in range(SEQUENCES):
        with player.sequence() as played:
            for _ in range(most_steps):
                watch.check()
                done = [beat[0] for beat in played.beats]
                choice = steps_by_place(played.world, done, disruptive=player.daemon is not None)
                steps, places = next_beat(played.world, choice, before, chance, clients)
                if watch.play(played, steps, places) is not None:
                    return
                if played.over:
                    break


def next_beat(
    world: World,
    choice: dict[Place, list[Step]],
    before: Counter[Place],
    chance: random.Random,
    clients: int,
) -> tuple[Beat, list[Place]]:
    """Draw a beat.

    Args:
        world: as it is.
        choice: every step that makes sense in it, by its place.
        before: how often each place was covered.
        chance: draws.
        clients: the most steps of a beat.

    Returns:
        The steps, and the place of each.
    """
    place = chance.choice(likely(list(choice), before))
    first = chance.choice(choice[place])
    steps, places = [first], [place]
    if first.rpc not in CHANGING or first.disturbed or chance.random() > AT_ONCE:
        return (first,), places
    # what fails or hangs below the runtime would do so for all of them
    about = touches(world, first)
    related = {
        place: [step for step in steps_there if _is_about(world, step, about) and not step.disturbed]
        for place, steps_there in choice.items()
    }
    if not about:  # nothing that there is
        return (first,), places
    together = chance.randint(2, clients)
    while len(steps) < together:
        rpcs = _rpcs_beside(places[0], chance)
        there = [place for place, found in related.items() if found]
        wanted = [place for place in there if place[0] in rpcs] or there
        place = chance.choice(likely(wanted, before))
        steps.append(_renamed(chance.choice(related[place]), steps, chance))
        places.append(place)
    return tuple(steps), places


def _rpcs_beside(first: Place, chance: random.Random) -> Collection[str]:
    """Draw the RPCs among which the next one is; none where every one will do."""
    if LINGERING in first[1] and chance.random() < GO_ON:
        return DURING_A_STOP
    if chance.random() < CHANGE:
        return CHANGING
    return STATISTICS if chance.random() < STATED else ()


def _is_about(world: World, step: Step, objects: set[str]) -> bool:
    """Tell whether a step is about some of these objects; statistics are of all that there are."""
    return step.rpc in STATISTICS or bool(touches(world, step) & objects)


def _renamed(step: Step, beside: Sequence[Step], chance: random.Random) -> Step:
    """Return a step with a key of its own for what it makes, and mostly a name of its own as well."""
    if not step.makes:
        return step
    kind, _, number = step.makes.rpartition("-")
    own = str(int(number) + sum(bool(each.makes) for each in beside))
    name = step.name
    if name.endswith(f"-{number}") and chance.random() < OWN_NAME:
        name = name.removesuffix(number) + own
    return replace(step, makes=f"{kind}-{own}", name=name)
