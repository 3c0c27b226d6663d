"""The process that the user started: it begins the run, gathers the results of all processes, judges them,
writes the record and cleans up.
"""

import dataclasses
import signal
import sys
import time
import warnings
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from critests.catalogue.words import Capability
from critests.client.call_recording import Recorder
from critests.exit_codes import CannotTest, ExitCode
from critests.node.starting.throwaway import RuntimeStartFailed
from critests.record.codec import from_plain
from critests.record.judgement import JudgeContext, judge, judge_alone
from critests.record.reasons import Reason, ReasonCode
from critests.record.record_errors import RecordError
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.report.terminal.broken_pipe import redirect_closed_pipes
from critests.report.wording.endings import worded
from critests.report.wording.reason_sentences import said, worded_result
from critests.report.wording.texts import one_line
from critests.run import conclusion, crash_suspects, item_results, response_findings, tries
from critests.run.acting_conditions import ActingConditions
from critests.run.beginning import begin_run
from critests.run.collected_tests import CollectedTest
from critests.run.conclusion import WorkerResults
from critests.run.context import RunContext
from critests.run.handover import SCALE, HandoverFile, WorkerReport
from critests.run.items import is_ours, metadata_of, narrowed_by_pytest
from critests.run.listing import print_list
from critests.run.outcomes import Blocked, SetUpFailed
from critests.run.pulled_images import TestImages
from critests.run.run_settings import Settings
from critests.run.selection import NOTHING_LEFT
from critests.run.startup_checks import StartupChecks
from critests.run.stop_signals import announce_cleanup, handled_by, interrupt, protect_cleanup
from critests.run.suite_session import SESSION

if TYPE_CHECKING:  # progress is imported if a run shows it, the formats at the end of the run
    from critests.report.terminal.progress import Progress
    from critests.run.module_scheduler import ModuleScheduler


