"""Makes sequences with Hypothesis: a state machine whose one rule is a step that is possible in the world as
it is, drawn the more often the less its place was covered.
"""

import contextlib

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky, FlakyStrategyDefinition
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from critests.explore.sequence_counts import SequenceCounts, ShortEnough
from critests.explore.sequence_runner import Played, Player
from critests.explore.step_generator import likely, steps_by_place

SEQUENCES = 25
"""Sequences of a round; after it, what is likely is reckoned anew from what was covered."""


class Broken(Exception):
    """A sequence broke a promise: what Hypothesis shortens."""


def play_round(player: Player, watch: SequenceCounts, number: int, most_steps: int) -> None:
    """Play sequences until one breaks a promise, and let Hypothesis shorten it.

    Args:
        player: plays them.
        watch: is told, and has what was found afterwards.
        number: of the round's random choices.
        most_steps: of a sequence.

    Raises:
        Over: the time is over.
    """
    before = watch.round_begins()

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self._context = player.sequence()
            self.played: Played = self._context.__enter__()

        @rule(data=st.data())
        def step(self, data: st.DataObject) -> None:
            watch.check()
            if self.played.over:
                return
            done = [beat[0] for beat in self.played.beats]
            choice = steps_by_place(self.played.world, done, disruptive=player.daemon is not None)
            place = data.draw(st.sampled_from(likely(list(choice), before)))
            step = data.draw(st.sampled_from(choice[place]))
            breach = watch.play(self.played, (step,), [place])
            if breach is not None:
                raise Broken(str(breach))

        def teardown(self) -> None:
            self._context.__exit__(None, None, None)

    chosen = settings(
        max_examples=SEQUENCES,
        stateful_step_count=most_steps,
        deadline=None,
        database=None,
        derandomize=False,
        verbosity=Verbosity.quiet,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )
    # what a runtime does not do twice is kept all the same: `found` has it
    with contextlib.suppress(Broken, ShortEnough, Flaky, FlakyStrategyDefinition):
        run_state_machine_as_test(seed(number)(Machine), settings=chosen)
