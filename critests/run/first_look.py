"""The first look at a runtime, before any test: what it offers is asked with well-formed requests, and it has
to outlive being asked.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from critests import catalogue
from critests.catalogue.words import Capability, Outcome
from critests.client.call_recording import Recorder
from critests.client.connection import Connection
from critests.node.cgroups.cgroup_driver import cgroup_driver
from critests.node.observing.api_level import prove
from critests.node.observing.capabilities import QUICK, CapabilityMatrix
from critests.node.starting.throwaway import RuntimeStartFailed
from critests.record.result_records import TestResult
from critests.run.context import RunContext
from critests.run.daemon_watch import DaemonWatch, Death, found_nobody
from critests.run.failure_evidence import RuntimeLog

BACK_SECONDS = 10.0


@dataclass
class FirstLook:
    """Asks a runtime what it offers, and notes the call at which it ended, if it did.

    Attributes:
        context: the run; what is found out is written there.
        connection: to ask over.
        recorder: of its calls.
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

    def take(self, handler: str) -> None:
        """Find out what the run needs to know of a handler before its first test."""
        self.survived()
        self.context.level = prove(self.connection, self.survived)
        self.context.driver = cgroup_driver(self.connection)
        self.survived()
        self.probe(self.context.matrix(self.connection, handler, None), QUICK)

    def probe(self, matrix: CapabilityMatrix, capabilities: Iterable[Capability]) -> None:
        """Find out about capabilities, one after the other."""
        for capability in capabilities:
            matrix.fact(capability)
            self.survived()
        self.context.facts = matrix.known()

    def survived(self) -> None:
        """Note the end of the daemon, if the calls since the last look were its end. The run goes on with a
        throwaway one that is started again; the end of any other is the run's.
        """
        if self.context.gone:
            return
        calls = self.recorder.since(self._position)
        self._position = self.recorder.position
        end = self._watch.ended(suspicious=any(found_nobody(call) for call in calls))
        if end is None:
            return
        if not end.died:
            self.context.gone = end.why
            return
        death = Death.of(end.why, calls, self._log.since(self._log_position))
        self._log_position = self._log.position()
        self.context.deaths.append(of_death(death, len(self.context.deaths)))
        self.context.gone = None if self._is_back() else death.why

    def _is_back(self) -> bool:
        runtime = self.context.owned.runtime if self.context.owned is not None else None
        if runtime is None:
            return False
        try:
            runtime.restart()
        except RuntimeStartFailed as error:
            self.context.notes.append(str(error))
            return False
        return self._watch.came_back(self.connection, BACK_SECONDS * self.context.settings.deadline_scale)


def of_death(death: Death, number: int) -> TestResult:
    """Return the result of a daemon that did not outlive the first look; no test stands behind it."""
    requirement, aspect = catalogue.aspect(death.aspect)
    return TestResult(
        id=f"<the daemon ended at the first look {number}>",
        name="daemon_outlives_the_first_look" + (f"_{number}" if number else ""),
        requirement=death.aspect,
        requirement_id=requirement.id,
        area=requirement.area.value,
        group=requirement.group,
        level=aspect.level,
        judgement=aspect.judgement,
        title=requirement.statement,
        outcome=Outcome.FAILED,
        why=death.why,
        detail=death.last_words,
        synthesized=True,
        phase_of_failure="setup",
    )
