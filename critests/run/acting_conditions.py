"""What the conditions of a run do in the process that runs the tests, between the calls of a test."""

import signal
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any, Final

import grpc
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.catalogue.words import Outcome
from critests.client.call_recording import Call, Recorder
from critests.client.connection import Connection
from critests.conditions.condition_table import FAILING_STEPS, KILLED_MONITORS, KILLS, RESTARTS, SLOW_STEPS
from critests.conditions.killed_monitors import ENDING, MonitorDraws, kill_monitors, pod_of
from critests.conditions.kills import KillDraws, PlannedKill
from critests.conditions.once_per_test import OncePerTest
from critests.conditions.restarts import RestartDraws
from critests.conditions.slow_and_failing_steps import Steps
from critests.node.starting.throwaway import RuntimeStartFailed, ThrowawayRuntime
from critests.record.reasons import Reason, ReasonCode
from critests.run.classification import RawOutcome
from critests.run.condition_rules import ConditionRule
from critests.run.context import RunContext
from critests.run.daemon_watch import DaemonWatch
from critests.run.killed_calls import KilledCall, Listed
from critests.run.unmonitored_pods import UnmonitoredPod

ACTING: Final = {SLOW_STEPS, FAILING_STEPS, RESTARTS, KILLS, KILLED_MONITORS}
RECONNECT_SECONDS: Final = 10.0
"""How long the connection of the tests may take to find a daemon that was started again."""


