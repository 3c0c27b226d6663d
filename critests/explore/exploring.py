"""One exploration: round after round until the time is over, and what was found shortened and tried again."""

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import grpc

from critests.client.failures import code_of
from critests.explore import side_by_side, step_machine
from critests.explore.exploration_findings import ExplorationFinding
from critests.explore.exploration_state import StoppedExploration
from critests.explore.sequence_counts import FailingSequence, Over, SequenceCounts
from critests.explore.sequence_runner import DAEMON_ENDED, Player, SequenceEvidence
from critests.explore.shortening import shortest
from critests.model import Beat, Breach

TRIES = 10
LOOKS, LOOKS_AT_ONCE = 4, 12
"""How often a sequence is played again before it is shortened, and one of several clients. What breaks the
promise in some of them only is taken for shorter where it does so in one of as many.
"""
SURE = 2
"""How often a shorter sequence must break the promise in a row: what came about by chance, or by what the
sequences before it left behind, is no reason to leave out a step.
"""
PROGRESS_SECONDS = 60.0
SHORTEN_SECONDS = 120.0
"""For leaving out single steps, of each finding; times the scale of the deadlines."""
LOOK_SECONDS, TRY_SECONDS = 40.0, 120.0
"""Likewise, in which it is begun to play a sequence again before that, and after it: steps that hang make a
sequence long, and once is enough then.
"""


