"""The pytest plugin of every process: options, collection, and the results of tests.

If its fixtures and markers are not used, it opens no connection, prints nothing and writes no file.
"""

import contextlib
import gc
import pkgutil
from collections.abc import Generator, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.register_assert_rewrite(
    "critests.run", "critests.fixtures", "critests.lifecycle", "critests.validation", "critests.benchmark"
)

# ruff: noqa: E402 - modules must be registered for assertion rewriting before they are imported
from critests import fixtures
from critests.benchmark import scenario_selection as scenarios
from critests.catalogue.words import Outcome
from critests.conditions.condition_table import refuse_processes
from critests.exit_codes import ExitCode, UsageError
from critests.record.codec import to_plain
from critests.record.judgement import judge_alone
from critests.record.reasons import Reason
from critests.record.result_records import TestResult
from critests.report.wording.reason_sentences import worded_result
from critests.run import (
    conclusion,
    condition_rules,
    failure_evidence,
    item_results,
    leftover_findings,
    marks,
    options,
    response_findings,
    selection,
)
from critests.run.classification import RawOutcome, after_a_hang, classify, with_last_change
from critests.run.collected_tests import CollectedTest
from critests.run.context import RunContext
from critests.run.daemon_watch import DaemonCrash, died, lost_connection
from critests.run.failure_text import in_full
from critests.run.handover import SCALE, HandoverFile
from critests.run.item_results import Phase, TestProgress
from critests.run.items import is_ours, metadata_of, narrowed_by_pytest, once_more, scenario_of, test_id
from critests.run.leftover_watch import Leftovers
from critests.run.outcomes import Blocked
from critests.run.run_settings import Settings
from critests.run.stop_signals import interrupt_at_stop_signals
from critests.run.suite_index import IndexedCollection
from critests.run.suite_session import OBJECT_CLEANUP, PROGRESS, SESSION, SuiteSession
from critests.run.time_limit import TimeLimits

if TYPE_CHECKING:
    from critests.controller import Controller

pytest_plugins = [f"{fixtures.__name__}.{module.name}" for module in pkgutil.iter_modules(fixtures.__path__)]

BACK_SECONDS = 30.0
"""How long the controller may take to restart a throwaway runtime."""

