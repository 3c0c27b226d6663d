"""Makes sequences with Hypothesis: a state machine whose one rule is a step that is possible in the world as
it is, drawn the more often the less its place was covered.
"""

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable

from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Flaky, FlakyStrategyDefinition
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from critests.explore.playing import Played, Player
from critests.explore.possible import Place, likely, steps_by_place
from critests.model import Breach, Step

SHORTEN_SECONDS = 8.0
"""For Hypothesis to shorten in, before single steps are left out."""
SEQUENCES = 25
"""Sequences of a round; after it, what is likely is reckoned anew from what was covered."""


class Broken(Exception):
    """A sequence broke a promise: what Hypothesis shortens."""


class Over(BaseException):
    """The time is over; no exception that Hypothesis would take for a failure of a sequence."""


class ShortEnough(BaseException):
    """Hypothesis has shortened for long enough; no failure of a sequence either."""


class Watch:
    """What is told of each sequence: keeps count, and says when the time is over."""

    def __init__(self, muted: Callable[[Breach], bool], over: Callable[[], bool]) -> None:
        self.muted = muted
        self.over = over
        self.covered: Counter[Place] = Counter()
        self.outcomes: Counter[tuple[str, str, str]] = Counter()
        self.found: dict[tuple[str, str, str], tuple[Breach, list[Step]]] = {}
        """The shortest sequence of each kind of breach, with the breach."""
        self.muted_seen: Counter[tuple[str, str, str]] = Counter()
        self.shorten_until = math.inf

    def breach(self, breach: Breach, steps: list[Step]) -> None:
        """Keep a sequence, if it is the shortest of its kind."""
        self.shorten_until = min(self.shorten_until, time.monotonic() + SHORTEN_SECONDS)
        known = self.found.get(breach.kind)
        if known is None or len(steps) < len(known[1]):
            self.found[breach.kind] = (breach, steps)


def play_round(player: Player, watch: Watch, number: int, most_steps: int) -> None:
    """Play sequences until one breaks a promise, and let Hypothesis shorten it.

    Args:
        player: plays them.
        watch: is told, and has what was found afterwards.
        number: of the round's random choices.
        most_steps: of a sequence.

    Raises:
        Over: the time is over.
    """
    before = Counter(watch.covered)
    watch.shorten_until = math.inf

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self._context = player.sequence()
            self.played: Played = self._context.__enter__()

        @rule(data=st.data())
        def step(self, data: st.DataObject) -> None:
            if watch.over():
                raise Over
            if time.monotonic() > watch.shorten_until:
                raise ShortEnough
            choice = steps_by_place(self.played.world, self.played.steps)
            place = data.draw(st.sampled_from(likely(list(choice), before)))
            step = data.draw(st.sampled_from(choice[place]))
            breaches = self.played.play(step)
            watch.covered[place] += 1
            watch.outcomes[(*place, self.played.codes[-1])] += 1
            for breach in breaches:
                if watch.muted(breach):
                    watch.muted_seen[breach.kind] += 1
                else:
                    watch.breach(breach, list(self.played.steps))
            if any(not watch.muted(breach) for breach in breaches):
                raise Broken(str(next(breach for breach in breaches if not watch.muted(breach))))

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
