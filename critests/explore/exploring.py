"""One exploration: rounds until the time is over; each finding is shortened and run again."""

import math
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import grpc

from critests.client.failures import code_of
from critests.explore import concurrent_steps, step_machine
from critests.explore.exploration_findings import ExplorationFinding
from critests.explore.exploration_state import StoppedExploration
from critests.explore.sequence_counts import FailingSequence, SequenceCounts, TimeIsOver
from critests.explore.sequence_runner import DAEMON_ENDED, SequenceEvidence, SequenceRunner
from critests.explore.shortening import shortest
from critests.model import Breach, StepGroup

TRIES = 10
REPLAYS, REPLAYS_CONCURRENT = 4, 12
"""How often a sequence is run again before it is shortened, and a sequence of several clients. If only some
of these runs break the promise, a shorter sequence must break it in one of as many.
"""
CONFIRMATIONS = 2
"""How often in a row a shorter sequence must break the promise, so that neither chance nor leftovers of
earlier sequences justify leaving out a step.
"""
PROGRESS_SECONDS = 60.0
SHORTEN_SECONDS = 120.0
"""For leaving out single steps, of each finding; times the scale of the deadlines."""
REPLAY_SECONDS, TRY_SECONDS = 40.0, 120.0
"""For running a sequence again before it is shortened, and afterwards, times the scale: no new run begins
later. Steps that hang make a sequence long, and one run is enough then.
"""


