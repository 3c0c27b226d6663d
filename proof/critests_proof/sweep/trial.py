"""One test, run once more: under faults, or honestly with what passes noted."""

import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

import pytest

from critests.catalogue.rpcs import rpc_of
from critests.catalogue.words import Outcome
from critests.client.call_recording import READING
from critests.client.deadlines import Deadlines
from critests.exit_codes import ExitCode
from critests.node.starting.throwaway import RuntimeStartFailed
from critests.report.wording.reason_sentences import said
from critests.run.classification import RawOutcome
from critests.run.context import RunContext
from critests.run.items import judged_by
from critests.run.suite_session import PROGRESS, SESSION
from critests_proof.cases import MARK, case_of
from critests_proof.language.faults import AnyFault, CommandFault, Fault, NetworkFault, OciFault
from critests_proof.proxy.watch import Watch
from critests_proof.proxy_plugin import Between, take_down_what_is_shared

HANG_SECONDS = 5.0
"""How long a call is waited for under a fault that lets it hang."""
HARMLESS = frozenset(
    {
        "RunPodSandbox",
        "CreateContainer",
        "StartContainer",
        "PullImage",
        "ExecSync",
        "Exec",
        "Attach",
        "PortForward",
    }
)
"""RPCs that change something, but nothing that another test has made."""


@dataclass(frozen=True)
class CaseResult:
    """How a case ended.

    Attributes:
        outcome: as the suite names it.
        reason: why.
        hits: how often the fault has changed something.
        seconds: it would have taken alone: what it took, and what the fixtures of its module took to set up
            where another test had done that.
        places: where it got.
        red: whether a whole run would be red by it. That is so of a test that fails, and of one whose set-up
            hangs, or fails in the step that the test itself is about: this is held against its requirement,
            whatever other tests say (`add_setup_verdicts`).
        blocked_by: the requirement of the step at which its set-up failed; empty where it did not.
    """

    outcome: str
    reason: str
    hits: int
    seconds: float
    places: frozenset[str]
    red: bool = False
    blocked_by: str = ""


