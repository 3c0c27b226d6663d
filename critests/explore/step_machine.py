"""Generates sequences with Hypothesis: a state machine with one rule, a step that is possible in the current
world; places that were seldom covered are drawn more often.
"""

import contextlib

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky, FlakyStrategyDefinition
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from critests.explore.sequence_counts import SequenceCounts, ShorteningIsOver
from critests.explore.sequence_runner import SequenceRunner, StepSequence
from critests.explore.step_generator import likely, steps_by_place

SEQUENCES_PER_ROUND = 25
"""Sequences of a round; after it, the weights are computed anew from what was covered."""


class PromiseBroken(Exception):
    """A sequence broke a promise; Hypothesis shortens it."""


def run_round(runner: SequenceRunner, counts: SequenceCounts, number: int, most_steps: int) -> None:
    """Run sequences until one breaks a promise, and let Hypothesis shorten it.

    Args:
        runner: runs them.
        counts: counts the steps, and holds what was found afterwards.
        number: seed of the round's random choices.
        most_steps: of a sequence.

    Raises:
        TimeIsOver: the time is over.
    """
    before = counts.begin_round()

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self._context = runner.sequence()
            self.sequence: StepSequence = self._context.__enter__()

        @rule(data=st.data())
        def step(self, data: st.DataObject) -> None:
            counts.check()
            if self.sequence.over:
                return
            done = [group[0] for group in self.sequence.groups]
            choice = steps_by_place(self.sequence.world, done, disruptive=runner.daemon is not None)
            place = data.draw(st.sampled_from(likely(list(choice), before)))
            step = data.draw(st.sampled_from(choice[place]))
            breach = counts.run(self.sequence, (step,), [place])
            if breach is not None:
                raise PromiseBroken(str(breach))

        def teardown(self) -> None:
            self._context.__exit__(None, None, None)

    chosen = settings(
        max_examples=SEQUENCES_PER_ROUND,
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
    # a finding that does not reproduce is not lost: `counts.found` has it
    with contextlib.suppress(PromiseBroken, ShorteningIsOver, Flaky, FlakyStrategyDefinition):
        run_state_machine_as_test(seed(number)(Machine), settings=chosen)
