"""Plays sequences on a runtime: every step, and after it a look at everything, held against the model."""

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import grpc

from critests.api import api_pb2 as cri
from critests.client.call_recording import Call
from critests.client.connection import Connection
from critests.client.failures import code_of
from critests.exit_codes import CannotTest
from critests.explore.disturbances import Below
from critests.explore.raw_calls import Calls
from critests.explore.state_reading import look_of, world_before
from critests.explore.step_execution import answer_to
from critests.lifecycle.requests import ImageName, RequestBuilder
from critests.model import Beat, Breach, Step, World, event_rules, judge
from critests.model.linearization import Done, judge_together
from critests.model.observations import StateSnapshot
from critests.model.steps import playable
from critests.run.failure_evidence import RuntimeLog

DAEMON_ENDED = "the daemon has ended"
UNAVAILABLE = "UNAVAILABLE"


@dataclass(frozen=True)
class SequenceEvidence:
    """What was asked and answered in the time of a sequence, and what the runtime wrote meanwhile."""

    calls: tuple[Call, ...] = ()
    log: bytes = b""


@dataclass
class Player:
    """Plays sequences on one runtime, each under a label of its own, and cleans up after each.

    Attributes:
        connection: to the runtime.
        requests: builds messages with the run's label.
        base: what containers are made of that name no image; no step removes it.
        images: makes what the steps of a sequence pull and remove, by key, with their tags: of each sequence
            its own, so that none meets what another left behind.
        handler: of every sandbox.
        daemon: what steps may disturb; None where they may not.
        start_again: starts the daemon that has ended, and raises CannotTest where it does not come back; None
            where it is somebody else's.
        log: of the runtime.
        gone: the daemon has ended, and nobody starts it again.
        played: number of sequences.
        steps: number of steps of all of them.
    """

    connection: Connection
    requests: RequestBuilder
    base: ImageName
    images: Callable[[], dict[str, tuple[str, ...]]] = dict
    handler: str = ""
    daemon: Below | None = None
    start_again: Callable[[], None] | None = None
    log: RuntimeLog = field(default_factory=lambda: RuntimeLog(""))
    gone: bool = False
    played: int = 0
    steps: int = 0
    _salt: str = field(default_factory=lambda: secrets.token_hex(3))
    """In the names of everything, so that two players on one runtime do not take the other's for theirs."""

    _begun: tuple[int, float] = (0, 0.0)
    """Where the last sequence begins in the record of calls, and in the log."""

    @contextlib.contextmanager
    def sequence(self) -> "Iterator[Played]":
        """Give a sequence that has not begun; what it made is removed at the end."""
        self.played += 1
        self._begun = self.connection.recorder.position, self.log.position()
        world = world_before(self.connection, self.images(), f"x{self._salt}-{self.played}-")
        calls = Calls(self.connection, self.requests, self.base, self.handler, self.daemon, world)
        try:
            yield Played(self, calls)
        finally:
            self.bring_back()
            calls.clear()

    def evidence(self) -> SequenceEvidence:
        """Return what the last sequence left behind so far."""
        calls, log = self._begun
        return SequenceEvidence(tuple(self.connection.recorder.since(calls)), self.log.since(log))

    def bring_back(self) -> None:
        """Start the daemon again where it has ended, so that the next sequence finds one."""
        if self.gone or self.daemon_lives():
            return
        self.gone = True
        if self.start_again is not None:
            with contextlib.suppress(CannotTest):
                self.start_again()
                self.gone = not self.daemon_lives()

    def daemon_lives(self) -> bool:
        """Whether the runtime answers."""
        try:
            self.connection.runtime.Version(cri.VersionRequest())
        except grpc.RpcError:
            return False
        return True

    def breaches(
        self, beats: Iterable[Beat], muted: Callable[[Breach], bool] = lambda _: False
    ) -> list[Breach]:
        """Play a sequence until it breaks a promise that is not muted; return those breaches."""
        with self.sequence() as played:
            for beat in playable(beats):
                found = [breach for breach in played.play(beat, muted) if not muted(breach)]
                if found or played.over:
                    return found
        return []


@dataclass
class Played:
    """One sequence as it is played.

    Attributes:
        player: what plays it.
        calls: does its steps.
        beats: those that were played.
        codes: what each step of the last one was answered with.
        over: the daemon has ended, so that nothing more can be said of it.
    """

    player: Player
    calls: Calls
    beats: list[Beat] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    over: bool = False

    @property
    def world(self) -> World:
        """What is known."""
        return self.calls.world

    def play(self, beat: Beat, muted: Callable[[Breach], bool] = lambda _: False) -> list[Breach]:
        """Play the steps of a beat at once, and return the promises that they broke.

        Args:
            beat: one step or several.
            muted: which breaches are known: an order of several steps that has no others explains them.
        """
        done = self._done(beat)
        self.player.steps += len(beat)
        self.beats.append(beat)
        self.codes = [each.answer.code for each in done]
        try:
            look = self._look()
        except grpc.RpcError as error:
            code, details = code_of(error)
            rpc, seen = beat[-1].rpc, f"{code}: {details}"
            if not self.player.daemon_lives():
                return [self._ended(seen)]
            return [Breach("CNC-08", "a list fails", rpc, "a list", seen)]
        statuses = (*look.sandbox_statuses.values(), *look.container_statuses.values())
        if UNAVAILABLE in statuses and not self.player.daemon_lives():
            return [self._ended(UNAVAILABLE)]
        if len(done) == 1:
            return judge(self.world, beat[0], done[0].answer, look)
        return judge_together(self.world, done, look, muted)

    def _ended(self, seen: str) -> Breach:
        self.over = True
        beat = self.beats[-1]
        # which of several it was, nobody knows, and fewer of them may do
        rpc = beat[0].rpc if len(beat) == 1 else "calls at once"
        return Breach("GEN-17", DAEMON_ENDED, rpc, "a daemon that lives", seen)

    def _look(self) -> StateSnapshot:
        look = look_of(self.player.connection, self.world)
        logs = self.calls.logs_of(look.container_statuses)
        if self.calls.listening is not None:
            wanted = event_rules.due(self.world, look, self.beats[-1])
            look = replace(look, events=self.calls.listening.heard(look, wanted))
        daemon = self.player.daemon
        if daemon is None:
            return replace(look, logs=logs)
        return replace(look, logs=logs, leases=daemon.leases(), pipes=self.calls.pipes_of(look))

    def _done(self, beat: Beat) -> list[Done]:
        if len(beat) == 1:
            return [self._timed(beat[0])]
        together = threading.Barrier(len(beat))

        def one(step: Step) -> Done:
            together.wait()
            return self._timed(step)

        with ThreadPoolExecutor(len(beat)) as clients:
            return list(clients.map(one, beat))

    def _timed(self, step: Step) -> Done:
        begun = time.monotonic()
        answer = answer_to(self.calls, step)
        return Done(step, answer, begun, time.monotonic())