@dataclass
class Explored:
    """What became of it.

    Attributes:
        earlier: what it was begun with, and at the end what another one can go on with.
        findings: in the order in which they were found.
        known: signatures of breaches that were known or told already, with how often each came.
        outcomes: how often each RPC was answered how in which situation.
        sequences: that were played, all tries included.
        steps: likewise.
        seconds: that it took.
        interrupted: whether the user ended it.
    """

    earlier: StoppedExploration
    findings: list[ExplorationFinding] = field(default_factory=list)
    known: Counter[str] = field(default_factory=Counter)
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
        earlier: with the seed of the random choices: the same one makes the same sequences, on a runtime that
            answers the same. And what was played and told before, where this goes on.
        seconds: how long to look for something new; what was found last is still shortened and tried again.
        most_steps: of a sequence.
        known: tells breaches that the runtime is known for, which are counted and not reported.
        say: called with a line of progress.
        most_findings: ends it early; 0 for all that the time allows.
        clients: how many steps are played at once.
    """

    player: Player
    earlier: StoppedExploration
    seconds: float
    most_steps: int
    known: Callable[[Breach], bool] = lambda _: False
    say: Callable[[str], None] = lambda _: None
    most_findings: int = 0
    clients: int = 1
    _stopped: bool = field(default=False, init=False)
    _came_upon: ExplorationFinding | None = field(default=None, init=False)
    """The end of the daemon, where something else was shortened or between sequences."""
    _tell_again: float = field(default=math.inf, init=False)
    _kinds: set[tuple[str, str, str]] = field(init=False)

    def __post_init__(self) -> None:
        """Nothing is told twice."""
        self._kinds = set(self.earlier.told)

    def stop(self) -> None:
        """End it as soon as the step under way is over; what was found is kept."""
        self._stopped = True

    def run(self) -> Explored:
        """Explore until the time is over."""
        begun = time.monotonic()
        over = begun + self.seconds
        self._tell_again = begun + PROGRESS_SECONDS
        watch = SequenceCounts(self._muted, lambda: self._is_over(over))
        watch.covered.update(self.earlier.covered)
        explored = Explored(self.earlier, known=watch.muted_seen, outcomes=watch.outcomes)
        chance = random.Random(self.earlier.seed)  # noqa: S311 - chance, no secret
        rounds = self.earlier.rounds
        for _ in range(rounds):
            chance.getrandbits(32)
        ended = False
        while not (ended or self.player.gone or watch.over()):
            rounds += 1
            try:
                self._play_round(watch, chance.getrandbits(32))
            except Over:
                ended = True
            except grpc.RpcError as error:
                self._note_the_end(error, ())
            for found in list(watch.found.values()):
                if found.breach.kind not in self._kinds:
                    ended |= self._take(found, explored)
            watch.found.clear()
        if self._came_upon is not None and not any(
            finding.breach.what == DAEMON_ENDED for finding in explored.findings
        ):
            explored.findings.append(self._came_upon)
        explored.sequences, explored.steps = self.player.played, self.player.steps
        explored.seconds = time.monotonic() - begun
        explored.earlier = StoppedExploration(
            self.earlier.seed, rounds, watch.covered, frozenset(self._kinds)
        )
        explored.interrupted = self._stopped
        return explored

    def _is_over(self, over: float) -> bool:
        now = time.monotonic()
        if now > self._tell_again:
            self._tell_again = now + PROGRESS_SECONDS
            left = max(0.0, over - now)
            self.say(f"{self.player.steps} steps in {self.player.played} sequences; {left:.0f} s left")
        return self._stopped or now > over

    def _play_round(self, watch: SequenceCounts, number: int) -> None:
        if self.clients > 1:
            side_by_side.play_round(self.player, watch, number, self.most_steps, self.clients)
        else:
            step_machine.play_round(self.player, watch, number, self.most_steps)

    def _muted(self, breach: Breach) -> bool:
        return breach.kind in self._kinds or self.known(breach)

    def _take(self, found: FailingSequence, explored: Explored) -> bool:
        """Shorten and try again what was found; return whether nothing more can be found."""
        breach, beats = found.breach, found.beats
        self.say(f"{breach}\n  after {len(beats)} steps; shortening")
        until = self._in(SHORTEN_SECONDS)
        enough = self._in(LOOK_SECONDS)
        looks = LOOKS_AT_ONCE if any(len(beat) > 1 for beat in beats) else LOOKS
        came = looked = 0
        # what has not come again so far may be chance, and is given as many tries as anything else
        while looked < (looks if came else max(looks, TRIES)) and self._may_play:
            if looked and time.monotonic() > enough:
                break
            looked += 1
            came += self._breaks(breach, beats)

        def breaks(shorter: Sequence[Beat]) -> bool:
            if not self._may_play or time.monotonic() > until:
                return False
            if came == looked:
                return all(self._breaks(breach, shorter) for _ in range(SURE))
            return any(self._breaks(breach, shorter) for _ in range(looks))

        if came:
            finding = self._tried(breach, shortest(beats, breaks), found.evidence)
        else:
            finding = ExplorationFinding(breach, tuple(beats), looked, 0, found.evidence)
        self._kinds.add(breach.kind)
        explored.findings.append(finding)
        self.say(f"{finding}\n  came again in {finding.again} of {finding.tries} tries")
        return 0 < self.most_findings <= len(explored.findings)

    def _in(self, seconds: float) -> float:
        return time.monotonic() + seconds * self.player.connection.deadlines.scale

    def _tried(self, breach: Breach, beats: Sequence[Beat], evidence: SequenceEvidence) -> ExplorationFinding:
        """Play a sequence again and again; what never comes again keeps the evidence of when it came."""
        tries = again = 0
        enough = self._in(TRY_SECONDS)
        while tries < TRIES and self._may_play and (not tries or time.monotonic() < enough):
            tries += 1
            if self._breaks(breach, beats):
                again += 1
                evidence = self.player.evidence()
        return ExplorationFinding(breach, tuple(beats), tries, again, evidence)

    def _note_the_end(self, error: grpc.RpcError, beats: Sequence[Beat]) -> None:
        """Note that the daemon has ended, with the sequence that was to be played next, and bring it back.

        Raises:
            grpc.RpcError: it lives.
        """
        if self.player.daemon_lives():
            raise error
        breach = Breach("GEN-17", DAEMON_ENDED, "between sequences", "a daemon that lives", code_of(error)[0])
        self._came_upon = self._came_upon or ExplorationFinding(
            breach, tuple(beats), 0, 0, self.player.evidence()
        )
        self.player.bring_back()

    @property
    def _may_play(self) -> bool:
        return not (self._stopped or self.player.gone)

    def _breaks(self, breach: Breach, beats: Sequence[Beat]) -> bool:
        if not self._may_play:
            return False
        try:
            found = self.player.breaches(beats, self._muted)
        except grpc.RpcError as error:
            self._note_the_end(error, beats)
            return False
        for each in found:
            if each.what == DAEMON_ENDED and each.kind != breach.kind:
                self._came_upon = ExplorationFinding(each, tuple(beats), 0, 0, self.player.evidence())
        return any(each.kind == breach.kind for each in found)
