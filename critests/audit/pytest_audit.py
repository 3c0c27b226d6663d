"""The audit as a pytest plugin: every test once honestly, and once more under each fault that it must notice.

    pytest --pyargs critests.validation --cri-node containerd -p critests.audit.pytest_audit --cri-audit

A case under a fault is a test of its own, `NAME!FAULT`: it passes if the test noticed. A test has noticed
when its own phase found the promise broken and the fault had changed something by then. What is blocked,
unsupported, or fails in the harness has not noticed;
where the fault had no part in that, the case counts as not tried: another runtime has to prove the test.

The fault acts from the test's own set-up (or its call only) until its clean-up; what is made for several
tests is made honestly, whenever it is made. The containers that tests share to look at them are made anew
under a fault, for that case alone. A runtime that a test, or a module of tests, has for itself gets a proxy
for itself.

Of a fault that names requirements instead of tests (`breaks`) the first test that notices is enough; there
whatever tests share is made anew under the fault.
"""

import contextlib
import json
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, TypeVar

import pytest

from critests.audit.faults import FaultError, OciFault, parse_fault
from critests.audit.matrix import SUFFIX, Entry, Matrix, base_name, beside, load
from critests.audit.proxy import FaultProxy
from critests.audit.verdicts import Audit, Verdict, verdict_of
from critests.client.endpoint import Endpoint
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.runtime import Runtime
from critests.fixtures.shared_containers import SharedContainers
from critests.run.context import RunContext
from critests.run.items import is_ours, judged_by
from critests.run.known_tests import SUITE
from critests.run.pulled_images import TestImages
from critests.run.session import PROGRESS, SESSION
from critests.toml_file import TomlMalformed

MARK = "!"
OCI_FAULTS = Path(__file__).with_name("oci.faults.toml")
"""The faults in what an OCI runtime reads."""
ENTRY = pytest.StashKey[Entry]()
T = TypeVar("T")
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
        help="faults and the tests that must notice (default: *.faults.toml beside the tests)",
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
    """Begin the audit where it is asked for."""
    if not config.getoption("cri_audit"):
        return
    try:
        matrix, tried = _matrix(config), _tried(config)
    except (FaultError, TomlMalformed) as error:
        raise pytest.UsageError(str(error)) from error
    config.pluginmanager.register(Auditor(config, matrix, tried), "critests-auditor")


def _tried(config: pytest.Config) -> Entry | None:
    """Return the faults that are tried on everything, as an entry of their own."""
    texts = config.getoption("cri_audit_try")
    return Entry("try", tuple(map(parse_fault, texts)), "whatever the fault breaks", ()) if texts else None


def _matrix(config: pytest.Config) -> Matrix | None:
    """Return the matrix; None where one fault is tried on everything."""
    if config.getoption("cri_audit_try"):
        return None
    given = config.getoption("cri_audit_matrix")
    if config.getoption("cri_audit_oci"):
        if not _can_wrap(config):
            msg = (
                "--cri-audit-oci needs --cri-node, whose OCI runtime it can disturb, and one process (no -n)"
            )
            raise pytest.UsageError(msg)
        given = given or OCI_FAULTS
    matrix = load(Path(given)) if given else load(SUITE, *_faults_of_others(config))
    wanted = config.getoption("cri_audit_fault")
    unknown = set(wanted) - {entry.id for entry in matrix.entries}
    if unknown:
        msg = f"--cri-audit-fault {min(unknown)}: no fault has this id"
        raise pytest.UsageError(msg)
    return Matrix(tuple(entry for entry in matrix.entries if not wanted or entry.id in wanted))


def _can_wrap(config: pytest.Config) -> bool:
    """Whether this process starts the runtime, and so can put a wrapper before its OCI runtime."""
    alone = not hasattr(config, "workerinput") and not getattr(config.option, "numprocesses", None)
    return alone and bool(config.getoption("cri_node"))


def _is_below_the_runtime(entry: Entry) -> bool:
    return any(isinstance(fault, OciFault) for fault in entry.faults)


