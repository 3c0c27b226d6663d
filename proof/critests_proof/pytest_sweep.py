"""The sweep as a pytest plugin: one long run that sets one derived fault after another, and tries tests until
one notices the fault.

First every selected test runs once without a fault, and its requests and responses are recorded in a file
next to the results, from which the tests for each fault are chosen. Tests with a current recording do not run
again. The result of each fault is written immediately, so that an interrupted sweep can be resumed.

A fault acts on the test's own calls, from its set-up to its clean-up; shared fixtures are created without it.
A test has noticed the fault if its own phase failed after the fault had changed something, or if its set-up
failed in the step that the test is about. Unless it is known to notice faults in this field, the test runs
once more without the fault: it has noticed the fault if it then passes.
"""

import json
import time
from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import pytest

import critests
from critests.catalogue.words import Outcome
from critests.exit_codes import ExitCode
from critests.node.wrappers.wrapped_programs import WrappedPrograms
from critests.record.codec import to_plain
from critests.record.files import write_atomically
from critests.record.record_errors import RecordError
from critests.report.terminal.console import new_console
from critests.run import profiles
from critests.run.context import RunContext
from critests.run.items import is_ours, metadata_of
from critests.run.suite_session import SESSION
from critests_proof.audit_terminal import print_audit
from critests_proof.derived import BELOW, DerivedFault
from critests_proof.derived.choice import chosen, sample
from critests_proof.language.descriptors import FaultError
from critests_proof.matrix import load
from critests_proof.oci_faults import all_faults
from critests_proof.proxy_plugin import Between, can_wrap, take_down_what_is_shared
from critests_proof.record import AuditCoverage, AuditRecord, FaultOutcome, FaultResult, TriedFault
from critests_proof.sweep.baseline_recording import RECORD_ONLY, Recording, left, runtime_of
from critests_proof.sweep.candidates import Candidates
from critests_proof.sweep.equivalents import equivalents
from critests_proof.sweep.exercise import Exercise, coverage
from critests_proof.sweep.sweep_parts import OtherParts, Part, read_results
from critests_proof.sweep.sweep_results import result_of
from critests_proof.sweep.trial import Trials
from critests_proof.sweep.untried import looks_there, untried

AUDIT_FILE = "audit.json"
ASKED_OF_A_STEP = 2
"""Tests of a step's requirement to try next after the set-up of another test failed in this step."""
WAIT_SECONDS = 0.2
"""Poll interval for the results of the other processes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the audit of the suite."""
    group = parser.getgroup("critests audit of the suite")
    group.addoption("--cri-sweep", action="store_true", help="try the faults that are derived from the API")
    group.addoption(
        "--cri-sweep-faults", action="append", default=[], metavar="WHAT", help="only these faults"
    )
    group.addoption("--cri-sweep-sample", type=int, default=0, metavar="N", help="a random sample of them")
    group.addoption("--cri-sweep-seed", type=int, default=0, metavar="N", help="of the sample")
    group.addoption(
        "--cri-sweep-tries", type=int, default=12, metavar="N", help="tests for each fault; 0 for all"
    )
    group.addoption("--cri-sweep-resume", action="store_true", help="go on where an audit was stopped")
    group.addoption(
        "--cri-sweep-workers",
        type=int,
        default=1,
        metavar="N",
        help="in so many processes, each with a runtime",
    )
    group.addoption("--cri-sweep-part", default="", metavar="K/N", help="what one of them has to do")
    group.addoption(RECORD_ONLY, action="store_true", help="only record what tests exercise")


def pytest_configure(config: pytest.Config) -> None:
    """Start the sweep if the options request it."""
    if not config.getoption("cri_sweep"):
        return
    try:
        faults: Sequence[DerivedFault] = chosen(all_faults(), config.getoption("cri_sweep_faults"))
    except FaultError as error:
        raise pytest.UsageError(str(error)) from error
    if not can_wrap(config):
        faults = [fault for fault in faults if fault.kind not in BELOW]
    # tests that only read do not disturb each other on one runtime
    undisturbed = config.getoption("cri_node") or config.getoption("cri_read_only")
    if config.getoption("cri_sweep_workers") > 1 and not undisturbed:
        msg = "--cri-sweep-workers: each process starts a runtime of its own, which takes --cri-node"
        raise pytest.UsageError(msg)
    size = config.getoption("cri_sweep_sample")
    if size:
        faults = sample(faults, size, config.getoption("cri_sweep_seed"))
    between = Between(keeps_apart=lambda _: True)
    config.pluginmanager.register(between, "critests-between")
    trials = Trials(config, between)
    config.pluginmanager.register(trials, "critests-trials")
    config.pluginmanager.register(Sweep(config, faults, between, trials), "critests-sweep")


