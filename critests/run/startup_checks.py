"""Checks of a runtime before the first test: well-formed requests find out what it offers, and the daemon
must survive them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from critests.catalogue.words import Capability, Outcome
from critests.client.call_recording import Recorder
from critests.client.connection import Connection
from critests.node.cgroups.cgroup_driver import cgroup_driver
from critests.node.observing.api_level import prove
from critests.node.observing.capabilities import QUICK, CapabilityMatrix
from critests.node.starting.throwaway import RuntimeStartFailed
from critests.record.result_records import TestResult
from critests.run.collected_tests import JudgedAspect
from critests.run.context import RunContext
from critests.run.daemon_watch import DaemonCrash, DaemonWatch, died, lost_connection
from critests.run.failure_evidence import RuntimeLog

BACK_SECONDS = 10.0
"""How long a restarted daemon may take to answer, before scaling."""


@dataclass
class StartupChecks:
    """Finds out what a runtime offers, and notes the call during which the daemon ended, if it did.

    Attributes:
        context: the run, which gets the results.
        connection: for the calls.
        recorder: of these calls.
    """

    context: RunContext
    connection: Connection
    recorder: Recorder
    _watch: DaemonWatch = field(init=False)
    _position: int = 0
    _log_position: float = 0.0

    def __post_init__(self) -> None:
        self._watch = DaemonWatch(self.context)
        self._log_position = self._log.position()

    @property
    def _log(self) -> RuntimeLog:
        return RuntimeLog(self.context.runtime_log)

    def run(self, handler: str) -> None:
        """Find out what the run needs to know about a handler before its first test."""
        self.check_daemon()
        self.context.level = prove(self.connection, self.context.version, self.check_daemon)
        self.context.driver = cgroup_driver(self.connection)
        self.check_daemon()
        self.probe(self.context.matrix(self.connection, handler, None), QUICK)

    def probe(self, matrix: CapabilityMatrix, capabilities: Iterable[Capability]) -> None:
        """Probe capabilities, one after the other."""
        for capability in capabilities:
            matrix.fact(capability)
            self.check_daemon()
        self.context.facts = matrix.known()

    def check_daemon(self) -> None:
        """Note if the daemon ended during the calls since the last check. A private runtime is started again
        and the run goes on; with any other runtime the run ends.
        """
        if self.context.gone:
            return
        calls = self.recorder.since(self._position)
        self._position = self.recorder.position
        end = self._watch.ended(suspicious=any(lost_connection(call) for call in calls))
        if end is None:
            return
        if not died(end):
            self.context.gone = end
            return
        crash = DaemonCrash.of(end, calls, self._log.since(self._log_position))
        self._log_position = self._log.position()
        self.context.crashes.append(crash_result(crash, len(self.context.crashes)))
        self.context.gone = None if self._is_back() else crash.why

    def _is_back(self) -> bool:
        runtime = self.context.owned.runtime if self.context.owned is not None else None
        if runtime is None:
            return False
        try:
            runtime.restart()
        except RuntimeStartFailed as error:
            self.context.notes.append(str(error))
            return False
        return self._watch.wait_for_restart(self.connection, BACK_SECONDS * self.context.settings.scale)


def crash_result(crash: DaemonCrash, number: int) -> TestResult:
    """Return the result, without a test, of a daemon that ended during the startup checks."""
    return TestResult(
        id=f"<the daemon ended at the first look {number}>",
        name="daemon_outlives_the_first_look" + (f"_{number}" if number else ""),
        **JudgedAspect.named(crash.aspect).fields,
        outcome=Outcome.FAILED,
        why=crash.why,
        detail=crash.last_log_lines,
        synthesized=True,
        phase_of_failure="setup",
    )