CONTROLLER: "pytest.StashKey[Controller]" = pytest.StashKey()
COLLECTION = pytest.StashKey[IndexedCollection]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the suite's options."""
    options.add_to_pytest(parser)
    group = parser.getgroup("critests")
    group.addoption(
        "--cri-progress",
        action="store_true",
        help="show the suite's own progress and summary instead of pytest's",
    )
    group.addoption(
        "--cri-list", action="store_true", help="print aspect, level and name of the tests, without running"
    )
    group.addoption(
        "--cri-index",
        action="store_true",
        help="import only the files with a selected test, according to the index of an earlier collection",
    )


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register markers, read the options, and replace pytest's terminal reporter if requested."""
    for line in marks.DESCRIPTIONS:
        config.addinivalue_line("markers", line)
    try:
        settings = Settings.read(config.getoption)
        scenarios.refuse_processes(config)
        if getattr(config.option, "numprocesses", None):
            # xdist would report an unknown word that a worker finds at collection as a crash of the worker
            selection.check(settings)
            refuse_processes(settings.condition)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    if handed := _worker_input(config):
        settings = replace(settings, deadline_scale=handed.get(SCALE, settings.deadline_scale))
    elif config.getoption("cri_progress") or settings.any_given:
        settings = settings.with_scale()
    config.stash[SESSION] = SuiteSession(settings, begin=lambda: _begin(config))
    config.pluginmanager.register(TimeLimits(config.stash[SESSION]), "critests-time-limits")
    if _worker_input(config) is None:
        # a worker neither begins nor judges a run
        from critests.controller import Controller  # noqa: PLC0415 - see above

        config.stash[CONTROLLER] = Controller(config, settings)
        config.pluginmanager.register(config.stash[CONTROLLER], "critests-controller")
        if config.stash[CONTROLLER].alone:
            config.pluginmanager.unregister(name="terminalreporter")
        interrupt_at_stop_signals()  # the controller cleans up from now on


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test once per handler if the user named several."""
    handlers = metafunc.config.stash[SESSION].settings.handlers
    if len(handlers) > 1 and "runtime_handler" in metafunc.fixturenames:
        metafunc.parametrize(
            "runtime_handler",
            handlers,
            indirect=True,
            scope="session",
            ids=[handler or "default" for handler in handlers],
        )


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Collect without the garbage collector when `critests` runs the suite: there is little garbage, and
    traversing a thousand tests repeatedly takes a tenth of the time.
    """
    _look_into_index(session.config)
    controller = session.config.stash.get(CONTROLLER, None)
    ours = controller.alone if controller is not None else "critests" in (_worker_input(session.config) or {})
    if not ours or not gc.isenabled():
        return (yield)
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _look_into_index(config: pytest.Config) -> None:
    # under -n the controller collects nothing
    asked = config.getoption("cri_index") and not config.pluginmanager.has_plugin("dsession")
    try:
        config.stash[COLLECTION] = IndexedCollection(
            config.stash[SESSION].settings, use_index=asked and not narrowed_by_pytest(config)
        )
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore the files of the suite that have no selected test according to the index."""
    return True if config.stash[COLLECTION].leaves_out(collection_path) else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Select and order the tests, and set the time limit of each."""
    if not any(is_ours(item) for item in items):
        return
    settings = config.stash[SESSION].settings
    tests_by_id: dict[str, CollectedTest] = {}
    collected: dict[str, list[pytest.Item]] = {}
    for item in items:
        test = metadata_of(item)
        tests_by_id.setdefault(test.id, test)
        # the cases of a test under faults have its id
        collected.setdefault(test.id, []).append(item)
    tests = list(tests_by_id.values())
    measuring = any(test.scenario for test in tests)
    # to look for leftovers would change what is measured
    config.stash[SESSION].judges_leftovers &= not measuring
    try:
        tests = config.stash[COLLECTION].whole(tests, complete=not session.testsfailed)
        chosen, dropped = (scenarios if measuring else selection).choose(tests, settings)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    for test in chosen:
        for item in collected[test.id]:
            if test.ours and not measuring and item.get_closest_marker("timeout") is None:
                limit = 180 if test.slow else 60
                item.add_marker(pytest.mark.timeout(limit * settings.scale, func_only=False))
    items[:] = [item for test in chosen for item in collected[test.id]]
    items += [once_more(item) for _ in range(settings.times - 1) for item in list(items)]
    if dropped:
        config.hook.pytest_deselected(items=[item for test in dropped for item in collected.get(test.id, [])])
    config.stash[SESSION].deselected = [
        item_results.of_deselected(test, settings) for test in dropped if test.ours
    ]
    controller = config.stash.get(CONTROLLER, None)
    if controller is not None:
        controller.collected(chosen, max(1, settings.times))
    elif handed := (_worker_input(config) or {}).get("critests"):
        HandoverFile.report_sharing(handed, [test for test in chosen if test.shares])


def _begin(config: pytest.Config) -> RunContext:
    """Begin the run in this process, or take it over from the controller; if that fails, end the session."""
    session = config.stash[SESSION]
    if session.context is None:
        handed = _worker_input(config)
        if handed is not None:
            if "critests" not in handed:
                pytest.exit(
                    "with -n, name the runtime by --runtime-endpoint or --cri-node",
                    returncode=ExitCode.USAGE,
                )
            session.context = RunContext.of_worker(session.settings, HandoverFile.read(handed["critests"]))
            session.gone = session.context.gone
            version = session.context.version
            session.rules = conclusion.judge_context(
                session.settings, version.runtime_name, version.runtime_version
            )
        else:
            session.context = config.stash[CONTROLLER].begin()
    return session.context


def _worker_input(config: pytest.Config) -> dict[str, Any] | None:
    handed: dict[str, Any] | None = getattr(config, "workerinput", None)
    return handed


# One test, in the process that runs it


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note the positions of the recorder and of the runtime's log when a test begins."""
    session = item.config.stash[SESSION]
    session.testing = is_ours(item)
    if session.testing:
        item.stash[PROGRESS] = TestProgress(
            position=session.recorder.position,
            log_position=session.log.position(),
            hangs_before=session.hangs_met,
        )
    if not session.testing or session.acting is None:
        return (yield)
    session.acting.test_begins(test_id(item), lambda: _sandboxes_of(item))
    try:
        return (yield)
    finally:
        session.acting.test_ends()


def _sandboxes_of(item: pytest.Item) -> list[str]:
    """Return the sandboxes that a test has for itself so far."""
    own = item.stash.get(OBJECT_CLEANUP, None)
    return [sandbox.id for sandbox in own.sandboxes] if own else []


