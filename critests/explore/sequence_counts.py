"""What a round tells of its sequences: what was covered, what was found, and whether the time is over."""

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from critests.explore.sequence_runner import Played, SequenceEvidence
from critests.explore.step_generator import Place
from critests.model import Beat, Breach

SHORTEN_SECONDS = 8.0
"""For Hypothesis to shorten in, before single steps are left out."""


class Over(BaseException):
    """The time is over; no exception that Hypothesis would take for a failure of a sequence."""


class ShortEnough(BaseException):
    """Hypothesis has shortened for long enough; no failure of a sequence either."""


@dataclass(frozen=True)
class FailingSequence:
    """A sequence that broke a promise.

    Attributes:
        breach: with its last beat.
        beats: the sequence.
        evidence: of that sequence.
    """

    breach: Breach
    beats: list[Beat]
    evidence: SequenceEvidence


class SequenceCounts:
    """Keeps count of the sequences of an exploration.

    Args:
        muted: which breaches are known.
        over: says whether the time is over.
    """

    def __init__(self, muted: Callable[[Breach], bool], over: Callable[[], bool]) -> None:
        self.muted = muted
        self.over = over
        self.covered: Counter[Place] = Counter()
        self.outcomes: Counter[tuple[str, str, str]] = Counter()
        self.found: dict[tuple[str, str, str], FailingSequence] = {}
        """The shortest sequence of each kind of breach."""
        self.muted_seen: Counter[str] = Counter()
        self._shorten_until = math.inf

    def round_begins(self) -> Counter[Place]:
        """Note that a round begins, and return how often each place was covered before it."""
        self._shorten_until = math.inf
        return Counter(self.covered)

    def check(self) -> None:
        """Let a round go on.

        Raises:
            Over: the time is over.
            ShortEnough: there was time enough for shortening what the round has found.
        """
        if self.over():
            raise Over
        if time.monotonic() > self._shorten_until:
            raise ShortEnough

    def play(self, played: Played, beat: Beat, places: list[Place]) -> Breach | None:
        """Play a beat, keep count, and return a promise that it broke, if that is not known.

        Args:
            played: the sequence.
            beat: its next one.
            places: of the beat's steps.
        """
        breaches = played.play(beat, self.muted)
        for place, code in zip(places, played.codes, strict=True):
            # how many sequences shorten what was found depends on the time, and what comes next must not
            self.covered[place] += self._shorten_until == math.inf
            self.outcomes[(*place, code)] += 1
        new = None
        for breach in breaches:
            if self.muted(breach):
                self.muted_seen[breach.signature] += 1
            else:
                new = new or breach
                self._keep(breach, played)
        return new

    def _keep(self, breach: Breach, played: Played) -> None:
        self._shorten_until = min(self._shorten_until, time.monotonic() + SHORTEN_SECONDS)
        known = self.found.get(breach.kind)
        if known is None or len(played.beats) < len(known.beats):
            self.found[breach.kind] = FailingSequence(breach, list(played.beats), played.player.evidence())
