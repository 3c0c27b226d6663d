"""The pytest side: options, collection, and the way from outcomes to the run record.

Inert in an environment where its fixtures and markers are not used: no connection, no output, no file.
"""

import contextlib
import os
import resource
import signal
import sys
import time
from collections.abc import Generator, Iterator
from typing import Any

import pytest

pytest.register_assert_rewrite("critests.fixtures", "critests.lifecycle", "critests.validation")

# ruff: noqa: E402 - what is rewritten must be announced before it is imported
from critests.catalogue.words import Outcome
from critests.client import EndpointError, EndpointMalformed
from critests.fixtures import conclusion, evidence, marks, options, results, selection
from critests.fixtures.classification import Raw, classify
from critests.fixtures.conclusion import Gathered
from critests.fixtures.options import Settings, UsageError
from critests.fixtures.results import Course, Phase
from critests.fixtures.run_context import CannotTest, RunContext
from critests.fixtures.session import COURSE, MADE, SESSION, SuiteSession
from critests.images.ports import RegistryPortTaken
from critests.images.registry_client import RegistryError
from critests.images.rootfs import BusyboxError
from critests.node.binaries import MissingProgram
from critests.node.throwaway import RuntimeStartFailed
from critests.record.codec import from_plain, to_plain
from critests.record.errors import RecordError
from critests.record.exits import ExitCode
from critests.record.expectations import ExpectationsMalformed
from critests.record.files import write
from critests.record.judgement import Circumstances, judge
from critests.record.results import TestResult
from critests.record.run import RunRecord
from critests.report.exports import export
from critests.report.progress import Progress
from critests.report.terminal import new_console, print_summary

pytest_plugins = [
    "critests.fixtures.session",
    "critests.fixtures.sandboxes",
    "critests.fixtures.containers",
    "critests.fixtures.images",
    "critests.fixtures.streaming",
]

LEADER = pytest.StashKey["Leader"]()
NOT_TESTABLE = (CannotTest, EndpointError, RuntimeStartFailed, MissingProgram, BusyboxError, RegistryPortTaken, RegistryError, RecordError)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the suite's options."""
    options.add_to_pytest(parser)
    group = parser.getgroup("critests")
    group.addoption("--cri-progress", action="store_true", help="show the suite's own progress and summary instead of pytest's")
    group.addoption("--cri-list", action="store_true", help="print aspect, level and name of the tests, and run none")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register markers, read the options, and take pytest's own display away where the suite's is wanted."""
    for line in marks.DESCRIPTIONS:
        config.addinivalue_line("markers", line)
    try:
        settings = Settings.read(config.getoption)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    config.stash[SESSION] = SuiteSession(settings, begin=lambda: _begin(config))
    if _worker_input(config) is None:
        config.stash[LEADER] = Leader(config, settings)
        config.pluginmanager.register(config.stash[LEADER], "critests-leader")
        if config.stash[LEADER].alone:
            config.pluginmanager.unregister(name="terminalreporter")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test once per handler where the user named several."""
    handlers = metafunc.config.stash[SESSION].settings.handlers
    if len(handlers) > 1 and "runtime_handler" in metafunc.fixturenames:
        metafunc.parametrize(
            "runtime_handler", handlers, indirect=True, scope="session", ids=[handler or "default" for handler in handlers]
        )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what the user selected, in the suite's order, and give every test its time limit."""
    if not any(selection.is_ours(item) for item in items):
        return
    settings = config.stash[SESSION].settings
    try:
        kept, dropped = selection.choose(items, settings)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    for item in kept:
        if selection.is_ours(item) and item.get_closest_marker("timeout") is None:
            limit = 180 if item.get_closest_marker(marks.SLOW) else 60
            item.add_marker(pytest.mark.timeout(limit * settings.deadline_scale, func_only=False))
    if dropped:
        items[:] = kept
        config.hook.pytest_deselected(items=dropped)
    leader = config.stash.get(LEADER, None)
    if leader is not None:
        leader.collected(kept, dropped)


