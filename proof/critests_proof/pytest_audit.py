"""The audit as a pytest plugin: every test runs once without a fault, and once under each fault that it must
notice.

    pytest -p critests.plugin -p critests_proof.pytest_audit --pyargs critests.validation --cri-audit …

A case under a fault is an additional test, `NAME!FAULT`, which passes if the test noticed the fault: if its
own phase failed after the fault had changed something. A test that is blocked, unsupported, or fails in the
harness has not noticed; if the fault had changed nothing, the case counts as not tried, and another runtime
has to prove the test.

The fault acts from the test's own set-up (or its call only) until its clean-up; shared fixtures are created
without it. Containers that tests share for reading are recreated under the fault, for that case only. A
runtime of one test, or of one module, gets its own proxy.

For a fault that names requirements instead of tests (`breaks`), one test that notices is enough; shared
fixtures are recreated under the fault.
"""

import json
from collections.abc import Generator, Iterator
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path

import pytest

from critests.node.wrappers.wrapped_programs import WrappedPrograms
from critests.run.collected_tests import SUITE
from critests.run.items import is_ours, judged_by
from critests.run.suite_session import PROGRESS, SESSION
from critests.toml_file import TomlMalformed
from critests_proof.cases import MARK, case_of
from critests_proof.language.faults import BelowFault, FaultError, is_of_the_network, parse_fault
from critests_proof.matrix import SUFFIX, Matrix, MatrixEntry, check_names, faults_file, load
from critests_proof.oci_faults import OCI_FAULTS
from critests_proof.proxy_plugin import Between, can_wrap, take_down_what_is_shared
from critests_proof.verdicts import Audit, FaultVerdict, verdict_of

ENTRY = pytest.StashKey[MatrixEntry]()
_REPORTED = "cri_audit"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the audit."""
    group = parser.getgroup("critests audit")
    group.addoption(
        "--cri-audit", action="store_true", help="run every test under the faults that it must notice"
    )
    group.addoption(
        "--cri-audit-matrix",
        metavar="FILE",
        help="faults and the tests that must notice (default: *.faults.toml next to the tests)",
    )
    group.addoption(
        "--cri-audit-oci",
        action="store_true",
        help=(
            "instead of those faults, the ones in what an OCI runtime reads, derived from its specification;"
            " needs --cri-node, and no -n"
        ),
    )
    group.addoption(
        "--cri-audit-fault",
        action="append",
        default=[],
        metavar="ID",
        help="only this fault; may be given several times",
    )
    group.addoption(
        "--cri-audit-try",
        action="append",
        default=[],
        metavar="FAULT",
        help=(
            "set this fault for every selected test instead of those of the matrix; given several times, they"
            " are set together"
        ),
    )
    group.addoption("--cri-audit-only", action="store_true", help="leave the honest runs out")
    group.addoption(
        "--cri-audit-report", metavar="FILE", help="write which fault was noticed by which test, as JSON"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Start the audit if the options request it."""
    if not config.getoption("cri_audit"):
        return
    try:
        matrix, tried = _matrix(config), _tried(config)
    except (FaultError, TomlMalformed) as error:
        raise pytest.UsageError(str(error)) from error
    between = Between(keeps_apart=lambda item: ENTRY in item.stash)
    config.pluginmanager.register(between, "critests-between")
    config.pluginmanager.register(Auditor(config, matrix, tried, between), "critests-auditor")


def _tried(config: pytest.Config) -> MatrixEntry | None:
    """Return the faults of `--cri-audit-try` as an entry."""
    texts = config.getoption("cri_audit_try")
    return (
        MatrixEntry("try", tuple(map(parse_fault, texts)), "whatever the fault breaks", ()) if texts else None
    )


def _matrix(config: pytest.Config) -> Matrix | None:
    """Return the matrix; None if one fault is tried on all tests."""
    if config.getoption("cri_audit_try"):
        return None
    given = config.getoption("cri_audit_matrix")
    if config.getoption("cri_audit_oci"):
        if not can_wrap(config):
            msg = (
                "--cri-audit-oci needs --cri-node, whose OCI runtime it can disturb, and one process (no -n)"
            )
            raise pytest.UsageError(msg)
        given = given or OCI_FAULTS
    matrix = load(Path(given)) if given else load(SUITE, *_faults_of_others(config))
    if not hasattr(config, "workerinput"):
        check_names(matrix, SUITE, *_places(config))
    wanted = config.getoption("cri_audit_fault")
    unknown = set(wanted) - {entry.id for entry in matrix.entries}
    if unknown:
        msg = f"--cri-audit-fault {min(unknown)}: no fault has this id"
        raise pytest.UsageError(msg)
    return Matrix(tuple(entry for entry in matrix.entries if not wanted or entry.id in wanted))


