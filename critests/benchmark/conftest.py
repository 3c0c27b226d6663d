"""The fixture of the scenarios, `bench`, and the measurements before the first of them."""

import contextlib
import os
import random
import secrets
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

import grpc
import pytest

from critests.benchmark.benchmark_resuming import StoppedBenchmark
from critests.benchmark.measuring.bench_fixture import Bench, ReferenceTimes
from critests.benchmark.measuring.replayed_clock import replay
from critests.benchmark.measuring.sampling import failure_text
from critests.benchmark.measuring.sides import opened, other_side, side_identity, start_accounting
from critests.benchmark.measuring.target import Target
from critests.benchmark.reference.container_defaults import container_defaults, offers
from critests.benchmark.reference.preflight import run_preflight
from critests.benchmark.reference.reference_facts import machine_facts
from critests.benchmark.scenario_profiles import COMPARE, SCENARIOS, SMOKE, seconds_each
from critests.benchmark.scenario_selection import ONE_PROCESS, chosen, profile_of
from critests.exit_codes import CannotTest, ExitCode, UsageError
from critests.record.operations import BenchmarkFacts
from critests.record.reasons import Reason, ReasonCode
from critests.record.samples import write_samples
from critests.run.context import RunContext
from critests.run.items import scenario_of
from critests.run.outcomes import Blocked
from critests.run.run_settings import Settings
from critests.run.suite_session import SESSION, SuiteSession


@dataclass
class BenchmarkRun:
    """State that all scenarios of a run share.

    Attributes:
        targets: the sides.
        profile: name of the profile.
        seconds: scenario to its seconds of sampling.
        order: source of the random order.
        origin: start of the run on the clock of `time.perf_counter`.
        reference_times: client and OCI runtime alone.
    """

    targets: list[Target]
    profile: str
    seconds: dict[str, float]
    order: random.Random
    origin: float
    reference_times: ReferenceTimes

    def time_left(self, scenario: str, began: float) -> str:
        """Return how much sampling is left at most, in words.

        Args:
            scenario: the scenario that is being measured.
            began: its start on the clock of `time.monotonic`.
        """
        order = list(self.seconds)
        later = order[order.index(scenario) + 1 :] if scenario in order else []
        own = self.seconds.get(scenario, 0.0) - (time.monotonic() - began)
        left = max(own, 0.0) + sum(self.seconds[each] for each in later)
        return f"at most {left / 60:.0f} min left" if left >= 90 else f"at most {left:.0f} s left"


SPARE_SECONDS = 900.0
"""Added to the time limit of a scenario, which limits its own sampling, for unforeseen delays."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Set the time limit of every scenario by its length, whatever the limit of other tests; reject an
    impossible `--against`.
    """
    scenarios = [(item, scenario_of(item)) for item in items if scenario_of(item)]
    settings = config.stash[SESSION].settings
    try:
        if scenarios:
            other_side(settings)
        seconds = _seconds(settings) if scenarios else {}
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    for item, name in scenarios:
        item.add_marker(pytest.mark.timeout(3 * seconds.get(name, 0.0) + SPARE_SECONDS * settings.scale))


def _seconds(settings: Settings) -> dict[str, float]:
    budget = settings.budget
    return seconds_each(chosen(settings), profile_of(settings), budget)


@pytest.fixture(scope="session")
def suite_session(pytestconfig: pytest.Config) -> SuiteSession:
    """The suite's state of this pytest process."""
    return pytestconfig.stash[SESSION]


def _resume(earlier: StoppedBenchmark, session: pytest.Session, suite: SuiteSession) -> None:
    """Add the results of an earlier run for the scenarios that this run leaves out."""
    assert suite.context is not None
    facts = suite.benchmark
    assert facts is not None
    version = suite.context.version
    earlier.check_same_setup(
        (version.runtime_name, version.runtime_version), facts.sides, facts.budget_seconds
    )
    measured = set(chosen(suite.settings)) - {scenario_of(item) for item in session.items}
    suite.operations += earlier.operations(measured)
    suite.deselected = earlier.with_earlier_results(suite.deselected)
    earlier.copy_samples(measured, suite.context.folder.samples)
    suite.context.notes.append(earlier.note(measured))