@dataclass
class ActingConditions:
    """The conditions that act between the calls of this process.

    Attributes:
        runtime: under test.
        recorder: of the calls of this process.
        connection: returns the connection of the tests; None before the first.
        watch: returns the watch of the daemon.
        created: gets a call that was interrupted, and has created what is listed.
        steps: delays and failures of its programs; None without such a condition.
        restarts: of its daemon; None without that condition.
        kills: of its daemon; None without that condition.
        monitors: kills of its shims or monitors; None without that condition.
        counts: condition to what it did to how often, as in the record.
    """

    runtime: ThrowawayRuntime
    recorder: Recorder
    connection: Callable[[], Connection | None]
    watch: Callable[[], DaemonWatch]
    created: Callable[[Call], None]
    steps: Steps | None = None
    restarts: RestartDraws | None = None
    kills: KillDraws | None = None
    monitors: MonitorDraws | None = None
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    _pods: Callable[[], Collection[str]] = field(default=frozenset, init=False)
    _kills: list[KilledCall | UnmonitoredPod] = field(default_factory=list, init=False)

    @classmethod
    def of(
        cls,
        context: RunContext,
        recorder: Recorder,
        *,
        connection: Callable[[], Connection | None],
        watch: Callable[[], DaemonWatch],
        created: Callable[[Call], None],
    ) -> "ActingConditions | None":
        """Return the acting conditions of a run, for the process that runs its tests; None without any."""
        names, seed = context.conditions.names, context.conditions.seed
        if seed is None or not ACTING.intersection(names):
            return None
        assert context.owned is not None, "these conditions need a runtime that the suite started"
        assert context.owned.runtime is not None, "see above"
        runtime = context.owned.runtime
        acting = cls(runtime, recorder, connection, watch, created, counts=context.conditions.counts)
        if {SLOW_STEPS, FAILING_STEPS}.intersection(names):
            wrappers = runtime.wrappers
            assert wrappers.oci is not None, "it was started with both"
            assert wrappers.cni is not None, "it was started with both"
            acting.steps = Steps(wrappers.oci, wrappers.cni, wrappers.monitor, names, seed)
        if RESTARTS in names:
            acting.restarts = RestartDraws(seed)
        if KILLS in names:
            acting.kills = KillDraws(seed)
        if KILLED_MONITORS in names:
            acting.monitors = MonitorDraws(seed)
        recorder.around_call = acting.around_call
        return acting

    def test_begins(self, test: str, pods: Callable[[], Collection[str]] = frozenset) -> None:
        """Draw what happens during a test.

        Args:
            test: its id.
            pods: returns the sandboxes that it has for itself.
        """
        self._pods = pods
        if self.steps is not None:
            self.steps.plan_for(test)
        for draws in self._draws:
            draws.test_begins(test)
        self._kills.clear()

    def test_ends(self) -> None:
        """Let nothing happen until the next test."""
        if self.steps is not None:
            for operation in self.steps.acted():
                self._count(self._of_steps, operation)
            self.steps.end()
        for draws in self._draws:
            draws.over()

    @property
    def _draws(self) -> list[OncePerTest]:
        return [draws for draws in (self.restarts, self.kills, self.monitors) if draws is not None]

    def around_call(
        self, endpoint: str, request: Message, call: Callable[[], tuple[Message, Any]]
    ) -> tuple[Message, Any]:
        """Make a call of a test, with what was drawn for it if no other call is pending.

        Raises:
            AssertionError: the daemon did not come back, or something does not hold afterwards.
            grpc.RpcError: the call failed.
        """
        connection = self.connection()
        if (
            connection is None
            or endpoint != connection.endpoint.text
            or self.recorder.under_way.calls
            or threading.current_thread() is not threading.main_thread()
        ):
            return call()
        if self.restarts is not None and self.restarts.is_due():
            self._count(RESTARTS, signal.SIGKILL.name)
            try:
                self._restart(connection)
            except RuntimeStartFailed as error:
                msg = f"the daemon must come back after a restart: {error}"
                raise AssertionError(msg) from error
        if self.monitors is not None:
            unmonitored = self._ended_without_monitors(connection, request)
            if unmonitored is not None:
                return unmonitored.end(call, connection.deadlines.scale)
        change = self.kills.change(request) if self.kills is not None else 0
        if not change:
            return call()
        return self._interrupted(connection, request, call, change)

    def _ended_without_monitors(self, connection: Connection, request: Message) -> UnmonitoredPod | None:
        """Before a call, kill the shims and monitors of the pod that it is about, if that was drawn; return
        the pod if they were killed, now or before another call, and the call ends it.

        Raises:
            grpc.RpcError: the runtime does not list its sandboxes or containers.
        """
        assert self.monitors is not None
        killed = next((each for each in self._kills if isinstance(each, UnmonitoredPod)), None)
        if killed is None and self.monitors.is_due(request):
            containers = connection.runtime.ListContainers(cri.ListContainersRequest()).containers
            pod = pod_of(request, containers)
            ending = isinstance(request, ENDING)
            inside = [
                each.id
                for each in containers
                # the others of a pod in use keep theirs: some runtimes wait for seconds for each that is dead
                if each.pod_sandbox_id == pod and (ending or each.id == getattr(request, "container_id", ""))
            ]
            # another test may need a pod that is not of this one
            theirs = ending or pod in self._pods()
            if theirs and pod in Listed.on(connection).sandboxes and kill_monitors([pod, *inside]):
                killed = UnmonitoredPod(pod)
                self._kills.append(killed)
                self._count(KILLED_MONITORS, type(request).__name__.removesuffix("Request"))
                Listed.on(connection)  # must be answered all the same: see `UnmonitoredPod.judged`
        ends = isinstance(request, ENDING) and killed is not None and request.pod_sandbox_id == killed.id
        return killed if ends else None

    def _interrupted(
        self, connection: Connection, request: Message, call: Callable[[], tuple[Message, Any]], change: int
    ) -> tuple[Message, Any]:
        """Make a call, and kill the daemon before one of its changes."""
        assert self.kills is not None
        killed = KilledCall(connection, request, call, self.created, Listed.on(connection))
        result: tuple[Message, Any] | None = None
        with PlannedKill(self.runtime.pid, change, (self.runtime.state, self.runtime.root)) as kill:
            try:
                result = call()
            except grpc.RpcError:
                if not kill.end():
                    raise
        if result is not None and not kill.end():
            return result
        self.kills.over()
        self._kills.append(killed)
        self._count(KILLS, f"{killed.rpc}: {kill.end()}")
        return killed.resumed(lambda: self._restart(connection), result)

    def _restart(self, connection: Connection) -> None:
        """Kill the daemon, start it again, and wait until the tests are connected to it.

        Raises:
            RuntimeStartFailed: it did not come back.
        """
        watch = self.watch()
        watch.stopped_by_test = True
        self.runtime.kill()
        try:
            self.runtime.start_again()
        finally:
            watch.watch_new_process()
        # a call before that would fail, and be taken for the end of the daemon
        ready = grpc.channel_ready_future(connection.channel)
        ready.result(RECONNECT_SECONDS * connection.deadlines.scale)

    def _count(self, condition: str, what: str) -> None:
        counts = self.counts.setdefault(condition, {})
        counts[what] = counts.get(what, 0) + 1

    @property
    def _of_steps(self) -> str:
        names = self.steps.names if self.steps is not None else ()
        return ", ".join(name for name in names if name in {SLOW_STEPS, FAILING_STEPS})

    def excused(self, raw: RawOutcome | None) -> RawOutcome | None:
        """Return an outcome as the conditions explain it: judged by what a kill breaks, or blocked.

        It is blocked if an RPC or a streaming session failed while a step failed or took long by the plan: to
        report that is what the API demands.
        """
        for kill in self._kills:
            raw = raw and kill.judged(raw)
        if raw is None or self.steps is None:
            return raw
        # what takes long by the plan may take longer than the test waits
        codes = {ReasonCode.SESSION, *({ReasonCode.CONDITION} if SLOW_STEPS in self.steps.names else ())}
        if not (raw.rpc or raw.setup_rpc or raw.why.code in codes):
            return raw
        acted = self.steps.acted()
        if not acted or raw.outcome not in {Outcome.FAILED, Outcome.BLOCKED}:
            return raw
        why = Reason(
            code=ReasonCode.NOT_UNDER_CONDITION,
            subject=self._of_steps,
            where=ConditionRule.STEP.value,
            seen=", ".join(dict.fromkeys(acted)),
            parts=[replace(raw.why, parts=[])],
        )
        return RawOutcome(Outcome.BLOCKED, why, may_be_gone=raw.may_be_gone)
