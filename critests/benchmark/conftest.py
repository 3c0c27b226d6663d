"""What a scenario asks for: `bench`."""

import contextlib
import os
import random
import secrets
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass

import grpc
import pytest

from critests.benchmark.benchmark_resuming import StoppedBenchmark
from critests.benchmark.measuring.bench_fixture import Bench, Floors
from critests.benchmark.measuring.replayed_clock import carry
from critests.benchmark.measuring.sampling import in_words
from critests.benchmark.measuring.sides import account_of, opened, other_side, side_identity
from critests.benchmark.measuring.target import Target
from critests.benchmark.reference.preflight import look_at_machine
from critests.benchmark.reference.reference_facts import machine_facts
from critests.benchmark.scenario_profiles import SCENARIOS, seconds_each
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
    """What all scenarios of a run share.

    Attributes:
        targets: the sides.
        profile: `smoke`, `standard` or `full`.
        seconds: scenario to its seconds of sampling.
        order: source of random order.
        origin: of the run's clock.
        floors: client and OCI runtime alone.
    """

    targets: list[Target]
    profile: str
    seconds: dict[str, float]
    order: random.Random
    origin: float
    floors: Floors


SPARE_SECONDS = 900.0
"""A scenario bounds itself; this is for what nobody thought of."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give every scenario the time limit of its own length, whatever the limit of other tests is; refuse a
    side that cannot be.
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
        item.add_marker(
            pytest.mark.timeout(3 * seconds.get(name, 0.0) + SPARE_SECONDS * settings.deadline_scale)
        )


def _seconds(settings: Settings) -> dict[str, float]:
    budget = settings.budget
    return seconds_each(chosen(settings), profile_of(settings), budget)


@pytest.fixture(scope="session")
def suite_session(pytestconfig: pytest.Config) -> SuiteSession:
    """What this pytest process holds for the suite."""
    return pytestconfig.stash[SESSION]


def _go_on(earlier: StoppedBenchmark, session: pytest.Session, suite: SuiteSession) -> None:
    """Take over what an earlier run measured, which this one leaves out."""
    assert suite.context is not None
    facts = suite.benchmark
    assert facts is not None
    version = suite.context.version
    earlier.refuse_strangers(
        (version.runtime_name, version.runtime_version), facts.sides, facts.budget_seconds
    )
    measured = set(chosen(suite.settings)) - {scenario_of(item) for item in session.items}
    suite.operations += earlier.operations(measured)
    suite.deselected = earlier.instead_of(suite.deselected)
    earlier.copy_samples(measured, suite.context.folder.samples)
    suite.context.notes.append(earlier.note(measured))


@pytest.fixture(scope="session")
def benchmark_run(
    request: pytest.FixtureRequest,
    pytestconfig: pytest.Config,
    run_context: RunContext,
    suite_session: SuiteSession,
) -> Iterator[BenchmarkRun]:
    """The sides, opened; the machine, looked at; the floors, measured."""
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
    with contextlib.ExitStack() as held:
        try:
            targets = held.enter_context(opened(run_context, suite_session))
        except CannotTest as error:
            words = f"a side of the comparison cannot be measured: {error}"
            suite_session.gone = Reason(code=ReasonCode.RUNTIME_ENDED, words=words)
            raise Blocked(why=suite_session.gone) from error
        run_context.parts = side_identity(targets[0]).parts
        looked = look_at_machine(targets[0], quick=profile == "smoke")
        run_context.notes += looked.notes
        suite_session.benchmark = BenchmarkFacts(
            profile=profile,
            seed=seed,
            budget_seconds=round(sum(seconds.values()), 3),
            sides={target.side: side_identity(target) for target in targets if target.side},
            client_seconds=looked.client,
            reference_seconds=looked.reference,
            noise=looked.noise,
        )
        if earlier is not None:
            try:
                _go_on(earlier, request.session, suite_session)
            except CannotTest as error:
                suite_session.gone = Reason(code=ReasonCode.RUNTIME_ENDED, words=str(error))
                raise Blocked(why=suite_session.gone) from error
        floors = Floors(looked.client, looked.reference)
        # order, not secrets
        yield BenchmarkRun(targets, profile, seconds, random.Random(seed), time.perf_counter(), floors)  # noqa: S311 - see above
        suite_session.benchmark = looked.with_steal(suite_session.benchmark)
        run_context.notes += [words for target in targets if (words := _tried_again(target))]


def _tried_again(target: Target) -> str:
    if not target.again:
        return ""
    who = f"side {target.side}: " if target.side else ""
    return (
        f"{who}{len(target.again)} calls that only prepared something failed and were made again, such as"
        f" {target.again[0]}"
    )


@pytest.fixture
def bench(
    request: pytest.FixtureRequest,
    benchmark_run: BenchmarkRun,
    suite_session: SuiteSession,
    benchmark: object,
) -> Iterator[Bench]:
    """One scenario's sides, time and ways to measure; what was measured is kept whatever becomes of the
    test.
    """
    # what pytest-benchmark says of a fixture that carried nothing would cost the record at a Ctrl-C about now
    # pytest-benchmark is not typed
    benchmark.skipped = True  # type: ignore[attr-defined]  # see above
    name = scenario_of(request.node)
    made = Bench(
        scenario=SCENARIOS[name],
        targets=benchmark_run.targets,
        seconds=benchmark_run.seconds.get(name) or SCENARIOS[name].seconds_in(benchmark_run.profile),
        profile=benchmark_run.profile,
        order=benchmark_run.order,
        origin=benchmark_run.origin,
        floors=benchmark_run.floors,
        account=account_of,
        on_progress=suite_session.on_progress,
    )
    request.node.stash[BENCH] = (made, benchmark)
    try:
        yield made
    finally:
        suite_session.operations += made.operations
        if made.series and suite_session.context is not None:
            write_samples(suite_session.context.folder.samples, name, made.series)
        if suite_session.context is not None:
            suite_session.context.notes += [f"{name}: {sentence}" for sentence in made.remarks]
        # pytest-benchmark's own way not to complain of a fixture that carries nothing: here it was unused, or
        # it would have statistics
        # pytest-benchmark is not typed
        benchmark.skipped = benchmark.stats is None  # type: ignore[attr-defined]  # see above


BENCH = pytest.StashKey[tuple[Bench, object]]()


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """After a scenario, hand its headline to pytest-benchmark, and fail it where nothing of it could be
    measured.
    """
    try:
        result = yield
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.UNIMPLEMENTED or BENCH not in pyfuncitem.stash:
            raise
        raise AssertionError(in_words(error)) from error
    held = pyfuncitem.stash.get(BENCH, None)
    if held is not None:
        made, benchmark = held
        shown = made.shown()
        if shown is not None:
            carry(
                benchmark,
                shown.steady(),
                {"scenario": shown.scenario, "operation": shown.operation, **shown.dimensions},
            )
        made.conclude()
    return result