def _faults_of_others(config: pytest.Config) -> Iterator[Path]:
    """Yield the files of faults beside the tests that the user named, where pytest looks for tests."""
    skipped = config.getini("norecursedirs")
    for argument in config.args:
        path = config.invocation_params.dir / argument.partition("::")[0]
        if path.is_file() and beside(path).exists():
            yield beside(path)
        for file in path.rglob(f"*{SUFFIX}"):
            folders = file.relative_to(path).parts[:-1]
            if not any(fnmatch(folder, pattern) for folder in folders for pattern in skipped):
                yield file


class Auditor:
    """Stands between the suite and the runtime, sets each fault for its case, and keeps the verdicts."""

    def __init__(self, config: pytest.Config, matrix: Matrix | None, tried: Entry | None) -> None:
        self.config = config
        self.matrix = matrix
        self.tried = tried
        self.proxy: FaultProxy | None = None
        self.own: FaultProxy | None = None
        self.of_modules: list[tuple[OwnRuntime, FaultProxy]] = []
        self.upstream: tuple[Endpoint, Endpoint] | None = None
        self.audit = Audit()
        self.noticed: set[str] = set()
        self.current: Entry | None = None
        self.wraps = False

    # what runs

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put the cases under faults behind every test."""
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
        suite.settings = replace(suite.settings, oci_wrapper=self.wraps)

    def _entries(self, item: pytest.Item) -> Iterator[Entry]:
        entries = [self.tried] if self.tried is not None else []
        if self.matrix is not None:
            entries = self.matrix.for_test(item.name, judged_by(item).name)
        for entry in entries:
            if not _is_below_the_runtime(entry):
                yield entry
            elif _can_wrap(self.config):
                self.wraps = True
                yield entry

    def _left_out(self) -> list[Entry]:
        """Return the faults of the tests that ran which could not be set here; with -n only the workers
        collect.
        """
        if _can_wrap(self.config):
            return []
        entries = self.matrix.entries if self.matrix is not None else ()
        found = [entry for entry in entries if any(map(entry.concerns, self.audit.tests))]
        return [entry for entry in (*found, self.tried) if entry is not None and _is_below_the_runtime(entry)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Pass over a case where another test has noticed the fault already, and one is enough."""
        entry = item.stash.get(ENTRY, None)
        return True if entry is not None and entry.breaks and entry.id in self.noticed else None

    def pytest_deselected(self, items: list[pytest.Item]) -> None:
        """Forget the tests that the user left out."""
        self.audit.tests -= {item.name for item in items if ENTRY not in item.stash}

    # the proxy

    def pytest_sessionstart(self, session: pytest.Session) -> None:
        """Let the run begin through the proxy."""
        suite = session.config.stash[SESSION]
        begin = suite.begin

        def begin_through_the_proxy() -> RunContext:
            context = begin()
            self._stand_between(context)
            return context

        suite.begin = begin_through_the_proxy

    def _stand_between(self, context: RunContext) -> None:
        if self.proxy is not None:
            return
        self.upstream = (context.endpoint, context.image_endpoint)
        runtime = context.owned.runtime if context.owned is not None else None
        self.proxy = FaultProxy(
            context.endpoint.text,
            image_upstream=context.image_endpoint.text,
            oci_wrapper=runtime.oci_wrapper if runtime is not None else None,
        )
        context.endpoint = context.image_endpoint = Endpoint.parse(self.proxy.start())

    def _stand_before(self, own: OwnRuntime, fixture: pytest.FixtureDef[Any]) -> FaultProxy:
        """Stand before a runtime that a test or a module has for itself, with the faults that are set, for as
        long as it has it.
        """
        assert self.proxy is not None
        assert own.throwaway is not None
        proxy = FaultProxy(own.context.endpoint.text, oci_wrapper=own.throwaway.oci_wrapper)
        endpoint = Endpoint.parse(proxy.start())
        fixture.addfinalizer(proxy.close)
        proxy.faults = self.proxy.faults
        own.connection.close()
        own.context = replace(own.context, endpoint=endpoint, image_endpoint=endpoint)
        own.connection = own.context.connect(own.connection.recorder)
        return proxy

    def _stand_before_a_test_s(
        self, own: OwnRuntime, fixture: pytest.FixtureDef[Any], item: pytest.Item
    ) -> None:
        """Stand before the runtime of one test, and set a fault that is for later once it has restarted."""
        proxy = self.own = self._stand_before(own, fixture)
        down, entry = own.down, item.stash.get(ENTRY, None)

        @contextlib.contextmanager
        def down_and_set(*arguments: Any, **named: Any) -> Iterator[None]:  # noqa: ANN401 - whatever it takes
            with down(*arguments, **named):
                yield
            if entry is not None and entry.during == "restart":
                proxy.faults = entry.faults

        own.down = down_and_set  # type: ignore[method-assign]  # of one object

    def _stand_before_a_module_s(self, own: OwnRuntime, fixture: pytest.FixtureDef[Any]) -> None:
        """Stand before the runtime of a module, whose tests have it one after the other."""
        proxy = self._stand_before(own, fixture)
        self.of_modules.append((own, proxy))
        fixture.addfinalizer(lambda: self.of_modules.remove((own, proxy)))

    def _proxies(self) -> list[FaultProxy]:
        of_modules = [proxy for _, proxy in self.of_modules]
        return [proxy for proxy in (self.proxy, self.own, *of_modules) if proxy is not None]

    def _step_aside(self) -> None:
        """Give the run its own endpoint back, for its clean-up."""
        context = self.config.stash[SESSION].context
        if context is not None and self.upstream is not None:
            context.endpoint, context.image_endpoint = self.upstream
        if self.proxy is not None:
            self.proxy.close()
            self.proxy = None

    # one case

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Set the fault for the whole test."""
        entry = self.current = item.stash.get(ENTRY, None)
        if entry is not None and (entry.breaks or any(own.used_up for own, _ in self.of_modules)):
            _take_down_what_is_shared(item)
        if entry is not None and entry.during == "all":
            self._set(item, entry)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, object, object]:
        """Set the fault for the call only, where that is what it is for."""
        entry = item.stash.get(ENTRY, None)
        if entry is not None and entry.during == "call":
            self._set(item, entry)
        return (yield)

    def _set(self, item: pytest.Item, entry: Entry) -> None:
        suite = item.config.stash[SESSION]
        if self.proxy is None:
            suite.begin()
        for proxy in self._proxies():
            proxy.faults = entry.faults

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        """Let everything be honest that other tests will use as well."""
        if fixturedef.scope == "function":
            made = yield
            if isinstance(made, OwnRuntime) and made.throwaway is not None and self.proxy is not None:
                self._stand_before_a_test_s(made, fixturedef, request.node)
            elif isinstance(made, SharedContainers) and ENTRY in request.node.stash:
                made.keep_apart()
            return made
        with self._honest() if self.current is None or not self.current.breaks else contextlib.nullcontext():
            made = yield
        # what these remember is for the whole session, whichever test asks first
        if isinstance(made, OwnRuntime):
            if self.proxy is not None:
                self._stand_before_a_module_s(made, fixturedef)
        elif isinstance(made, Runtime):
            # one object is made honest, not its class
            made.capabilities.fact = self._honestly(made.capabilities.fact)  # type: ignore[method-assign]  # see above
            unfit = self._honestly(made.context.unfit_handlers)
            made.context.unfit_handlers = unfit  # type: ignore[method-assign]  # see above
        elif isinstance(made, TestImages):
            made.pull = self._honestly(made.pull)  # type: ignore[method-assign]  # see above
        return made

    @contextlib.contextmanager
    def _honest(self) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            for proxy in self._proxies():
                stack.enter_context(proxy.honest())
            yield

    def _honestly(self, ask: Callable[..., T]) -> Callable[..., T]:
        def honestly(*arguments: Any, **named: Any) -> T:  # noqa: ANN401 - whatever the function takes
            with self._honest():
                return ask(*arguments, **named)

        return honestly

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> None:
        """Clean up honestly; after a fault that spoils, take down what tests share."""
        entry = item.stash.get(ENTRY, None)
        for proxy in self._proxies():
            proxy.faults = ()
        self.own = None  # its fixture closes it
        self.current = None
        if entry is None:
            return
        if entry.spoils or entry.breaks:
            _take_down_what_is_shared(item)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Turn the outcome of a case round: it passes if the fault was noticed."""
        entry = item.stash.get(ENTRY, None)
        if entry is None:
            return (yield)
        hits = sum(sum(proxy.hits.values()) for proxy in self._proxies())
        with self._honest():
            report = yield
        report.__dict__.pop("critests", None)  # a case under a fault is no result of the runtime
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

    def _speak(self, report: pytest.TestReport, item: pytest.Item, entry: Entry, verdict: Verdict) -> None:
        """Give the report of a case the outcome of the audit."""
        if verdict.noticed or self.tried is not None:
            report.outcome, report.longrepr = "passed", None
        elif (
            entry.breaks or not verdict.tried or ("[" in verdict.test and verdict.test not in entry.turns_red)
        ):
            # another runtime, or some other case of this test, may notice; the summary knows in the end
            report.outcome, report.longrepr = "skipped", (str(item.path), item.location[1] or 0, str(verdict))
        else:
            report.outcome, report.longrepr = "failed", str(verdict)

    # all of it

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Gather the verdicts on the cases, from whatever process ran them."""
        reported = getattr(report, _REPORTED, None)
        if reported is not None:
            self.audit.verdicts.append(Verdict.from_json(reported))
            self.audit.tests.add(reported["test"])
        elif MARK not in report.nodeid:
            result = getattr(
                report, "critests", None
            )  # comes last; in pytest's own words a warning has passed
            if result or report.when == "call" or (report.when == "setup" and not report.passed):
                name = _name(report.nodeid)
                self.audit.tests.add(name)
                self.audit.honest[name] = result["outcome"] if result else report.outcome

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Step aside before the run is cleaned up, and let an unnoticed fault decide the exit code."""
        self._step_aside()
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
        if self.tried is None and self.audit.unnoticed(self.matrix):
            return 1
        return 0 if self.config.getoption("cri_audit_only") and self.audit.verdicts else status

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print which fault was noticed by which test, and which tests have no fault."""
        terminalreporter.section("audit")
        for line in self.audit.lines(self.matrix):
            terminalreporter.write_line(line)
        left_out = [entry.id for entry in self._left_out()]
        if left_out:
            needs = "below the runtime, which need --cri-node and one process (no -n)"
            terminalreporter.write_line(f"not tried: {', '.join(left_out)}: faults {needs}")

    def pytest_unconfigure(self) -> None:
        """Leave nothing behind."""
        self._step_aside()


def _take_down_what_is_shared(item: pytest.Item) -> None:
    # pytest has no public way to take down all fixtures early
    item.session._setupstate.teardown_exact(None)  # noqa: SLF001 - see above


def _name(nodeid: str) -> str:
    """Return a test's name with its parameters, which may hold anything."""
    path, _, rest = nodeid.partition("::")
    function, bracket, parameters = rest.partition("[")
    return (function.rpartition("::")[2] or path) + bracket + parameters


def _case(item: pytest.Function, entry: Entry) -> pytest.Function:
    """Return a test once more, under a fault."""
    callspec = getattr(item, "callspec", None)
    arguments: dict[str, Any] = {"callspec": callspec} if callspec is not None else {}
    case: pytest.Function = pytest.Function.from_parent(
        item.parent,
        name=f"{item.name}{MARK}{entry.id}",
        callobj=item.function,
        fixtureinfo=item._fixtureinfo,  # noqa: SLF001 - the same fixtures; pytest has no public name for them
        originalname=item.originalname or base_name(item.name),
        **arguments,
    )
    case.stash[ENTRY] = entry
    return case
