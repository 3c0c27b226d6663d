"""What one pytest process holds for the suite."""

import resource
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import pytest

from critests.client.call_recording import Recorder
from critests.client.connection import Connection
from critests.client.hangs import HangingCall
from critests.node.observing.capabilities import CapabilityMatrix
from critests.record.judgement import JudgeContext
from critests.record.operations import BenchmarkFacts, OperationResult
from critests.record.reasons import Reason
from critests.record.result_records import TestResult
from critests.run.context import RunContext
from critests.run.daemon_watch import DaemonWatch
from critests.run.failure_evidence import RuntimeLog
from critests.run.handover import WorkerReport
from critests.run.item_results import TestProgress
from critests.run.object_cleanup import ObjectCleanup
from critests.run.run_settings import Settings


@dataclass
class SuiteSession:
    """What one pytest process holds.

    Attributes:
        settings: the user's options.
        recorder: of every call that this process makes.
        context: the run; None until something needs it.
        begin: returns the run's context, beginning the run if need be.
        rules: what a judgement needs that is known before the first test.
        problems: what could not be removed.
        capabilities: what tests were given to ask, one matrix per handler.
        deselected: tests that the user's options leave out.
        gone: why the runtime cannot be tested any more; None while it answers.
        testing: whether the test that runs, if one does, is ours.
        connection: that tests use; None before the first.
        operations: what benchmarks measured.
        benchmark: how they measured it; None until one begins.
        on_progress: hears a line about what goes on in a long test.
        private: what watches the runtimes that tests have for themselves.
        is_kept: whether the run has a record and evidence: not where the runtime is broken on purpose.
    """

    settings: Settings
    begin: Callable[[], RunContext]
    recorder: Recorder = field(default_factory=Recorder)
    context: RunContext | None = None
    rules: JudgeContext | None = None
    problems: list[str] = field(default_factory=list)
    capabilities: list[CapabilityMatrix] = field(default_factory=list)
    deselected: list[TestResult] = field(default_factory=list)
    gone: Reason | None = None
    testing: bool = False
    connection: Connection | None = None
    operations: list[OperationResult] = field(default_factory=list)
    benchmark: BenchmarkFacts | None = None
    on_progress: Callable[[str], None] = lambda _: None
    private: list[DaemonWatch] = field(default_factory=list)
    is_kept: bool = True

    @cached_property
    def watch(self) -> DaemonWatch:
        """What watches the daemon, once there is a run."""
        return DaemonWatch(self.begin())

    @property
    def hangs_met(self) -> int:
        """How many calls to the runtime have met a hang so far."""
        return len(self.context.hangs.calls) if self.context else 0

    def hangs_since(self, position: int) -> list[HangingCall]:
        """Return the calls that met a hang after a position, as `hangs_met` returned it."""
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
        )


SESSION = pytest.StashKey[SuiteSession]()
PROGRESS = pytest.StashKey[TestProgress]()
OBJECT_CLEANUP = pytest.StashKey[ObjectCleanup]()