@pytest.hookimpl(wrapper=True)
def pytest_assertrepr_compare(
    config: pytest.Config, op: str, left: object, right: object
) -> Generator[None, list[Iterable[str]], list[Iterable[str]]]:
    """Show both sides of a comparison in full if a test of the suite makes it."""
    explanations = yield
    if not config.stash[SESSION].testing:
        return explanations
    return [in_full(op, left, right, list(lines)) for lines in explanations]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Block a test whose runtime is gone."""
    session = item.config.stash[SESSION]
    if not is_ours(item):
        return
    if session.context is not None:
        reported = session.gone is not None
        # no test is to blame for a daemon that exited between two tests
        end = None if reported else session.watch.ended(suspicious=False)
        session.gone = end or session.gone
        if session.gone and session.context.throwaway and _is_back(item, reported=reported):
            session.gone = None
    if session.gone:
        raise Blocked(why=session.gone)
    if why := condition_rules.obstacle(item, session.settings):
        raise Blocked(why=why)


def _is_back(item: pytest.Item, *, reported: bool) -> bool:
    """Wait until the controller has restarted a throwaway runtime, as it does after a report of its end. If
    this process has not reported it, another one may have; if none has, the report of this test does, and the
    next test waits again.
    """
    session = item.config.stash[SESSION]
    waits = reported or _worker_input(item.config) is not None
    seconds = BACK_SECONDS * session.settings.scale if waits else 0.0
    back = session.watch.wait_for_restart(session.connection, seconds)
    session.watch.restart_timed_out &= reported
    return back


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the end of a phase into an outcome, write evidence, and send the result to the controller with the
    last phase.
    """
    report = yield
    progress = item.stash.get(PROGRESS, None)
    if progress is None:
        return report
    report.critests_ours = True  # type: ignore[attr-defined]  # travels to the controller with the report
    session = item.config.stash[SESSION]
    phase = progress.phases[call.when] = Phase(seconds=call.duration)
    level = session.context.level if session.context else None
    if call.excinfo is not None and not isinstance(
        call.excinfo.value, KeyboardInterrupt | pytest.exit.Exception
    ):
        phase.raw = classify(call.excinfo.value, call.when, item_results.known_minor(session.settings, level))
        phase.text = report.longreprtext
    phase.raw = _with_circumstances(session, progress, phase.raw, call.when)
    progress.hangs_before = session.hangs_met
    if session.context is not None:
        measures = bool(scenario_of(item))
        check_daemon = _check_daemon_after_scenario if measures else _check_daemon
        phase.raw = check_daemon(session, progress, phase.raw, call.when)
    if phase.raw is not None and phase.raw.outcome in {Outcome.FAILED, Outcome.ERROR}:
        _write_evidence(item, session, progress)
    judging = call.when == "teardown" and not scenario_of(item)
    violations = session.judge.take() if judging else []
    left = _left(item, session, progress) if judging else []
    if violations or left:
        _write_evidence(item, session, progress)
    if phase.raw is None and call.when != "teardown":
        return report
    worker = (_worker_input(item.config) or {}).get("workerid", "")
    result = item_results.of_item(item, progress, session.settings, session.context, worker)
    if phase.raw is not None:
        _set_pytest_outcome(report, result, item)
    if call.when == "teardown":
        # xdist sends additional attributes of a report to the controller
        report.critests = to_plain(result)  # type: ignore[attr-defined]  # see above
        report.critests_gone = to_plain(session.gone)  # type: ignore[attr-defined]  # see above
        minor = item_results.known_minor(session.settings, level)
        findings = [
            *response_findings.results_of(violations, result, minor),
            *leftover_findings.results_of(left, result),
        ]
        report.critests_findings = [to_plain(each) for each in findings]  # type: ignore[attr-defined]  # see above
    return report


def _with_circumstances(
    session: SuiteSession, progress: TestProgress, raw: RawOutcome | None, when: str
) -> RawOutcome | None:
    """Return the outcome of a phase with what its calls and the conditions of the run explain."""
    if when == "call":
        raw = with_last_change(raw, session.recorder.since(progress.position))
        raw = after_a_hang(raw, session.hangs_since(progress.hangs_before))
    return raw if session.acting is None else session.acting.excused(raw)


def _left(item: pytest.Item, session: SuiteSession, progress: TestProgress) -> list[Leftovers]:
    """Return what the objects of a test left, apart from what it found itself."""
    if session.leftovers is None:
        return []
    if session.gone:
        session.leftovers.forget()
    failed = progress.worst is not None and progress.worst[1].outcome is Outcome.FAILED
    judged = metadata_of(item).judged.requirement
    return session.leftovers.take(judged.id if failed and judged else "")


