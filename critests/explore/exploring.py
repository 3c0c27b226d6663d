"""One exploration: round after round until the time is over, and what was found shortened and tried again."""

import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from critests.client.recording import Call
from critests.explore import machine, side_by_side
from critests.explore.findings import Finding
from critests.explore.playing import DAEMON_ENDED, Player
from critests.explore.shortening import shortest
from critests.explore.watching import Found, Over, Watch
from critests.model import Beat, Breach

TRIES = 10
LOOKS = 4
"""How often a sequence is played again before it is shortened. What breaks the promise in some of them only
is taken for shorter where it does so in one of as many.
"""
SURE = 2
"""How often a shorter sequence must break the promise in a row: what came about by chance, or by what the
sequences before it left behind, is no reason to leave out a step.
"""
SHORTEN_SECONDS = 120.0
"""For leaving out single steps, of each finding."""


@dataclass
class Explored:
    """What became of it.

    Attributes:
        seed: of the random choices.
        findings: in the order in which they were found.
        known: breaches of promises that the runtime is known to break, with how often each came.
        outcomes: how often each RPC was answered how in which situation.
        sequences: that were played, all tries included.
        steps: likewise.
        seconds: that it took.
        interrupted: whether the user ended it.
    """

    seed: int
    findings: list[Finding] = field(default_factory=list)
    known: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    outcomes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    sequences: int = 0
    steps: int = 0
    seconds: float = 0.0
    interrupted: bool = False


@dataclass
class Exploration:
    """Explores one runtime.

    Attributes:
        player: plays sequences on it.
        seed: of the random choices: the same one makes the same sequences, on a runtime that answers the
            same.
        seconds: how long to look for something new; what was found last is still shortened and tried again.
        most_steps: of a sequence.
        known: aspects that the runtime is known to break, which are counted and not reported.
        say: called with a line of progress.
        most_findings: ends it early; 0 for all that the time allows.
        clients: how many steps are played at once.
    """

    player: Player
    seed: int
    seconds: float
    most_steps: int
    known: frozenset[str] = frozenset()
    say: Callable[[str], None] = lambda _: None
    most_findings: int = 0
    clients: int = 1
    _stopped: bool = field(default=False, init=False)
    _kinds: set[tuple[str, str, str]] = field(default_factory=set, init=False)

    def stop(self) -> None:
        """End it as soon as the step under way is over; what was found is kept."""
        self._stopped = True

    def run(self) -> Explored:
        """Explore until the time is over."""
        begun = time.monotonic()
        over = begun + self.seconds
        watch = Watch(self._muted, lambda: self._stopped or time.monotonic() > over)
        explored = Explored(self.seed, known=watch.muted_seen, outcomes=watch.outcomes)
        rounds = random.Random(self.seed)  # noqa: S311 - chance, no secret
        ended = False
        while not (ended or watch.over()):
            try:
                self._play_round(watch, rounds.getrandbits(32))
            except Over:
                ended = True
            for found in list(watch.found.values()):
                if found.breach.kind not in self._kinds:
                    ended |= self._take(found, explored)
            watch.found.clear()
        explored.sequences, explored.steps = self.player.played, self.player.steps
        explored.seconds = time.monotonic() - begun
        explored.interrupted = self._stopped
        return explored

    def _play_round(self, watch: Watch, number: int) -> None:
        if self.clients > 1:
            side_by_side.play_round(self.player, watch, number, self.most_steps, self.clients)
        else:
            machine.play_round(self.player, watch, number, self.most_steps)

    def _muted(self, breach: Breach) -> bool:
        return breach.aspect in self.known or breach.kind in self._kinds

    def _take(self, found: Found, explored: Explored) -> bool:
        """Shorten and try again what was found; return whether nothing more can be found."""
        breach, beats = found.breach, found.beats
        self.say(f"{breach}\n  after {len(beats)} steps; shortening")
        if breach.what == DAEMON_ENDED:
            explored.findings.append(Finding(breach, tuple(beats), 0, 0, found.calls))
            return True
        until = time.monotonic() + SHORTEN_SECONDS
        came = sum(self._breaks(breach, beats) for _ in range(LOOKS))

        def breaks(shorter: Sequence[Beat]) -> bool:
            if self._stopped or time.monotonic() > until:
                return False
            if came == LOOKS:
                return all(self._breaks(breach, shorter) for _ in range(SURE))
            return any(self._breaks(breach, shorter) for _ in range(LOOKS))

        shorter = shortest(beats, breaks) if came else beats
        finding = self._tried(breach, shorter, found.calls)
        self._kinds.add(breach.kind)
        explored.findings.append(finding)
        self.say(f"{finding}\n  came again in {finding.again} of {finding.tries} tries")
        return 0 < self.most_findings <= len(explored.findings)

    def _tried(self, breach: Breach, beats: Sequence[Beat], calls: tuple[Call, ...]) -> Finding:
        """Play a sequence again and again; what never comes again keeps the calls with which it came."""
        recorder = self.player.connection.recorder
        tries = again = 0
        while tries < TRIES and not self._stopped:
            position = recorder.position
            tries += 1
            if self._breaks(breach, beats):
                again += 1
                calls = tuple(recorder.since(position))
        return Finding(breach, tuple(beats), tries, again, calls)

    def _breaks(self, breach: Breach, beats: Sequence[Beat]) -> bool:
        found = self.player.breaches(beats, self._muted)
        return any(each.kind == breach.kind for each in found)