def _is_below_the_runtime(entry: MatrixEntry) -> bool:
    return any(isinstance(fault, BelowFault) for fault in entry.faults)


def _places(config: pytest.Config) -> Iterator[Path]:
    """Yield the files and folders of tests that the user named."""
    for argument in config.args:
        path = config.invocation_params.dir / argument.partition("::")[0]
        if path.exists():
            yield path


def _faults_of_others(config: pytest.Config) -> Iterator[Path]:
    """Yield the faults files next to the test modules that the user named."""
    skipped = config.getini("norecursedirs")
    for path in _places(config):
        if path.is_file() and faults_file(path).exists():
            yield faults_file(path)
        for file in path.rglob(f"*{SUFFIX}"):
            folders = file.relative_to(path).parts[:-1]
            if not any(fnmatch(folder, pattern) for folder in folders for pattern in skipped):
                yield file


class Auditor:
    """Sets each fault for its case, and collects the verdicts."""

    def __init__(
        self, config: pytest.Config, matrix: Matrix | None, tried: MatrixEntry | None, between: Between
    ) -> None:
        self.config = config
        self.matrix = matrix
        self.tried = tried
        self.between = between
        self.audit = Audit()
        self.noticed: set[str] = set()
        self.wraps: set[bool] = set()

    # what runs

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Add the cases under faults after every test."""
        wanted: list[pytest.Item] = []
        for item in items:
            if not is_ours(item) or not isinstance(item, pytest.Function):
                wanted.append(item)
                continue
            if not self.config.getoption("cri_audit_only"):
                wanted.append(item)
            wanted += [_case(item, entry) for entry in self._entries(item)]
            self.audit.tests.add(item.name)
        items[:] = wanted
        suite = self.config.stash[SESSION]
        # a fault in a removal leaves something that the runtime is not to blame for
        suite.judges_leftovers = False
        wrapped = WrappedPrograms(oci=False in self.wraps, cni=True in self.wraps)
        suite.settings = replace(suite.settings, wrapped=wrapped)

    def _entries(self, item: pytest.Item) -> Iterator[MatrixEntry]:
        entries = [self.tried] if self.tried is not None else []
        if self.matrix is not None:
            entries = self.matrix.for_test(item.name, judged_by(item).name)
        for entry in entries:
            if not _is_below_the_runtime(entry):
                yield entry
            elif can_wrap(self.config):
                self.wraps |= {is_of_the_network(one) for one in entry.faults if isinstance(one, BelowFault)}
                yield entry

    def _left_out(self) -> list[MatrixEntry]:
        """Return the faults of the executed tests that could not be set here; with -n only the workers
        collect.
        """
        if can_wrap(self.config):
            return []
        entries = self.matrix.entries if self.matrix is not None else ()
        found = [entry for entry in entries if any(map(entry.concerns, self.audit.tests))]
        return [entry for entry in (*found, self.tried) if entry is not None and _is_below_the_runtime(entry)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Skip a case if another test has noticed the fault and one is enough."""
        entry = item.stash.get(ENTRY, None)
        return True if entry is not None and entry.breaks and entry.id in self.noticed else None

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Drop the deselected tests."""
        self.audit.tests -= {item.name for item in items if ENTRY not in item.stash}

    # one case

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Set the fault for the whole test."""
        entry = item.stash.get(ENTRY, None)
        if entry is None:
            return
        if entry.breaks or self.between.used_up:
            take_down_what_is_shared(item)
        self.between.reaches_shared = bool(entry.breaks)
        if entry.during == "all":
            self.between.set(item.config, entry.faults)
        elif entry.during == "restart":
            self.between.after_restart = entry.faults

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Set the fault for the call only, if it is limited to the call."""
        entry = item.stash.get(ENTRY, None)
        if entry is not None and entry.during == "call":
            self.between.set(item.config, entry.faults)
        return (yield)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Clean up without the fault; after a fault that spoils, tear down shared fixtures."""
        entry = item.stash.get(ENTRY, None)
        self.between.lift()
        if entry is not None and (entry.spoils or entry.breaks):
            take_down_what_is_shared(item)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Invert the outcome of a case: it passes if the test noticed the fault."""
        entry = item.stash.get(ENTRY, None)
        if entry is None:
            return (yield)
        hits = self.between.hits()
        with self.between.honest():
            report = yield
        report.__dict__.pop("critests", None)  # a case under a fault is not a result of the runtime
        if call.when == "teardown" or (call.when == "setup" and call.excinfo is None):
            return report
        progress = item.stash.get(PROGRESS, None)
        raw = progress.phases[call.when].raw if progress is not None else None
        verdict = verdict_of(entry, item.name.partition(MARK)[0], raw, hits)
        setattr(report, _REPORTED, verdict.to_json())
        if verdict.noticed:
            self.noticed.add(entry.id)
        self._speak(report, item, entry, verdict)
        report.__dict__.pop("wasxfail", None)
        return report

    def _speak(
        self, report: pytest.TestReport, item: pytest.Item, entry: MatrixEntry, verdict: FaultVerdict
    ) -> None:
        """Set the outcome of the audit in the report of a case."""
        if verdict.noticed or self.tried is not None:
            report.outcome, report.longrepr = "passed", None
        elif (
            entry.breaks
            or verdict.stood_aside
            or ("[" in verdict.test and verdict.test not in entry.turns_red)
        ):
            # another runtime, or another case of this test, may notice; the summary decides
            report.outcome, report.longrepr = "skipped", (str(item.path), item.location[1] or 0, str(verdict))
        else:
            report.outcome, report.longrepr = "failed", str(verdict)

    # all of it

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the verdicts on the cases from all processes."""
        reported = getattr(report, _REPORTED, None)
        if reported is not None:
            self.audit.verdicts.append(FaultVerdict.from_json(reported))
            self.audit.tests.add(reported["test"])
        elif MARK not in report.nodeid:
            result = getattr(report, "critests", None)  # last, because for pytest a warning counts as passed
            if result or report.when == "call" or (report.when == "setup" and not report.passed):
                name = _name(report.nodeid)
                self.audit.tests.add(name)
                self.audit.honest[name] = result["outcome"] if result else report.outcome

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Remove the proxy before the clean-up of the run, and derive the exit code from unnoticed faults."""
        self.between.step_aside()
        result = yield
        if not hasattr(session.config, "workerinput"):
            report = session.config.getoption("cri_audit_report")
            if report:
                Path(report).write_text(
                    json.dumps(self.audit.to_json(self.matrix), indent=1) + "\n", encoding="utf-8"
                )
            session.exitstatus = self._exit_status(int(session.exitstatus))
        return result

    def _exit_status(self, status: int) -> int:
        if status not in {0, 1, 5}:
            return status
        if self.tried is None and (self.audit.unnoticed(self.matrix) or self._unproven()):
            return 1
        return 0 if self.config.getoption("cri_audit_only") and self.audit.verdicts else status

    def _unproven(self) -> list[str]:
        """Return the tests without a fault, if all faults were selected."""
        if self.matrix is None or self.matrix.broad or self.config.getoption("cri_audit_fault"):
            return []
        return self.audit.without_fault(self.matrix)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print which test noticed which fault, and which tests have no fault."""
        terminalreporter.section("audit")
        for line in self.audit.lines(self.matrix):
            terminalreporter.write_line(line)
        left_out = [entry.id for entry in self._left_out()]
        if left_out:
            needs = "below the runtime, which need --cri-node and one process (no -n)"
            terminalreporter.write_line(f"not tried: {', '.join(left_out)}: faults {needs}")

    def pytest_unconfigure(self) -> None:
        """Remove leftovers."""
        self.between.step_aside()


def _name(nodeid: str) -> str:
    """Return the name of a test with its parameters, which may contain any characters."""
    path, _, rest = nodeid.partition("::")
    function, bracket, parameters = rest.partition("[")
    return (function.rpartition("::")[2] or path) + bracket + parameters


def _case(item: pytest.Function, entry: MatrixEntry) -> pytest.Function:
    """Return the case of a test under a fault."""
    case = case_of(item, entry.id)
    case.stash[ENTRY] = entry
    return case