@dataclass
class ExplorationResult:
    """The result of an exploration.

    Attributes:
        earlier: the state with which it began, and at its end the state from which another one resumes.
        findings: in the order in which they were found.
        known: signatures of breaches that were known or reported before, with their counts.
        outcomes: counts by RPC, situation and outcome.
        sequences: number of sequences, all tries included.
        steps: number of steps, all tries included.
        seconds: its duration.
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
        runner: runs sequences on it.
        earlier: state to begin with. Its seed determines the sequences, on a runtime that responds alike.
        seconds: how long to search; the last finding is still shortened and run again afterwards.
        most_steps: of a sequence.
        known: recognises breaches for which the runtime is known, which are counted and not reported.
        say: called with a line of progress.
        most_findings: ends it early; 0 for no limit.
        clients: how many steps run concurrently.
    """

    runner: SequenceRunner
    earlier: StoppedExploration
    seconds: float
    most_steps: int
    known: Callable[[Breach], bool] = lambda _: False
    say: Callable[[str], None] = lambda _: None
    most_findings: int = 0
    clients: int = 1
    _stopped: bool = field(default=False, init=False)
    _daemon_exit: ExplorationFinding | None = field(default=None, init=False)
    """An exit of the daemon while something else was shortened, or between sequences."""
    _next_progress: float = field(default=math.inf, init=False)
    _kinds: set[tuple[str, str, str]] = field(init=False)

    def __post_init__(self) -> None:
        """Mute what was reported before."""
        self._kinds = set(self.earlier.reported)

    def stop(self) -> None:
        """End it after the current step; findings so far are reported."""
        self._stopped = True

    def run(self) -> ExplorationResult:
        """Explore until the time is over."""
        begun = time.monotonic()
        over = begun + self.seconds
        self._next_progress = begun + PROGRESS_SECONDS
        counts = SequenceCounts(self._muted, lambda: self._is_over(over))
        counts.covered.update(self.earlier.covered)
        result = ExplorationResult(self.earlier, known=counts.muted_counts, outcomes=counts.outcomes)
        chance = random.Random(self.earlier.seed)  # noqa: S311 - no secret
        rounds = self.earlier.rounds
        for _ in range(rounds):
            chance.getrandbits(32)
        ended = False
        while not (ended or self.runner.gone or counts.over()):
            rounds += 1
            try:
                self._run_round(counts, chance.getrandbits(32))
            except TimeIsOver:
                ended = True
            except grpc.RpcError as error:
                self._note_daemon_exit(error, ())
            for found in list(counts.found.values()):
                if found.breach.kind not in self._kinds:
                    ended |= self._take(found, result)
            counts.found.clear()
        if self._daemon_exit is not None and not any(
            finding.breach.what == DAEMON_ENDED for finding in result.findings
        ):
            result.findings.append(self._daemon_exit)
        result.sequences, result.steps = self.runner.sequence_count, self.runner.step_count
        result.seconds = time.monotonic() - begun
        result.earlier = StoppedExploration(self.earlier.seed, rounds, counts.covered, frozenset(self._kinds))
        result.interrupted = self._stopped
        return result

    def _is_over(self, over: float) -> bool:
        now = time.monotonic()
        if now > self._next_progress:
            self._next_progress = now + PROGRESS_SECONDS
            left = max(0.0, over - now)
            self.say(
                f"{self.runner.step_count} steps in {self.runner.sequence_count} sequences; {left:.0f} s left"
            )
        return self._stopped or now > over

    def _run_round(self, counts: SequenceCounts, number: int) -> None:
        if self.clients > 1:
            concurrent_steps.run_round(self.runner, counts, number, self.most_steps, self.clients)
        else:
            step_machine.run_round(self.runner, counts, number, self.most_steps)

    def _muted(self, breach: Breach) -> bool:
        return breach.kind in self._kinds or self.known(breach)

    def _take(self, found: FailingSequence, result: ExplorationResult) -> bool:
        """Shorten a finding and run it again; return whether the exploration is complete."""
        breach, groups = found.breach, found.groups
        self.say(f"{breach}\n  after {len(groups)} steps; shortening")
        until = self._in(SHORTEN_SECONDS)
        enough = self._in(REPLAY_SECONDS)
        replays = REPLAYS_CONCURRENT if any(len(group) > 1 for group in groups) else REPLAYS
        reproduced = replayed = 0
        # a finding that has not reproduced yet may be a race, and gets as many tries as a shortened one
        while replayed < (replays if reproduced else max(replays, TRIES)) and self._may_run:
            if replayed and time.monotonic() > enough:
                break
            replayed += 1
            reproduced += self._breaks(breach, groups)

        def breaks(shorter: Sequence[StepGroup]) -> bool:
            if not self._may_run or time.monotonic() > until:
                return False
            if reproduced == replayed:
                return all(self._breaks(breach, shorter) for _ in range(CONFIRMATIONS))
            return any(self._breaks(breach, shorter) for _ in range(replays))

        if reproduced:
            finding = self._rerun(breach, shortest(groups, breaks), found.evidence)
        else:
            finding = ExplorationFinding(breach, tuple(groups), replayed, 0, found.evidence)
        self._kinds.add(breach.kind)
        result.findings.append(finding)
        self.say(f"{finding}\n  reproduced in {finding.reproduced} of {finding.tries} tries")
        return 0 < self.most_findings <= len(result.findings)

    def _in(self, seconds: float) -> float:
        return time.monotonic() + seconds * self.runner.connection.deadlines.scale

    def _rerun(
        self, breach: Breach, groups: Sequence[StepGroup], evidence: SequenceEvidence
    ) -> ExplorationFinding:
        """Run a sequence several times; a finding that never reproduces keeps the evidence of its first
        run.
        """
        tries = reproduced = 0
        enough = self._in(TRY_SECONDS)
        while tries < TRIES and self._may_run and (not tries or time.monotonic() < enough):
            tries += 1
            if self._breaks(breach, groups):
                reproduced += 1
                evidence = self.runner.evidence()
        return ExplorationFinding(breach, tuple(groups), tries, reproduced, evidence)

    def _note_daemon_exit(self, error: grpc.RpcError, groups: Sequence[StepGroup]) -> None:
        """Note that the daemon exited, with the sequence that was about to run, and start it again.

        Raises:
            grpc.RpcError: it lives.
        """
        if self.runner.daemon_lives():
            raise error
        breach = Breach("GEN-17", DAEMON_ENDED, "between sequences", "a daemon that lives", code_of(error)[0])
        self._daemon_exit = self._daemon_exit or ExplorationFinding(
            breach, tuple(groups), 0, 0, self.runner.evidence()
        )
        self.runner.restart_if_exited()

    @property
    def _may_run(self) -> bool:
        return not (self._stopped or self.runner.gone)

    def _breaks(self, breach: Breach, groups: Sequence[StepGroup]) -> bool:
        if not self._may_run:
            return False
        try:
            found = self.runner.breaches(groups, self._muted)
        except grpc.RpcError as error:
            self._note_daemon_exit(error, groups)
            return False
        for each in found:
            if each.what == DAEMON_ENDED and each.kind != breach.kind:
                self._daemon_exit = ExplorationFinding(each, tuple(groups), 0, 0, self.runner.evidence())
        return any(each.kind == breach.kind for each in found)