def _begin(config: pytest.Config) -> RunContext:
    """Begin the run in this process, or take it over from the leader; a run that cannot begin ends the session."""
    session = config.stash[SESSION]
    if session.context is None:
        handed = _worker_input(config)
        if handed is not None:
            if "critests" not in handed:
                pytest.exit(
                    "under -n the leader needs to know the runtime: give --runtime-endpoint or --cri-node", returncode=int(ExitCode.USAGE)
                )
            session.context = RunContext.of_worker(session.settings, handed["critests"])
        else:
            session.context = config.stash[LEADER].begin()
    return session.context


def _worker_input(config: pytest.Config) -> dict[str, Any] | None:
    handed: dict[str, Any] | None = getattr(config, "workerinput", None)
    return handed


# One test, in the process that runs it


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note where the recorder and the runtime's log are when a test begins."""
    if selection.is_ours(item):
        session = item.config.stash[SESSION]
        item.stash[COURSE] = Course(position=session.recorder.position, log_position=session.log.position())
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Do not begin a test on a runtime that has gone."""
    session = item.config.stash[SESSION]
    if session.gone and selection.is_ours(item):
        pytest.skip(f"blocked: {session.gone}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn what a phase came to into an outcome, keep evidence, and hand the result to the leader with the last phase."""
    report = yield
    course = item.stash.get(COURSE, None)
    if course is None:
        return report
    session = item.config.stash[SESSION]
    phase = course.phases[call.when] = Phase(seconds=call.duration)
    if call.excinfo is not None and not isinstance(call.excinfo.value, KeyboardInterrupt | pytest.exit.Exception):
        phase.raw = classify(call.excinfo.value, call.when)
        phase.error = str(call.excinfo.value)
        phase.text = report.longreprtext
        if phase.raw.lost or session.gone:
            phase.raw = _look_after(session, phase.raw)
        if phase.raw.outcome in {Outcome.FAILED, Outcome.ERROR} and session.context is not None and not course.evidence:
            with contextlib.suppress(OSError):
                course.evidence = evidence.write(
                    session.context.folder,
                    selection.test_id(item),
                    session.recorder,
                    course.position,
                    item.stash.get(MADE, None),
                    session.log,
                    course.log_position,
                )
    level = session.context.level if session.context else None
    worker = (_worker_input(item.config) or {}).get("workerid", "")
    result = results.of_item(item, course, session.settings, level, worker)
    if phase.raw is not None:
        _speak_pytest(report, result, item)
    if call.when == "teardown":
        report.critests = to_plain(result)  # type: ignore[attr-defined]  # what a report holds beside its fields travels to the leader with it
    return report


def _look_after(session: SuiteSession, raw: Raw) -> Raw:
    """Look whether the runtime still answers; if not, this test is blocked and so is everything after it."""
    if session.context is None:
        return raw
    if not session.gone:
        fresh = session.context.connect()
        try:
            fresh.greet()
        except EndpointError as error:
            session.gone = f"the runtime stopped answering ({error})"
        finally:
            fresh.close()
    return Raw(Outcome.BLOCKED, session.gone) if session.gone else raw


def _speak_pytest(report: pytest.TestReport, result: TestResult, item: pytest.Item) -> None:
    """Give a phase that did not pass the outcome that pytest knows for it."""
    known = item.config.stash[LEADER].known if LEADER in item.config.stash else None
    final = judge([result], known).tests[0] if known is not None else result
    where = (str(item.path), item.location[1] or 0)
    match final.outcome:
        case Outcome.WARNED:
            report.outcome, report.longrepr = "passed", None
        case Outcome.BLOCKED | Outcome.UNSUPPORTED:
            report.outcome, report.longrepr = "skipped", (*where, f"{final.outcome.value}: {final.reason}")
        case Outcome.KNOWN:
            report.outcome, report.wasxfail = "skipped", f"known: {final.expectation}"
    report.user_properties.append(("outcome", final.outcome.value))


