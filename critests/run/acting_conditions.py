"""What the conditions of a run do in the process that runs the tests, between the calls of a test."""

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import grpc

from critests.catalogue.words import Outcome
from critests.client.call_recording import Recorder
from critests.client.connection import Connection
from critests.conditions.condition_table import FAILING_STEPS, RESTARTS, SLOW_STEPS
from critests.conditions.restarts import RestartDraws
from critests.conditions.slow_and_failing_steps import Steps
from critests.node.starting.throwaway import RuntimeStartFailed, ThrowawayRuntime
from critests.record.reasons import Reason, ReasonCode
from critests.run.classification import RawOutcome
from critests.run.condition_rules import ConditionRule
from critests.run.context import RunContext
from critests.run.daemon_watch import DaemonWatch

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
        steps: delays and failures of its programs; None without such a condition.
        restarts: of its daemon; None without that condition.
        counts: condition to what it did to how often, as in the record.
    """

    runtime: ThrowawayRuntime
    recorder: Recorder
    connection: Callable[[], Connection | None]
    watch: Callable[[], DaemonWatch]
    steps: Steps | None = None
    restarts: RestartDraws | None = None
    counts: dict[str, dict[str, int]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        context: RunContext,
        recorder: Recorder,
        *,
        connection: Callable[[], Connection | None],
        watch: Callable[[], DaemonWatch],
    ) -> "ActingConditions | None":
        """Return the acting conditions of a run, for the process that runs its tests; None without any."""
        names, seed = context.conditions.names, context.conditions.seed
        if seed is None or not {SLOW_STEPS, FAILING_STEPS, RESTARTS}.intersection(names):
            return None
        assert context.owned is not None, "these conditions need a runtime that the suite started"
        assert context.owned.runtime is not None, "see above"
        runtime = context.owned.runtime
        acting = cls(runtime, recorder, connection, watch, counts=context.conditions.counts)
        if {SLOW_STEPS, FAILING_STEPS}.intersection(names):
            assert runtime.oci_wrapper is not None, "it was started with both"
            assert runtime.cni_wrapper is not None, "it was started with both"
            acting.steps = Steps(runtime.oci_wrapper, runtime.cni_wrapper, names, seed)
        if RESTARTS in names:
            acting.restarts = RestartDraws(seed)
        recorder.before_call = acting.before_call
        return acting

    def test_begins(self, test: str) -> None:
        """Draw what happens during a test."""
        if self.steps is not None:
            self.steps.plan_for(test)
        if self.restarts is not None:
            self.restarts.test_begins(test)

    def test_ends(self) -> None:
        """Let nothing happen until the next test."""
        if self.steps is not None:
            for operation in self.steps.acted():
                self._count(self._of_steps, operation)
            self.steps.end()
        if self.restarts is not None:
            self.restarts.over()

    def before_call(self, endpoint: str) -> None:
        """Restart the daemon before a call of the test, if that was drawn, and no other call is pending.

        Raises:
            AssertionError: it did not come back.
        """
        connection = self.connection()
        if (
            self.restarts is None
            or connection is None
            or endpoint != connection.endpoint.text
            or self.recorder.under_way.calls
            or threading.current_thread() is not threading.main_thread()
            or not self.restarts.is_due()
        ):
            return
        self._count(RESTARTS, signal.SIGKILL.name)
        watch = self.watch()
        watch.stopped_by_test = True
        self.runtime.kill()
        try:
            self.runtime.start_again()
        except RuntimeStartFailed as error:
            msg = f"the daemon must come back after a restart: {error}"
            raise AssertionError(msg) from error
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
        """Return an outcome as blocked by the condition if an RPC or a streaming session failed while a step
        failed or took long by the plan: to report that is what the API demands.
        """
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
