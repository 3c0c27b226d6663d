"""Runs sequences on a runtime, takes a snapshot after every step and judges both by the model."""

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
from critests.explore.disturbances import Disturbances
from critests.explore.raw_calls import Calls
from critests.explore.state_reading import snapshot_of, world_before
from critests.explore.step_execution import result_of
from critests.lifecycle.requests import ImageName, RequestBuilder
from critests.model import Breach, Step, StepGroup, World, event_rules, judge
from critests.model.linearization import CompletedStep, judge_together
from critests.model.observations import StateSnapshot
from critests.model.steps import runnable
from critests.run.failure_evidence import RuntimeLog

DAEMON_ENDED = "the daemon has ended"
UNAVAILABLE = "UNAVAILABLE"


@dataclass(frozen=True)
class SequenceEvidence:
    """The calls of a sequence, and what the runtime logged meanwhile."""

    calls: tuple[Call, ...] = ()
    log: bytes = b""


@dataclass
class SequenceRunner:
    """Runs sequences on one runtime, each with a label of its own, and cleans up after each.

    Attributes:
        connection: to the runtime.
        requests: builds messages with the run's label.
        base: image of containers whose step names none; no step removes it.
        images: creates the images that the steps of a sequence pull and remove, by key, with their tags: new
            ones for each sequence, so that it finds nothing of another.
        handler: of every sandbox.
        daemon: what steps may disturb; None if they may not.
        start_again: starts the daemon after it exited, and raises CannotTest if it does not come back; None
            if the suite did not start it.
        log: of the runtime.
        gone: the daemon exited, and is not started again.
        sequence_count: number of sequences.
        step_count: number of steps of all sequences.
    """

    connection: Connection
    requests: RequestBuilder
    base: ImageName
    images: Callable[[], dict[str, tuple[str, ...]]] = dict
    handler: str = ""
    daemon: Disturbances | None = None
    start_again: Callable[[], None] | None = None
    log: RuntimeLog = field(default_factory=lambda: RuntimeLog(""))
    gone: bool = False
    sequence_count: int = 0
    step_count: int = 0
    _salt: str = field(default_factory=lambda: secrets.token_hex(3))
    """Part of all names, so that two runners on one runtime do not mistake each other's objects for their
    own.
    """

    _begun: tuple[int, float] = (0, 0.0)
    """Where the last sequence begins in the record of calls, and in the log."""

    @contextlib.contextmanager
    def sequence(self) -> "Iterator[StepSequence]":
        """Give a sequence without steps; its objects are removed at the end."""
        self.sequence_count += 1
        self._begun = self.connection.recorder.position, self.log.position()
        world = world_before(self.connection, self.images(), f"x{self._salt}-{self.sequence_count}-")
        calls = Calls(self.connection, self.requests, self.base, self.handler, self.daemon, world)
        try:
            yield StepSequence(self, calls)
        finally:
            self.restart_if_exited()
            calls.clear()

    def evidence(self) -> SequenceEvidence:
        """Return the evidence of the last sequence so far."""
        calls, log = self._begun
        return SequenceEvidence(tuple(self.connection.recorder.since(calls)), self.log.since(log))

    def restart_if_exited(self) -> None:
        """Start the daemon again if it exited, so that the next sequence finds one."""
        if self.gone or self.daemon_lives():
            return
        self.gone = True
        if self.start_again is not None:
            with contextlib.suppress(CannotTest):
                self.start_again()
                self.gone = not self.daemon_lives()

    def daemon_lives(self) -> bool:
        """Whether the runtime responds to Version."""
        try:
            self.connection.runtime.Version(cri.VersionRequest())
        except grpc.RpcError:
            return False
        return True

    def breaches(
        self, groups: Iterable[StepGroup], muted: Callable[[Breach], bool] = lambda _: False
    ) -> list[Breach]:
        """Run a sequence until it breaks a promise that is not muted; return those breaches."""
        with self.sequence() as sequence:
            for group in runnable(groups):
                found = [breach for breach in sequence.run(group, muted) if not muted(breach)]
                if found or sequence.over:
                    return found
        return []


@dataclass
class StepSequence:
    """One sequence while it runs.

    Attributes:
        runner: that runs it.
        calls: runs its steps.
        groups: that were run.
        codes: the result code of each step of the last group.
        over: the daemon exited, so that the sequence cannot go on.
    """

    runner: SequenceRunner
    calls: Calls
    groups: list[StepGroup] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    over: bool = False

    @property
    def world(self) -> World:
        """What is known."""
        return self.calls.world

    def run(self, group: StepGroup, muted: Callable[[Breach], bool] = lambda _: False) -> list[Breach]:
        """Run the steps of a group concurrently, and return the promises that they broke.

        Args:
            group: one step or several.
            muted: which breaches are known: an order of the steps without any other explains them.
        """
        done = self._done(group)
        self.runner.step_count += len(group)
        self.groups.append(group)
        self.codes = [each.result.code for each in done]
        try:
            snapshot = self._snapshot()
        except grpc.RpcError as error:
            code, details = code_of(error)
            rpc, failure = group[-1].rpc, f"{code}: {details}"
            if not self.runner.daemon_lives():
                return [self._ended(failure)]
            return [Breach("CNC-08", "a list fails", rpc, "a list", failure)]
        statuses = (*snapshot.sandbox_statuses.values(), *snapshot.container_statuses.values())
        if UNAVAILABLE in statuses and not self.runner.daemon_lives():
            return [self._ended(UNAVAILABLE)]
        if len(done) == 1:
            return judge(self.world, group[0], done[0].result, snapshot)
        return judge_together(self.world, done, snapshot, muted)

    def _ended(self, observed: str) -> Breach:
        self.over = True
        group = self.groups[-1]
        # which of several steps caused it is unknown, and fewer may suffice
        rpc = group[0].rpc if len(group) == 1 else "calls at once"
        return Breach("GEN-17", DAEMON_ENDED, rpc, "a daemon that lives", observed)

    def _snapshot(self) -> StateSnapshot:
        snapshot = snapshot_of(self.runner.connection, self.world)
        logs = self.calls.logs_of(snapshot.container_statuses)
        if self.calls.listening is not None:
            expected = event_rules.expected_events(self.world, snapshot, self.groups[-1])
            snapshot = replace(snapshot, events=self.calls.listening.received(snapshot, expected))
        daemon = self.runner.daemon
        if daemon is None:
            return replace(snapshot, logs=logs)
        return replace(snapshot, logs=logs, leases=daemon.leases(), pipes=self.calls.pipes_of(snapshot))

    def _done(self, group: StepGroup) -> list[CompletedStep]:
        if len(group) == 1:
            return [self._timed(group[0])]
        barrier = threading.Barrier(len(group))

        def one(step: Step) -> CompletedStep:
            barrier.wait()
            return self._timed(step)

        with ThreadPoolExecutor(len(group)) as clients:
            return list(clients.map(one, group))

    def _timed(self, step: Step) -> CompletedStep:
        begun = time.monotonic()
        result = result_of(self.calls, step)
        return CompletedStep(step, result, begun, time.monotonic())