# The leader: the process that the user started


class Leader:
    """Begins the run, gathers what its processes report, judges it, writes the record and cleans up."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.gathered = Gathered()
        self.known: Circumstances | None = None
        self.begun = time.time()
        self.workers = 0
        self.interrupted = False
        self.record: RunRecord | None = None
        self.context: RunContext | None = None
        self.progress: Progress | None = None
        self.total = 0
        self._silent = contextlib.ExitStack()
        self.alone = bool(config.getoption("cri_progress") or config.getoption("cri_list"))
        if config.getoption("cri_progress"):
            self.progress = Progress()
        if config.getoption("cri_list"):
            config.option.collectonly = True

    @property
    def active(self) -> bool:
        """Whether the user asked for a run by an option, so that it can begin before the first test asks for it."""
        return self.settings.any_given or bool(self.config.getoption("cri_progress"))

    def begin(self) -> RunContext:
        """Begin the run; ends pytest with a clear sentence where that cannot be done."""
        if self.context is None:
            signal.signal(signal.SIGTERM, _interrupt)
            try:
                conclusion.required(self.settings)
                conclusion.known_failures(self.settings, "")
                self.context = RunContext.begin(self.settings)
                self.known = conclusion.circumstances(
                    self.settings, self.context.version.runtime_name, self.context.version.runtime_version
                )
            except (UsageError, ExpectationsMalformed, EndpointMalformed, ValueError) as error:
                self._end_context()
                pytest.exit(str(error), returncode=int(ExitCode.USAGE))
            except NOT_TESTABLE as error:
                self._end_context()
                pytest.exit(str(error), returncode=int(ExitCode.NOT_TESTED))
            self.config.stash[SESSION].context = self.context
        return self.context

    def collected(self, kept: list[pytest.Item], dropped: list[pytest.Item]) -> None:
        """Note what will run, and what the user left out."""
        ours = [item for item in kept if selection.is_ours(item)]
        self.total = len(ours)
        self.gathered.results += [results.of_deselected(item, self.settings) for item in dropped if selection.is_ours(item)]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Print what was collected, a test a line, where the user wants the list."""
        if self.config.getoption("cri_list"):
            for item in session.items:
                judged = selection.judged_by(item)
                level = f"{judged.aspect.level}{'†' if judged.aspect.judgement else ''}" if judged.aspect else "-"
                sys.stdout.write(f"{judged.name or '-':<24} {level:<8} {item.name}\n")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Say why a module could not be read, where pytest's display does not."""
        if self.alone and report.failed:
            sys.stderr.write(f"critests: {report.nodeid} cannot be collected:\n{report.longreprtext}\n")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Begin a run that the user asked for before its first test; under -n the workers' set-up has begun it already."""
        if self.active and not session.config.option.collectonly and any(selection.is_ours(item) for item in session.items):
            self.begin()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401 - xdist's worker controller is not typed
        """Hand the run to a worker."""
        if self.active:
            node.workerinput["critests"] = self.begin().to_worker()
            self.workers += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # noqa: ANN401 - xdist's worker controller is not typed
        """Take what a worker reports at its end."""
        reported = getattr(node, "workeroutput", {}).get("critests")
        if reported:
            self.gathered.take(reported)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Know the number of tests, which under -n only the workers collect."""
        self.total = max(self.total, len(ids))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Begin the display with the first test."""
        if not self.gathered.first_test:
            self.gathered.first_test = time.time()
            if self.progress is not None:
                self.progress.started(self.total)
        if self.progress is not None:
            self.progress.running(nodeid.rpartition("::")[2])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather a result when its test is over."""
        plain = getattr(report, "critests", None)
        if plain is not None:
            self._take(from_plain(TestResult, plain))
        elif report.when not in {"setup", "call", "teardown"} and report.failed:
            self._take(results.of_crash(report.nodeid, report.longreprtext[:2000] or "the worker died"))

    def _take(self, result: TestResult) -> None:
        self.gathered.results.append(result)
        if self.progress is not None:
            final = judge([result], self.known).tests[0] if self.known else result
            self.progress.test(final)

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note that the user stopped the run; `pytest.exit` has reasons of its own."""
        self.interrupted = not isinstance(excinfo.value, pytest.exit.Exception)
        if self.interrupted:
            # from here on everything is clean-up, which a second Ctrl-C must not tear apart
            signal.signal(signal.SIGINT, _say_that_it_goes_on)
            signal.signal(signal.SIGTERM, _say_that_it_goes_on)
        if self.alone:
            sys.stderr.write(f"critests: {'interrupted, cleaning up' if self.interrupted else excinfo.value}\n")

    def pytest_internalerror(self, excrepr: object) -> None:
        """Note that the harness broke."""
        self.gathered.harness_error = f"pytest itself failed: {str(excrepr).strip().splitlines()[-1][:500]}"
        if self.alone:
            sys.stderr.write(f"critests: the harness failed:\n{excrepr}\n")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Judge, write, clean up, and set the exit code."""
        if self.progress is not None and self.gathered.first_test:
            self.progress.finished()
        if self.context is None:
            return
        self.gathered.take(report_of(self.config.stash[SESSION]))
        problems = self._end_context()
        self.gathered.problems += problems
        record = conclusion.conclude(
            self.context,
            self.gathered,
            self.known or conclusion.circumstances(self.settings, "", ""),
            arguments=sys.argv[1:],
            workers=max(1, self.workers),
            begun=self.begun,
            interrupted=self.interrupted,
        )
        session.exitstatus = record.exit_code
        self.record = record
        try:
            write(record, self.context.folder.record)
            export(
                record,
                self.context.folder.path,
                junit=self.settings.path("--junit"),
                html=self.settings.path("--html"),
                json=self.settings.path("--json"),
            )
        except (RecordError, OSError) as error:
            sys.stderr.write(f"critests: {error}\n")
            session.exitstatus = int(ExitCode.HARNESS_ERROR)
        if self.progress is not None:
            print_summary(record, run_dir=self.context.folder.path)

    def pytest_terminal_summary(self) -> None:
        """Print the suite's summary below pytest's."""
        if self.record is not None and self.context is not None and self.progress is None:
            print_summary(self.record, run_dir=self.context.folder.path, console=new_console())

    def pytest_unconfigure(self) -> None:
        """Clean up whatever happened."""
        self._end_context()

    def _end_context(self) -> list[str]:
        context, self._ended = self.context, True
        if context is None or context.led is None:
            return []
        with _undisturbed():
            problems = context.end()
        context.led = None
        return problems


def report_of(session: SuiteSession) -> dict[str, Any]:
    """Return what one process reports to the leader, as plain data."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    facts = [fact for runtime in session.runtimes for fact in runtime.capabilities.known()]
    return {
        "coverage": session.recorder.coverage.to_json(),
        "facts": [[fact.name, fact.present, fact.evidence, fact.source] for fact in facts],
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "problems": session.problems,
        "gone": session.gone,
    }


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Report to the leader from a worker."""
    output = getattr(session.config, "workeroutput", None)
    suite = session.config.stash[SESSION]
    if output is not None and suite.context is not None:
        output["critests"] = report_of(suite)


def _interrupt(number: int, frame: object) -> None:
    """End the run in order when somebody ends the process."""
    del number, frame
    raise KeyboardInterrupt


def _say_that_it_goes_on(number: int, frame: object) -> None:
    """Finish cleaning up when Ctrl-C is pressed again."""
    del number, frame
    os.write(2, b"\ncritests: cleaning up, please wait a moment\n")


@contextlib.contextmanager
def _undisturbed() -> Iterator[None]:
    """Finish cleaning up whatever signals come meanwhile."""
    before = {number: signal.signal(number, _say_that_it_goes_on) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
