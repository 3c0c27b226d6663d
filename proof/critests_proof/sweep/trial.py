"""One additional run of a test: under faults, or without faults and with a recording."""

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
"""Deadline of a call under a fault that hangs."""
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
"""RPCs with side effects that do not concern objects of other tests."""


@dataclass(frozen=True)
class CaseResult:
    """The result of a case.

    Attributes:
        outcome: outcome of the test.
        reason: its reason.
        hits: number of changes by the fault.
        seconds: its duration as a single test, including the set-up of its module's fixtures.
        places: the places that it reached.
        red: whether it would fail a whole run: the test failed, or its set-up hung or failed in the step that
            the test is about, which counts against its requirement (`add_setup_verdicts`).
        blocked_by: the requirement of the step in which its set-up failed; empty otherwise.
    """

    outcome: str
    reason: str
    hits: int
    seconds: float
    places: frozenset[str]
    red: bool = False
    blocked_by: str = ""


class Trials:
    """A pytest plugin that runs single tests as additional cases, which are not results of the runtime.

    Args:
        config: of the session.
        between: sets the faults.
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
        """Run a test once more, with or without faults."""
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
        # after a fault that spoils, all fixtures are new: a failure that then disappears was caused by that
        # fault
        if self._between.used_up or in_sandboxes or (spoils and self._touched):
            take_down_what_is_shared(item)
            self._touched = False
        self._between.reaches_shared = in_sandboxes
        # fixtures of the module of the previous test
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
        """Return the set-up time of the module fixtures that existed before the test."""
        wanted = item._fixtureinfo.name2fixturedefs.values()  # noqa: SLF001 - pytest has no public name for it
        return sum(self._set_up_in.get(known[-1], 0.0) for known in wanted if known[-1] in self._stood)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        """Record the set-up time of module fixtures."""
        if fixturedef.scope != "module":
            return (yield)
        begun = time.monotonic()
        try:
            return (yield)
        finally:
            self._set_up_in[fixturedef] = time.monotonic() - begun
            self._stood -= {fixturedef}

    def _revive(self, context: RunContext) -> None:
        """Restart a throwaway runtime that has exited under a fault."""
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
        """Store the hits or the recording, and clean up without faults."""
        self._hits = self._between.hits() if self._set else 0
        # no fault acts on the calls from here on
        self._places = self._watch.take()
        self._between.lift()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Report every case as passed, because it is not a result of the runtime."""
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
    """Return outcome and reason of a case, whether it would fail a whole run, and the requirement of the step
    in which its set-up failed.
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
    """Return the requirement of the step in which a set-up failed; empty otherwise."""
    if raw.outcome is not Outcome.BLOCKED:
        return ""
    rpc = rpc_of(raw.setup_rpc)
    return (raw.reported_blocker or (rpc.judge if rpc is not None else "")).partition("/")[0]


def _lets_hang(fault: AnyFault) -> bool:
    """Return whether a call waits under a fault for a response or the exit of a process that never comes."""
    if isinstance(fault, CommandFault):
        return fault.operation == "kill"
    return isinstance(fault, Fault) and fault.action == "hang"


def _is_in_sandboxes(fault: AnyFault) -> bool:
    """Return whether a fault concerns the creation of sandboxes, which tests share."""
    return isinstance(fault, NetworkFault) or (isinstance(fault, OciFault) and fault.change.of == "sandbox")


def _may_spoil(fault: AnyFault) -> bool:
    """Return whether a fault may have changed objects of other tests."""
    return (
        isinstance(fault, Fault) and not READING.fullmatch(fault.rpc.name) and fault.rpc.name not in HARMLESS
    )
