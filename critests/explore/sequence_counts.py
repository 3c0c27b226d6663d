"""Counts the steps of sequences: what was covered, what was found, and whether the time is over."""

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from critests.explore.sequence_runner import SequenceEvidence, StepSequence
from critests.explore.step_generator import Place
from critests.model import Breach, StepGroup

SHORTEN_SECONDS = 8.0
"""How long Hypothesis may shorten, before single steps are left out."""


class TimeIsOver(BaseException):
    """The time is over; not an Exception, which Hypothesis would take for a failure of a sequence."""


class ShorteningIsOver(BaseException):
    """Hypothesis has shortened for long enough; not an Exception either."""


@dataclass(frozen=True)
class FailingSequence:
    """A sequence that broke a promise.

    Attributes:
        breach: with its last group.
        groups: the sequence.
        evidence: of that sequence.
    """

    breach: Breach
    groups: list[StepGroup]
    evidence: SequenceEvidence


class SequenceCounts:
    """Counts the steps of an exploration.

    Args:
        muted: which breaches are known.
        over: returns whether the time is over.
    """

    def __init__(self, muted: Callable[[Breach], bool], over: Callable[[], bool]) -> None:
        self.muted = muted
        self.over = over
        self.covered: Counter[Place] = Counter()
        self.outcomes: Counter[tuple[str, str, str]] = Counter()
        self.found: dict[tuple[str, str, str], FailingSequence] = {}
        """The shortest sequence of each kind of breach."""
        self.muted_counts: Counter[str] = Counter()
        self._shorten_until = math.inf

    def begin_round(self) -> Counter[Place]:
        """Begin a round, and return how often each place was covered before it."""
        self._shorten_until = math.inf
        return Counter(self.covered)

    def check(self) -> None:
        """Check that a round may go on.

        Raises:
            TimeIsOver: the time is over.
            ShorteningIsOver: the time for shortening the round's finding is over.
        """
        if self.over():
            raise TimeIsOver
        if time.monotonic() > self._shorten_until:
            raise ShorteningIsOver

    def run(self, sequence: StepSequence, group: StepGroup, places: list[Place]) -> Breach | None:
        """Run a group, count it, and return a promise that it broke, if that is not known.

        Args:
            sequence: that it belongs to.
            group: its next one.
            places: of the group's steps.
        """
        breaches = sequence.run(group, self.muted)
        for place, code in zip(places, sequence.codes, strict=True):
            # the number of sequences for shortening depends on time, which must not influence later choices
            self.covered[place] += self._shorten_until == math.inf
            self.outcomes[(*place, code)] += 1
        new = None
        for breach in breaches:
            if self.muted(breach):
                self.muted_counts[breach.signature] += 1
            else:
                new = new or breach
                self._note(breach, sequence)
        return new

    def _note(self, breach: Breach, sequence: StepSequence) -> None:
        self._shorten_until = min(self._shorten_until, time.monotonic() + SHORTEN_SECONDS)
        known = self.found.get(breach.kind)
        if known is None or len(sequence.groups) < len(known.groups):
            self.found[breach.kind] = FailingSequence(
                breach, list(sequence.groups), sequence.runner.evidence()
            )