class Trials:
    """A pytest plugin that runs single tests, as cases of their own that are no result of the runtime.

    Args:
        config: of the session.
        between: what sets the faults.
    """

    def __init__(self, config: pytest.Config, between: Between) -> None:
        self._config = config
        self._between = between
        self._watch = between.watch = Watch()
        self._set: tuple[AnyFault, ...] = ()
        self._hits = 0
        self._touched = False
        self._places: frozenset[str] = frozenset()
        self._set_up_in: dict[pytest.FixtureDef[Any], float] = {}
        self._stood: frozenset[pytest.FixtureDef[Any]] = frozenset()

    def run(self, item: pytest.Function, faults: tuple[AnyFault, ...], context: RunContext) -> CaseResult:
        """Run a test once more, under faults or honestly."""
        case, neighbour = case_of(item, "case"), case_of(item, "next")
        self._set, self._hits, self._places = faults, 0, frozenset()
        self._watch.take()
        self._between.watch = None if faults else self._watch
        hangs = any(map(_lets_hang, faults))
        usual = context.hangs.deadlines
        if hangs:
            context.hangs.deadlines = Deadlines(usual.scale, HANG_SECONDS)
        in_sandboxes = any(map(_is_in_sandboxes, faults))
        spoils = in_sandboxes or any(_may_spoil(fault) for fault in faults)
        # after a fault that spoils everything is new: a failure that is gone by then has to be that fault's
        if self._between.used_up or in_sandboxes or (spoils and self._touched):
            take_down_what_is_shared(item)
            self._touched = False
        self._between.reaches_shared = in_sandboxes
        # what stands for the neighbours of the last test
        item.session._setupstate.teardown_exact(case)  # noqa: SLF001 - pytest has no public name for it
        self._stood = frozenset(self._set_up_in)
        begun = time.monotonic()
        try:
            case.config.hook.pytest_runtest_protocol(item=case, nextitem=neighbour)
        finally:
            context.hangs.deadlines = usual
            context.hangs.forget()
        seconds = time.monotonic() - begun
        outcome, reason, red, blocked_by = _outcome(case)
        if self._hits and spoils:
            take_down_what_is_shared(item)
        if self._hits:
            self._touched = not spoils
        self._revive(context)
        seconds += self._shared_seconds(item)
        return CaseResult(outcome, reason, self._hits, seconds, self._places, red, blocked_by)

    def _shared_seconds(self, item: pytest.Function) -> float:
        """Return how long those fixtures of a test's module took to set up that stood before it began."""
        wanted = item._fixtureinfo.name2fixturedefs.values()  # noqa: SLF001 - pytest has no public name for it
        return sum(self._set_up_in.get(known[-1], 0.0) for known in wanted if known[-1] in self._stood)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        """Note how long a fixture takes to set up that the tests of a module share."""
        if fixturedef.scope != "module":
            return (yield)
        begun = time.monotonic()
        try:
            return (yield)
        finally:
            self._set_up_in[fixturedef] = time.monotonic() - begun
            self._stood -= {fixturedef}

    def _revive(self, context: RunContext) -> None:
        """Start a throwaway runtime again that a fault has ended."""
        suite = self._config.stash[SESSION]
        runtime = context.owned.runtime if context.owned is not None else None
        if suite.gone and runtime is not None:
            try:
                runtime.restart()
            except RuntimeStartFailed as error:
                pytest.exit(str(error), returncode=ExitCode.HARNESS_ERROR)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Set the fault for the whole test."""
        if self._set and MARK in item.name:
            self._between.set(item.config, self._set)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self) -> None:
        """Count what the fault has changed, or what has passed, and clean up honestly."""
        self._hits = self._between.hits() if self._set else 0
        # no fault acts on what is called from here on
        self._places = self._watch.take()
        self._between.lift()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let a case be no result of the runtime: it passes, whatever became of it."""
        with self._between.honest():
            report = yield
        if MARK in item.name:
            report.__dict__.pop("critests", None)
            report.__dict__.pop("wasxfail", None)
            report.outcome, report.longrepr = "passed", None
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self) -> tuple[str, str, str]:
        """Print nothing for a case."""
        return "", "", ""


def _outcome(case: pytest.Function) -> tuple[str, str, bool, str]:
    """Return how a case ended, as the suite names it, why, whether a whole run would be red by it, and the
    requirement of the step at which its set-up failed.
    """
    progress = case.stash.get(PROGRESS, None)
    if progress is None:
        return Outcome.ERROR.value, "it did not run", False, ""
    for when in ("setup", "call"):
        phase = progress.phases.get(when)
        if phase is not None and phase.raw is not None:
            raw = phase.raw
            blocked_by = _blocked_by(raw)
            of_its_own = blocked_by == judged_by(case).name.partition("/")[0]
            red = raw.outcome is Outcome.FAILED or (bool(blocked_by) and (raw.hung or of_its_own))
            return raw.outcome.value, said(raw.why), red, blocked_by
    return Outcome.PASSED.value, "", False, ""


def _blocked_by(raw: RawOutcome) -> str:
    """Return the requirement of the step at which a set-up failed; empty where none did."""
    if raw.outcome is not Outcome.BLOCKED:
        return ""
    rpc = rpc_of(raw.setup_rpc)
    return (raw.reported_blocker or (rpc.judge if rpc is not None else "")).partition("/")[0]


def _lets_hang(fault: AnyFault) -> bool:
    """Say whether a call waits for what a fault keeps from coming: an answer, or the end of a process."""
    if isinstance(fault, CommandFault):
        return fault.operation == "kill"
    return isinstance(fault, Fault) and fault.action == "hang"


def _is_in_sandboxes(fault: AnyFault) -> bool:
    """Say whether a fault is in how a sandbox is made, which tests share."""
    return isinstance(fault, NetworkFault) or (isinstance(fault, OciFault) and fault.change.of == "sandbox")


def _may_spoil(fault: AnyFault) -> bool:
    """Say whether a fault may have changed what other tests have made."""
    return (
        isinstance(fault, Fault) and not READING.fullmatch(fault.rpc.name) and fault.rpc.name not in HARMLESS
    )