@pytest.fixture(scope="session")
def benchmark_run(
    request: pytest.FixtureRequest,
    pytestconfig: pytest.Config,
    run_context: RunContext,
    suite_session: SuiteSession,
) -> Iterator[BenchmarkRun]:
    """Open the sides, read the facts of the machine, and take the reference measurements."""
    if hasattr(pytestconfig, "workerinput"):
        pytest.exit(ONE_PROCESS, returncode=ExitCode.USAGE)
    settings = suite_session.settings
    load = os.getloadavg()
    profile, seed = profile_of(settings), settings.seed
    earlier = StoppedBenchmark.of(settings, profile)
    if seed is None and earlier is not None:
        seed = earlier.facts.seed
    seed = secrets.randbelow(1 << 31) if seed is None else seed
    seconds = _seconds(settings)
    run_context.machine["benchmark"] = machine_facts(load=load)
    with contextlib.ExitStack() as stack:
        try:
            targets = stack.enter_context(opened(run_context))
        except CannotTest as error:
            words = f"a side of the comparison cannot be measured: {error}"
            suite_session.gone = Reason(code=ReasonCode.RUNTIME_ENDED, words=words)
            raise Blocked(why=suite_session.gone) from error
        run_context.parts = side_identity(targets[0]).parts
        preflight = run_preflight(targets[0], quick=profile in {SMOKE, COMPARE})
        run_context.notes += preflight.notes
        suite_session.benchmark = BenchmarkFacts(
            profile=profile,
            seed=seed,
            budget_seconds=round(sum(seconds.values()), 3),
            sides={
                target.side: replace(
                    side_identity(target), defaults=container_defaults(target), offers=offers(target)
                )
                for target in targets
                if target.side
            },
            client_seconds=preflight.client,
            reference_seconds=preflight.oci_runtime,
            noise=preflight.noise,
        )
        if earlier is not None:
            try:
                _resume(earlier, request.session, suite_session)
            except CannotTest as error:
                suite_session.gone = Reason(code=ReasonCode.RUNTIME_ENDED, words=str(error))
                raise Blocked(why=suite_session.gone) from error
        times = ReferenceTimes(preflight.client, preflight.oci_runtime)
        # for a random order, not for secrets
        yield BenchmarkRun(targets, profile, seconds, random.Random(seed), time.perf_counter(), times)  # noqa: S311 - see above
        suite_session.benchmark = preflight.with_steal(suite_session.benchmark)
        run_context.notes += [words for target in targets if (words := _retried_calls(target))]


def _retried_calls(target: Target) -> str:
    if not target.retried:
        return ""
    side = f"side {target.side}: " if target.side else ""
    count = len(target.retried)
    return f"{side}{count} calls outside the timed windows failed and were retried: {target.retried[0]}"


@pytest.fixture
def bench(
    request: pytest.FixtureRequest,
    benchmark_run: BenchmarkRun,
    suite_session: SuiteSession,
    benchmark: object,
) -> Iterator[Bench]:
    """The `Bench` of one scenario; its samples are stored whatever the outcome of the test."""
    # pytest-benchmark warns of an unused fixture; after a Ctrl-C at this point the warning would lose the
    # record
    # pytest-benchmark is not typed
    benchmark.skipped = True  # type: ignore[attr-defined]  # see above
    name, began = scenario_of(request.node), time.monotonic()
    scenario = Bench(
        scenario=SCENARIOS[name],
        targets=benchmark_run.targets,
        seconds=benchmark_run.seconds.get(name) or SCENARIOS[name].seconds_in(benchmark_run.profile),
        profile=SCENARIOS[name].profile_in(benchmark_run.profile),
        order=benchmark_run.order,
        origin=benchmark_run.origin,
        reference_times=benchmark_run.reference_times,
        accounting=start_accounting,
        on_progress=lambda line: suite_session.on_progress(f"{line}, {benchmark_run.time_left(name, began)}"),
    )
    request.node.stash[BENCH] = (scenario, benchmark)
    try:
        yield scenario
    finally:
        suite_session.operations += scenario.operations
        if scenario.series and suite_session.context is not None:
            write_samples(suite_session.context.folder.samples, name, scenario.series)
        if suite_session.context is not None:
            suite_session.context.notes += [f"{name}: {sentence}" for sentence in scenario.remarks]
        # keeps pytest-benchmark from warning that the fixture is unused, which it is without statistics
        # pytest-benchmark is not typed
        benchmark.skipped = benchmark.stats is None  # type: ignore[attr-defined]  # see above


BENCH = pytest.StashKey[tuple[Bench, object]]()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """After a scenario, pass its headline to pytest-benchmark, and fail the scenario if it is incomplete."""
    try:
        result = yield
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.UNIMPLEMENTED or BENCH not in pyfuncitem.stash:
            raise
        raise AssertionError(failure_text(error)) from error
    stashed = pyfuncitem.stash.get(BENCH, None)
    if stashed is not None:
        scenario, benchmark = stashed
        headline = scenario.for_pytest_benchmark()
        if headline is not None:
            replay(
                benchmark,
                headline.steady(),
                {"scenario": headline.scenario, "operation": headline.operation, **headline.dimensions},
            )
        scenario.conclude()
    return result