class Controller:
    """Begins the run, gathers the results of all processes, judges them, writes the record and cleans up."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.worker_results = WorkerResults()
        self.rules: JudgeContext | None = None
        self.begun, self.begun_monotonic = time.time(), time.monotonic()
        self.workers = 0
        self.interrupted = False
        self.ended_early = False
        self.record: RunRecord | None = None
        self.context: RunContext | None = None
        self.handover: HandoverFile | None = None
        self.progress: Progress | None = None
        self.total = 0
        self.chosen = False
        self.crashes: dict[str, list[str]] = {}
        self.alone = bool(config.getoption("cri_progress") or config.getoption("cri_list"))
        if config.getoption("cri_progress"):
            from critests.report.terminal import progress  # noqa: PLC0415 - see above

            self.progress = progress.Progress()
        if config.getoption("cri_list"):
            config.option.collectonly = True

    @property
    def active(self) -> bool:
        """Whether an option requests a run, so that it can begin before a fixture of the first test does."""
        return self.settings.any_given or bool(self.config.getoption("cri_progress"))

    def begin(self) -> RunContext:
        """Begin the run; if that fails, exit pytest with a message."""
        if self.context is None:
            signal.signal(signal.SIGTERM, interrupt)
            try:
                conclusion.required(self.settings)
                conclusion.known_failures(self.settings, "")
                suite = self.config.stash[SESSION]
                self.context = begin_run(suite.settings, keep_results=suite.is_recorded)
                if self.settings.time_limit:
                    self.context.no_test_after = self.begun_monotonic + self.settings.time_limit
                self._probe_what_is_required()
                self.rules = conclusion.judge_context(
                    self.settings, self.context.version.runtime_name, self.context.version.runtime_version
                )
            except CannotTest as error:
                self._end_context()
                pytest.exit(str(error), returncode=error.exit_code)
            self.config.stash[SESSION].context = self.context
            suite.acting = ActingConditions.of(
                self.context,
                suite.recorder,
                connection=lambda: suite.connection,
                watch=lambda: suite.watch,
                created=lambda call: suite.leftovers.follow(call) if suite.leftovers is not None else None,
            )
            # steps that fail by plan leave what they should remove
            suite.judges_leftovers &= suite.acting is None or suite.acting.steps is None
            self.config.stash[SESSION].gone = self.context.gone
            self.worker_results.results += self.context.crashes
            self.config.stash[SESSION].rules = self.rules
            if self.progress is not None:
                self.config.stash[SESSION].on_progress = self.progress.running
        return self.context

    def _probe_what_is_required(self) -> None:
        """Probe the capabilities of --require now, whether or not a test needs them."""
        assert self.context is not None
        known = {fact.name for fact in self.context.facts}
        required = tuple(Capability(name) for name in conclusion.required(self.settings) if name not in known)
        if not required:
            return
        recorder = Recorder()
        connection = self.context.connect(recorder)
        try:
            matrix = self.context.matrix(
                connection, self.settings.handlers[0], TestImages(connection, self.context).pull
            )
            StartupChecks(self.context, connection, recorder).probe(matrix, required)
        except (Blocked, SetUpFailed) as error:
            self.worker_results.notes.append(
                f"not all required capabilities could be probed: {said(error.why)}"
            )
        finally:
            connection.close()

    def collected(self, tests: list[CollectedTest], times: int) -> None:
        """Note how many tests will run, each `times` times."""
        self.total, self.chosen = sum(test.ours for test in tests) * times, True

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """With --list, print the selected tests, one per line; after a usage error none is selected."""
        if not self.config.getoption("cri_list") or not self.chosen:
            return
        try:
            print_list(map(metadata_of, session.items), self.settings)
        except BrokenPipeError:  # the reader, such as `| head`, has exited
            redirect_closed_pipes()
        except RecordError as error:
            pytest.exit(str(error), returncode=ExitCode.HARNESS_ERROR)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Print why a module cannot be collected, if pytest's terminal reporter is replaced."""
        if self.alone and report.failed:
            sys.stderr.write(f"critests: {report.nodeid} cannot be collected:\n{report.longreprtext}\n")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Begin a run that an option requests before its first test; with -n, while the workers collect."""
        if not self.active or session.config.option.collectonly:
            return
        if self.handover is not None:
            self.handover.write(self.begin())
        elif any(is_ours(item) for item in session.items):
            self.begin()

    @pytest.hookimpl(optionalhook=True)
    # xdist's worker controller is not typed
    def pytest_configure_node(self, node: Any) -> None:  # noqa: ANN401 - see above
        """Pass the paths of the handover files and the scale of the deadlines to a worker."""
        if self.active:
            self.handover = self.handover or HandoverFile()
            node.workerinput["critests"] = self.handover.paths
            node.workerinput[SCALE] = self.settings.deadline_scale
            self.workers += 1

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:  # noqa: ANN401 - xdist's worker controller is not typed
        """Take the final report of a worker."""
        reported = getattr(node, "workeroutput", {}).get("critests")
        if reported:
            report = from_plain(WorkerReport, reported)
            self.worker_results.take(report)
            if self.context is not None:
                self.context.hangs.adopt(report.hangs)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: object) -> "ModuleScheduler | None":
        """Return the scheduler that `critests run -n` uses."""
        if self.handover is None or config.getoption("dist") != "loadgroup":
            return None
        from critests.run.module_scheduler import ModuleScheduler  # noqa: PLC0415 - xdist is imported by now

        return ModuleScheduler(config, log, self.handover.sharing_tests)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Note the number of tests; with -n only the workers collect them."""
        self.total = max(self.total, len(ids))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Start the progress with the first test."""
        if not self.worker_results.first_test:
            self.worker_results.first_test = time.time()
            if self.progress is not None:
                self.progress.started(self.total)
        if self.progress is not None:
            self.progress.running(nodeid.rpartition("::")[2])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather the result of a completed test."""
        plain = getattr(report, "critests", None)
        if plain is not None:
            result = from_plain(TestResult, plain)
            self._take(result)
            if findings := getattr(report, "critests_findings", []):
                known = {each.id for each in self.worker_results.results}
                for finding in findings:
                    if finding["id"] not in known:
                        self._take(from_plain(TestResult, finding))
            gone = getattr(report, "critests_gone", None)
            if gone:
                if (end := repr(gone)) not in self.crashes:
                    self._revive()
                self.crashes.setdefault(end, []).append(result.id)
        elif report.failed and report.when != "call" and not getattr(report, "critests_ours", False):
            # the worker died, or the test failed before the plugin saw it, e.g. by an unknown fixture; tests
            # that do not use the runtime are left to pytest
            self._take(item_results.of_crash(report.nodeid, report.longreprtext[:2000] or "the worker died"))

    def _revive(self) -> None:
        """Restart the throwaway runtime, if the run has one."""
        runtime = self.context.owned.runtime if self.context and self.context.owned else None
        if runtime is None:
            return
        try:
            runtime.restart()
        except RuntimeStartFailed as error:
            self.worker_results.notes.append(str(error))
            return
        self.worker_results.notes.append("the runtime exited during the run and was restarted")

    def _take(self, result: TestResult) -> None:
        self.worker_results.results.append(result)
        if self.progress is not None:
            self.progress.test(worded_result(judge_alone(result, self.rules)))

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Note that the user stopped the run; `pytest.exit` comes here too, with its own reason."""
        redirect_closed_pipes()
        self.ended_early = True
        self.interrupted = not isinstance(excinfo.value, pytest.exit.Exception)
        if self.interrupted:
            protect_cleanup()
            # a file that was being opened at the interrupt is closed by the garbage collector, which warns
            warnings.filterwarnings("ignore", category=pytest.PytestUnraisableExceptionWarning)
        if self.alone:
            sys.stderr.write(
                f"critests: {'interrupted, cleaning up' if self.interrupted else excinfo.value}\n"
            )

    def pytest_internalerror(self, excrepr: object) -> None:
        """Note that pytest itself failed."""
        last = str(excrepr).strip().splitlines()[-1][:500]
        self.worker_results.harness_error = f"pytest itself failed: {last}"
        if self.alone:
            sys.stderr.write(f"critests: the harness failed:\n{excrepr}\n")

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """End the run after pytest has torn down open fixtures, e.g. after Ctrl-C; write the record even if
        that fails.
        """
        result = None
        try:
            result = yield
        except Exception as error:
            if self.context is None:
                raise
            words = one_line(str(error) or repr(error), 500)
            problem = Reason(code=ReasonCode.NOT_REMOVED, subject="what a fixture created", words=words)
            self.config.stash[SESSION].problems.append(problem)
        self._conclude(session)
        return result

    def _conclude(self, session: pytest.Session) -> None:
        """Judge, write, clean up, and set the exit code."""
        redirect_closed_pipes()
        if self.progress is not None and self.worker_results.first_test:
            self.progress.finished()
        if self.context is None:
            nothing_chosen = session.exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and not self.ended_early
            if self.alone and nothing_chosen:
                sys.stderr.write(f"critests: {NOTHING_LEFT}\n")
            return
        suite = self.config.stash[SESSION]
        if not suite.is_recorded:
            for problem in [*map(said, suite.problems), *self._end_context()]:
                sys.stderr.write(f"critests: {problem}\n")
            return
        violations = self.context.end_background()
        self.worker_results.take(self.config.stash[SESSION].report())
        self.worker_results.results += response_findings.results_of_conditions(
            violations,
            self.worker_results.results,
            item_results.known_minor(self.settings, self.context.level),
        )
        self.worker_results.gone = self.worker_results.gone or crash_suspects.end_between_tests(
            self.worker_results.results, self.crashes.values()
        )
        can_repeat = self.context.throwaway and not self.interrupted and not self.context.is_over
        self.worker_results.results = crash_suspects.resolve_crash_suspects(
            self.worker_results.results,
            self.crashes.values(),
            crash_suspects.repeat_alone if can_repeat else lambda _: None,
        )
        self._try_again(self.context)
        self.worker_results.notes += self._end_context()
        unworded, judgement = conclusion.conclude(
            self.context,
            self.worker_results,
            self.rules or conclusion.judge_context(self.settings, "", ""),
            arguments=sys.argv[1:],
            workers=max(1, self.workers),
            begun=self.begun,
            interrupted=self.interrupted,
            narrowed=narrowed_by_pytest(self.config),
            operations=self.config.stash[SESSION].operations,
            benchmark=self.config.stash[SESSION].benchmark,
        )
        record = worded(unworded, judgement)
        session.exitstatus = record.exit_code
        self.record = record
        from critests.report.exports import export  # noqa: PLC0415 - see above

        try:
            export(
                record,
                self.context.folder.path,
                junit=self.settings.junit,
                html=self.settings.html,
                json=self.settings.json,
            )
            if folder := getattr(self.config.option, "allure_report_dir", None):
                from critests.report.formats import allure, load  # noqa: PLC0415 - see above

                allure.write_tree(load(self.context.folder.path), Path(folder).absolute())
        except (RecordError, OSError) as error:
            sys.stderr.write(f"critests: {error}\n")
            session.exitstatus = int(ExitCode.HARNESS_ERROR)
            self.record = record = dataclasses.replace(
                record,
                exit_code=int(ExitCode.HARNESS_ERROR),
                exit_reason=f"the results are not complete: {error}",
            )
        if self.progress is not None:
            self.progress.judged(record)
            _print_summary(record, self.context)

    def _try_again(self, context: RunContext) -> None:
        """Repeat new failures, while the runtime is still running, to count how often they occur."""
        worker_results, measures = self.worker_results, self.config.stash[SESSION].benchmark is not None
        stopped = (
            self.ended_early
            or worker_results.harness_error
            or context.is_over
            or (worker_results.gone and not context.throwaway)
        )
        if self.progress is None or self.rules is None or self.settings.times or measures or stopped:
            return
        worker_results.results = tries.tried_again(
            worker_results.results,
            judge(worker_results.results, self.rules).tests,
            same=context.endpoint.text,
            fresh=bool(self.settings.node),
            say=self.progress.say,
            try_it=tries.repeat_in_new_run,
            under_conditions=bool(context.conditions.names),
        )

    def pytest_terminal_summary(self) -> None:
        """Print the suite's summary below pytest's."""
        if self.record is not None and self.context is not None and self.progress is None:
            _print_summary(self.record, self.context)

    def pytest_unconfigure(self) -> None:
        """Clean up, however the session ended."""
        self._end_context()
        if self.handover is not None:
            self.handover.remove()

    def _end_context(self) -> list[str]:
        context = self.context
        if context is None or context.owned is None:
            return []
        with handled_by(announce_cleanup):
            problems = context.end()
        context.owned = None
        return problems


def _print_summary(record: RunRecord, context: RunContext) -> None:
    from critests.report.run_kinds import kind_of  # noqa: PLC0415 - see above
    from critests.report.terminal.console import new_console  # noqa: PLC0415 - see above

    kind_of(record.kind).print_summary(record, new_console(), context.folder.path)
    if context.settings.baseline:
        from critests.report.comparison.changes_since import print_since  # noqa: PLC0415 - see above

        print_since(context.settings.baseline, context.settings.results, context.folder.path, new_console())
