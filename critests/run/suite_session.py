"""The state of the suite in one pytest process."""

import resource
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import pytest

from critests.client.call_recording import Call, Recorder
from critests.client.connection import Connection
from critests.client.hangs import HangingCall
from critests.node.observing.capabilities import CapabilityMatrix
from critests.record.judgement import JudgeContext
from critests.record.operations import BenchmarkFacts, OperationResult
from critests.record.reasons import Reason
from critests.record.result_records import TestResult
from critests.responses.response_judge import ResponseJudge
from critests.run.acting_conditions import ActingConditions
from critests.run.context import RunContext
from critests.run.daemon_watch import DaemonWatch
from critests.run.failure_evidence import RuntimeLog
from critests.run.handover import WorkerReport
from critests.run.item_results import TestProgress
from critests.run.leftover_watch import LeftoverWatch
from critests.run.object_cleanup import ObjectCleanup
from critests.run.response_findings import judge_call
from critests.run.run_settings import Settings


@dataclass
class SuiteSession:
    """The state of the suite in one pytest process.

    Attributes:
        settings: the user's options.
        judge: judges every response of this process.
        recorder: records every call of this process, and passes it to the judge.
        context: the run; None before its first use.
        begin: returns the run's context; begins the run at the first call.
        rules: context of the judgement, as far as it is known before the first test.
        problems: why an object could not be removed.
        capabilities: one matrix per handler.
        deselected: tests that the user's options leave out.
        not_begun: number of tests that the time limit of the run left out.
        musts_not_begun: how many of them judge a MUST.
        gone: why the runtime cannot be tested any more; None while it responds.
        testing: whether a test of the suite is running.
        connection: of the tests; None before the first.
        operations: results of benchmarks.
        benchmark: facts about the benchmarks; None before the first.
        on_progress: gets a line about the progress of a long test.
        private: watches of the private runtimes of tests.
        leftovers: looks for what removed objects leave; None if that is not judged.
        judges_leftovers: whether leftovers are looked for; not in benchmarks, nor if the suite makes the
            runtime fail.
        is_recorded: whether the run has a record and evidence; not if the runtime is broken on purpose.
        acting: the conditions that act in this process; None without them.
    """

    settings: Settings
    begin: Callable[[], RunContext]
    judge: ResponseJudge = field(default_factory=ResponseJudge)
    recorder: Recorder = field(init=False)
    context: RunContext | None = None
    rules: JudgeContext | None = None
    problems: list[Reason] = field(default_factory=list)
    capabilities: list[CapabilityMatrix] = field(default_factory=list)
    deselected: list[TestResult] = field(default_factory=list)
    not_begun: int = 0
    musts_not_begun: int = 0
    gone: Reason | None = None
    testing: bool = False
    connection: Connection | None = None
    operations: list[OperationResult] = field(default_factory=list)
    benchmark: BenchmarkFacts | None = None
    on_progress: Callable[[str], None] = lambda _: None
    private: list[DaemonWatch] = field(default_factory=list)
    leftovers: LeftoverWatch | None = None
    judges_leftovers: bool = True
    is_recorded: bool = True
    acting: ActingConditions | None = None

    def __post_init__(self) -> None:
        self.recorder = Recorder(self._judge)

    def _judge(self, call: Call) -> None:
        judge_call(self.judge, call)
        if self.leftovers is not None:
            self.leftovers.follow(call)

    @cached_property
    def watch(self) -> DaemonWatch:
        """The watch of the daemon."""
        return DaemonWatch(self.begin())

    @property
    def hangs_met(self) -> int:
        """How many calls have hung so far."""
        return len(self.context.hangs.calls) if self.context else 0

    def hangs_since(self, position: int) -> list[HangingCall]:
        """Return the calls that hung after a position from `hangs_met`."""
        return self.context.hangs.calls[position:] if self.context else []

    @property
    def log(self) -> RuntimeLog:
        """The runtime's log."""
        return RuntimeLog(self.context.runtime_log if self.context else "")

    def report(self) -> WorkerReport:
        """Return what this process reports to the controller."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        return WorkerReport(
            coverage=self.recorder.coverage.to_json(),
            facts=[fact for matrix in self.capabilities for fact in matrix.known()],
            cpu_seconds=used.ru_utime + used.ru_stime,
            problems=self.problems,
            gone=self.gone,
            hangs=self.context.hangs.known() if self.context else {},
            deselected=self.deselected,
            not_begun=self.not_begun,
            musts_not_begun=self.musts_not_begun,
        )


SESSION = pytest.StashKey[SuiteSession]()
PROGRESS = pytest.StashKey[TestProgress]()
OBJECT_CLEANUP = pytest.StashKey[ObjectCleanup]()