class Sweep:
    """Sets one fault after another, and tries tests until one notices."""

    def __init__(
        self, config: pytest.Config, faults: Sequence[DerivedFault], between: Between, trials: Trials
    ) -> None:
        self._config = config
        self._faults = faults
        self._between = between
        self._trials = trials
        self._items: dict[str, pytest.Function] = {}
        self._exercise = Exercise("")
        self._folder = Path()
        self._results: list[FaultResult] = []
        given = config.getoption("cri_sweep_part")
        self._part = Part.read(given) if given else Part(0, config.getoption("cri_sweep_workers"))
        self._found: AuditRecord | None = None
        self._started = time.time()
        self._begun = 0.0
        self._done = self._left_to_do = 0

    # what goes on

    def _say(self, line: str) -> None:
        reporter = self._config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter.write_line(line)

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Disable the record of the run, which would not describe the runtime; wrap the OCI runtime and the
        CNI plugins for faults below the runtime.
        """
        suite = session.config.stash[SESSION]
        suite.is_recorded = suite.judges_leftovers = False
        kinds = {fault.kind for fault in self._faults}
        wrapped = WrappedPrograms(oci=bool(kinds & {"bundle", "command"}), cni="network" in kinds)
        suite.settings = replace(suite.settings, wrapped=wrapped)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Record the tests without a recording, then try every fault."""
        if session.testsfailed or session.config.option.collectonly:
            return None  # pytest reports the collection errors
        # tests that send invalid values in every field check none of them
        left_out = {profiles.MALFORMED, profiles.DOCUMENTS}
        self._items = {
            item.name: item
            for item in session.items
            if is_ours(item) and isinstance(item, pytest.Function) and metadata_of(item).stage not in left_out
        }
        context = session.config.stash[SESSION].begin()
        settings = context.settings
        self._folder = settings.results / "audit" / runtime_of(context).replace("/", "-").replace(" ", "-")
        recording = Recording(self._items, self._trials, context, self._folder, self._part, self._say)
        here = self._exercise = recording.record()
        candidates = Candidates(here, load())
        self._say_coverage(here, candidates)
        if not self._config.getoption("cri_sweep_record_only"):
            self._try_all(context, here, candidates)
        return True

    def _say_coverage(self, here: Exercise, candidates: Candidates) -> None:
        """Print which fields the tests exercise, and how many faults they reach."""
        for side in ("request", "response"):
            covered = coverage(here, side)
            words = "are set by a test" if side == "request" else "come filled"
            counts = f"{len(covered.seen)} of {len(covered.fields)} {side} fields"
            self._say(f"{counts} {words} on {here.runtime}")
        known = equivalents()
        without = [untried(fault, here, candidates, known) for fault in self._faults]
        counted = Counter(result.outcome for result in without if result is not None)
        self._say(
            f"a test gets to {without.count(None)} of {len(without)} faults; "
            + ", ".join(f"{counted[outcome]} {outcome}" for outcome in FaultOutcome if counted[outcome])
        )

    # the faults

    def _try_all(self, context: RunContext, here: Exercise, candidates: Candidates) -> None:
        """Try every fault of this part, and collect the results of the other parts."""
        file = self._part.verdicts(self._folder)
        known = (
            read_results(Part().verdicts(self._folder)) if self._config.getoption("cri_sweep_resume") else {}
        )
        self._results = (
            [] if self._part.number else [known[one.id] for one in self._faults if one.id in known]
        )
        wanted = [
            fault
            for position, fault in enumerate(self._faults)
            if self._part.has(position) and fault.id not in known
        ]
        self._left_to_do = len(self._faults) - len(self._results)
        equivalent = equivalents()
        others = OtherParts(self._part.of if not self._part.number else 1, self._folder)
        self._begun = time.monotonic()
        with file.open("a" if known and not self._part.number else "w", encoding="utf-8") as written:
            others.start()
            try:
                for fault in wanted:
                    result = untried(fault, here, candidates, equivalent)
                    self._take(result or self._try(fault, candidates, context), written)
                    for found in others.found():
                        self._take(found, written)
                while others.at_work(WAIT_SECONDS):
                    for found in others.found():
                        self._take(found, written)
            finally:
                others.end()
                for found in others.found():
                    self._take(found, written)
        for problem in others.problems():
            self._say(problem)

    def _take(self, result: FaultResult, written: TextIO) -> None:
        """Store and print the result of a fault."""
        self._results.append(result)
        written.write(json.dumps(to_plain(result)) + "\n")
        written.flush()
        self._done += 1
        by = f" by {result.by}" if result.by else ""
        self._say(
            f"[{self._done}/{self._left_to_do}] {result.outcome}: {result.fault}{by}"
            f" ({result.seconds:.1f} s){left(self._begun, self._done, self._left_to_do)}"
        )

    def _try(self, fault: DerivedFault, candidates: Candidates, context: RunContext) -> FaultResult:
        """Try a fault on one test after another, until one notices."""
        fitting = candidates.for_fault(fault)
        most = self._config.getoption("cri_sweep_tries")
        left = candidates.likely(fault, most)
        begun = time.monotonic()
        tried: list[TriedFault] = []
        asked: set[str] = set()
        noticed = ""
        while left and not noticed and not (most and len(tried) >= most):
            test = left.pop(0)
            item = self._items[test.test]
            ended = self._trials.run(item, fault.faults, context)
            red = ended.red and ended.hits > 0
            tried.append(TriedFault(test.test, ended.outcome, ended.hits, ended.reason[:300]))
            if red and (candidates.foreseen(test, fault) or self._is_by(fault, item, context)):
                noticed = test.test
            elif ended.hits and ended.blocked_by and ended.blocked_by not in asked:
                asked.add(ended.blocked_by)
                judges = candidates.judging(fault, ended.blocked_by, ASKED_OF_A_STEP)
                before = {one.test for one in tried}
                left = [
                    *(one for one in judges if one.test not in before),
                    *(one for one in left if one not in judges),
                ]
        outcome, evidence = FaultOutcome.NOT_REACHED, ""
        if noticed:
            outcome = FaultOutcome.NOTICED
        elif unsupported := candidates.not_offered(fault):
            outcome = FaultOutcome.NOT_OFFERED
            evidence = looks_there(unsupported)
        elif any(one.hits for one in tried):
            outcome = FaultOutcome.SURVIVED
        return result_of(
            fault,
            outcome,
            evidence=evidence,
            by=noticed,
            tried=tried,
            candidates=len(fitting),
            seconds=round(time.monotonic() - begun, 2),
        )

    def _is_by(self, fault: DerivedFault, item: pytest.Function, context: RunContext) -> bool:
        """Return whether a failure is caused by the fault, not by leftovers of an earlier one: the test now
        passes without the fault, or with new fixtures fails with it and passes without it.
        """
        if self._trials.run(item, (), context).outcome == Outcome.PASSED.value:
            return True
        take_down_what_is_shared(item)
        ended = self._trials.run(item, fault.faults, context)
        take_down_what_is_shared(item)
        again = self._trials.run(item, (), context)
        return ended.red and ended.hits > 0 and again.outcome == Outcome.PASSED.value

    # the end

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Remove the proxy before the clean-up of the run, write the results, and derive the exit code from
        survivors.
        """
        self._between.step_aside()
        if self._exercise.tests and not self._part.number:
            self._found = self._record_of_it()
        result = yield
        if self._found is not None:
            if int(session.exitstatus) in {0, 1, 5}:
                session.exitstatus = 1 if self._found.survivors else 0
            self._write(session, self._found)
        return result

    def _write(self, session: pytest.Session, record: AuditRecord) -> None:
        text = json.dumps(to_plain(record), ensure_ascii=False, indent=1) + "\n"
        try:
            for file in filter(
                None, (self._folder / AUDIT_FILE, session.config.stash[SESSION].settings.json)
            ):
                write_atomically(file, text)
        except RecordError as error:
            self._say(str(error))
            session.exitstatus = int(ExitCode.HARNESS_ERROR)

    def pytest_terminal_summary(self) -> None:
        """Print the survivors, the unreached faults, and the scores."""
        if self._found is not None and self._found.faults_total:
            print_audit(self._found, new_console(), f"record: {self._folder / AUDIT_FILE}")

    def _in_order(self) -> list[FaultResult]:
        place = {fault.id: number for number, fault in enumerate(self._faults)}
        return sorted(self._results, key=lambda result: place[result.fault])

    def _record_of_it(self) -> AuditRecord:
        sampled = self._config.getoption("cri_sweep_sample")
        sides = {side: coverage(self._exercise, side) for side in ("request", "response")}
        return AuditRecord(
            suite_version=critests.__version__,
            runtime=self._exercise.runtime,
            started=self._started,
            seconds=round(time.time() - self._started, 1),
            tests=len(self._items),
            faults_total=0 if self._config.getoption("cri_sweep_record_only") else len(self._faults),
            seed=self._config.getoption("cri_sweep_seed") if sampled else None,
            tries=self._config.getoption("cri_sweep_tries"),
            coverage={
                side: AuditCoverage(fields=len(one.fields), seen=len(one.seen), missing=list(one.missing))
                for side, one in sides.items()
            },
            faults=self._in_order(),
            passed=sorted(
                test.test for test in self._exercise.tests.values() if test.outcome == Outcome.PASSED.value
            ),
        )