def _write_evidence(item: pytest.Item, session: SuiteSession, progress: TestProgress) -> None:
    """Write the evidence of a test at its first phase that fails."""
    if session.context is None or progress.evidence or not session.is_recorded:
        return
    with contextlib.suppress(OSError):
        progress.evidence = failure_evidence.write(
            session.context.folder,
            test_id(item),
            session.recorder,
            progress.position,
            item.stash.get(OBJECT_CLEANUP, None),
            session.log,
            progress.log_position,
        )


def _check_daemon(
    session: SuiteSession, progress: TestProgress, raw: RawOutcome | None, when: str
) -> RawOutcome | None:
    """Check that the daemon is alive; if not, fail this test, whatever its own outcome, and block the tests
    that follow.
    """
    if session.gone:
        return raw if raw is None or raw.outcome is not Outcome.ERROR else None
    calls = session.recorder.since(progress.position)
    lost = (raw is not None and raw.may_be_gone) or any(lost_connection(call) for call in calls)
    end = session.watch.ended(session.connection if when == "teardown" else None, suspicious=lost)
    if end is None:
        return _check_private_daemons(session, progress, raw, when) if lost else raw
    session.gone = end
    if raw is not None and raw.judged_as:  # a condition has found that the daemon does not come back
        return raw
    if not died(end):
        return RawOutcome(Outcome.BLOCKED, end) if raw is not None else None
    return _crash_outcome(session, progress, end, when)


def _check_private_daemons(
    session: SuiteSession, progress: TestProgress, raw: RawOutcome | None, when: str
) -> RawOutcome | None:
    """Fail the test during which a daemon of `own_runtime` or `module_runtime` died, and block later tests
    of the module. A test that provokes a daemon and checks it has failed with its own message already.
    """
    if raw is not None and not (raw.may_be_gone and (raw.rpc or raw.setup_rpc)):
        return raw
    for watch in session.private:
        end = watch.ended(suspicious=True)
        if end is None or not died(end):
            continue
        if watch.reported:
            return RawOutcome(Outcome.BLOCKED, end) if raw is not None else None
        watch.reported = True
        return _crash_outcome(session, progress, end, when)
    return raw


def _crash_outcome(session: SuiteSession, progress: TestProgress, end: Reason, when: str) -> RawOutcome:
    calls = session.recorder.since(progress.position)
    crash = DaemonCrash.of(end, calls, session.log.since(progress.log_position))
    phase = progress.phases[when]
    phase.text = f"{phase.text}\n\n{crash.last_log_lines}".strip()
    return RawOutcome(Outcome.FAILED, crash.why, judged_as=crash.aspect)


def _check_daemon_after_scenario(
    session: SuiteSession, progress: TestProgress, raw: RawOutcome | None, when: str
) -> RawOutcome | None:
    """Check that the daemon is alive if a scenario lost its connection. A scenario judges no requirement, so
    the crash of the daemon blocks it and what follows.
    """
    del progress, when
    if session.gone or raw is None or not raw.may_be_gone:
        return raw
    session.gone = session.watch.ended(suspicious=True)
    return RawOutcome(Outcome.BLOCKED, session.gone) if session.gone else raw


def _set_pytest_outcome(report: pytest.TestReport, result: TestResult, item: pytest.Item) -> None:
    """Map the outcome of a phase that did not pass to one of pytest."""
    final = worded_result(judge_alone(result, item.config.stash[SESSION].rules))
    where = (str(item.path), item.location[1] or 0)
    match final.outcome:
        case Outcome.WARNED:
            report.outcome, report.longrepr = "passed", None
        case Outcome.BLOCKED | Outcome.UNSUPPORTED:
            report.outcome, report.longrepr = "skipped", (*where, f"{final.outcome.value}: {final.reason}")
        case Outcome.FAILED if report.outcome == "passed":
            report.outcome, report.longrepr = "failed", final.reason
        case Outcome.KNOWN:
            report.outcome, report.wasxfail = "skipped", f"known: {final.expectation}"
    report.user_properties.append(("outcome", final.outcome.value))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the report of a worker to the controller."""
    output = getattr(session.config, "workeroutput", None)
    suite = session.config.stash[SESSION]
    if output is not None and suite.context is not None:
        output["critests"] = to_plain(suite.report())
