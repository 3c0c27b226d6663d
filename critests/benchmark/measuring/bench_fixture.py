"""The `bench` fixture of a scenario: its sides, its time, and methods that measure and store every sample."""

import contextlib
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from critests.benchmark.measuring.closed_loop import WorkerPool
from critests.benchmark.measuring.garbage_collector import garbage_collection_paused
from critests.benchmark.measuring.meter import Meter, merged
from critests.benchmark.measuring.operation_results import result_of
from critests.benchmark.measuring.replayed_clock import replayed_clock
from critests.benchmark.measuring.sampling import SampledSide, Tally, Workload, mark_warm_up, sample
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenario_profiles import SCENARIOS, Scenario
from critests.client.deadlines import Deadlines
from critests.record.comparison_questions import QUESTIONS
from critests.record.operations import OperationResult
from critests.record.samples import Series
from critests.run.marks import SCENARIO
from critests.statistics.stopping import PrecisionPlan

THROUGHPUT_WINDOW_SECONDS = 2.0
FEWEST_WINDOWS = {1: 1, 2: 5}
"""Windows of each side, by the number of sides: fewer blocks cannot show a difference."""
WHOLE_CYCLE = "resources are those of the whole cycle, including its other calls"
LONGEST_OVERTIME = 2.0
"""All windows together may take this many times the time budget: a window waits for the cycles in flight,
which on a slow runtime outlast it.
"""


def scenario(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the decorator that names the scenario that a test measures."""
    known = SCENARIOS[name]

    def mark(function: Callable[..., None]) -> Callable[..., None]:
        marked: Callable[..., None] = getattr(pytest.mark, SCENARIO)(known.id)(function)
        # marks are typed as Any
        return pytest.mark.benchmark(timer=replayed_clock, group=known.id)(marked)  # type: ignore[no-any-return]  # see above

    return mark


def _label(scenario: str, headline: str, dimensions: Mapping[str, str]) -> str:
    """Return what a line of progress names: the rows of a comparison that a measurement answers, or else its
    scenario, main operation and dimensions.
    """
    titles = [
        question.title
        for question in QUESTIONS
        if question.scenario == scenario and question.dimensions == dimensions
    ]
    if titles:
        return titles[0] + (f" and {len(titles) - 1} more" if len(titles) > 1 else "")
    return " ".join([scenario, headline, *(f"{name}={value}" for name, value in dimensions.items())])


@dataclass
class ReferenceTimes:
    """Reference measurements, reported with every result.

    Attributes:
        client: RPC to the median that the client needs against a server that does nothing, in seconds.
        oci_runtime: step of the OCI runtime alone to its median in seconds.
    """

    client: dict[str, float] = field(default_factory=dict)
    oci_runtime: dict[str, float] = field(default_factory=dict)


@dataclass
class Bench:
    """One scenario while it is measured.

    Attributes:
        scenario: the scenario.
        targets: the sides, one or two.
        seconds: time budget for sampling.
        profile: name of the profile.
        order: source of the random order.
        origin: start of the run on the clock of `time.perf_counter`.
        reference_times: client and OCI runtime alone.
        accounting: starts to account for the resources that a side's runtime uses; the function that it
            returns gives the totals so far.
        series: all samples so far.
        operations: the results of those samples.
        on_progress: called with a line of progress.
        empty: reason to the headline operations that have no samples for it.
        broken: why sampling ended early, or what the runtime reported and did not do.
        remarks: sentences for the reader about what could not be measured.
    """

    scenario: Scenario
    targets: list[Target]
    seconds: float
    profile: str
    order: random.Random
    origin: float
    reference_times: ReferenceTimes
    accounting: Callable[[Target], Callable[[], dict[str, float]]]
    on_progress: Callable[[str], None] = lambda _: None
    series: list[Series] = field(default_factory=list)
    operations: list[OperationResult] = field(default_factory=list)
    empty: dict[str, list[str]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def target(self) -> Target:
        """The only side, or the first."""
        return self.targets[0]

    def remark(self, sentence: str) -> None:
        """Add a sentence for the reader of the run, once."""
        if sentence not in self.remarks:
            self.remarks.append(sentence)

    def deadlines(self, target: Target) -> Deadlines:
        """Return the deadlines of a side's timed calls."""
        return target.connection.deadlines

    def meter(self, target: Target, dimensions: Mapping[str, str] | None = None) -> Meter:
        """Return a meter for a scenario that does its own sampling; pass the meter to `add_results`."""
        own = {"handler": target.handler} if target.handler and not target.side else {}
        return Meter(
            self.scenario.id, {**own, **(dimensions or {})}, target.side, self.origin, self.deadlines(target)
        )

    def sample(
        self,
        workload: Workload,
        *,
        headline: str,
        dimensions: Mapping[str, str] | None = None,
        seconds: float | None = None,
        quantile: float = 0.5,
        half_width: float = 0.02,
        most: int = 1_000_000,
        reference: Mapping[str, float] | None = None,
        targets: Sequence[Target] | None = None,
    ) -> None:
        """Repeat a cycle on every side until the confidence interval of the headline is narrow enough or the
        time budget ends.

        Samples taken before an exception are stored as well.

        Args:
            workload: prepares a side and yields the cycle; its clean-up is outside every timed window.
            headline: the operation that the scenario is about; its interval decides when sampling stops.
            dimensions: fixed parameters of this measurement.
            seconds: time budget; that of the scenario by default.
            quantile: the quantile whose interval decides.
            half_width: wanted half width of that interval, as a share of the quantile.
            most: largest number of cycles.
            reference: operation to the seconds that the OCI runtime alone needs for it.
            targets: the sides, if other than those of the scenario.
        """
        plan = PrecisionPlan(
            self.seconds if seconds is None else seconds, quantile, half_width, most_samples=most
        )
        label = _label(self.scenario.id, headline, dimensions or {})
        sides = self.targets if targets is None else targets
        with contextlib.ExitStack() as stack:
            sampled = [
                SampledSide(target, stack.enter_context(workload(target)), self.meter(target, dimensions))
                for target in sides
            ]
            usages = [self.account_usage(target, sides) for target in sides]
            stopped = "broken off"
            try:
                stopped = sample(
                    sampled,
                    headline,
                    plan,
                    self.order,
                    lambda cycles: self.on_progress(f"{label}: {cycles} cycles"),
                )
            finally:
                for side, usage in zip(sampled, usages, strict=True):
                    cycles = max(1, side.tally.cycles)
                    self.add_results(
                        side.meter,
                        headline=headline,
                        stopped=stopped,
                        reference=reference,
                        resources={name: amount / cycles for name, amount in usage().items()},
                        tally=side.tally,
                    )

    def account_usage(
        self, target: Target, sides: Sequence[Target] | None = None
    ) -> Callable[[], dict[str, float]]:
        """Start to account for the resources that a side's runtime uses.

        Args:
            target: the side.
            sides: all sides; those of the scenario by default.

        Returns:
            A function that returns the totals so far; nothing if another side has the same daemon, because
            their usage cannot be separated.
        """
        pids = [each.context.daemon_pid for each in sides or self.targets]
        return self.accounting(target) if pids.count(target.context.daemon_pid) == 1 else dict

    def add_results(
        self,
        *meters: Meter,
        headline: str,
        stopped: str,
        reference: Mapping[str, float] | None = None,
        resources: Mapping[str, float] | None = None,
        tally: Tally | None = None,
        note: str = "",
    ) -> None:
        """Store the series of one side's meters, and their results.

        Args:
            meters: of one side and one set of dimensions; several if threads measured.
            headline: the operation that the scenario is about; without a sample of it the scenario fails.
            stopped: why sampling ended.
            reference: operation to the seconds that the OCI runtime alone needs for it.
            resources: what the runtime used for one cycle; stored with the headline.
            tally: how the cycles ended.
            note: stored with the headline.
        """
        own = list((merged(meters) if len(meters) > 1 else meters[0].series).values())
        measured = own + [
            series for meter in meters for other in meter.all_meters[1:] for series in other.series.values()
        ]
        rpcs = {operation: count for meter in meters for operation, count in meter.rpcs.items()}
        shares = {
            id(series): other.client_share(operation)
            for meter in meters
            for other in meter.all_meters
            for operation, series in other.series.items()
        }
        tally = tally or Tally()
        several = (
            sum(
                operation in rpcs and len(rpcs[operation]) == 1
                for operation in (series.operation for series in own)
            )
            > 1
        )
        notes = [
            note,
            *(
                f"the slowest {operation} was {name} with {seconds:.3g} s"
                for meter in meters
                for operation, (seconds, name) in meter.slowest.items()
            ),
            WHOLE_CYCLE if several and resources else "",
            (
                f"{tally.failures} of {tally.cycles} cycles failed, the latest because {tally.latest_failure}"
                if tally.failures
                else ""
            ),
        ]
        known = {(series.key, series.side) for series in self.series}
        for series in measured:
            assert (
                series.key,
                series.side,
            ) not in known, f"{series.key} of side {series.side!r} was measured twice"
            known.add((series.key, series.side))
            if len(meters) > 1:
                mark_warm_up(series)
            plain = any(series is each for each in own)
            first = series.operation == headline and plain
            self.series.append(series)
            self.operations.append(
                result_of(
                    series,
                    headline=first,
                    stopped=stopped,
                    client=self.reference_times.client,
                    rpcs=rpcs.get(series.operation) if plain else None,
                    reference=(reference or {}).get(series.operation),
                    resources=resources if first else None,
                    note="; ".join(filter(None, notes)) if first else "",
                    in_order=not any(series.operation in meter.simultaneous for meter in meters),
                    client_share=shares.get(id(series)),
                )
            )
        if not any(series.operation == headline and series.steady() for series in measured):
            self.empty.setdefault(tally.latest_failure or stopped, []).append(headline)
        elif tally.give_up_reason:
            self.broken.append(tally.give_up_reason)
        if tally.not_done:
            self.broken.append(
                f"the runtime reported success in {tally.cycles} cycles, {tally.not_done} of which it had not"
                f" done: {tally.first_not_done}"
            )

    def concurrently(
        self,
        workload: Workload,
        *,
        workers: int,
        operation: str,
        headline: str,
        seconds: float | None = None,
        dimensions: Mapping[str, str] | None = None,
    ) -> None:
        """Measure the throughput of several workers in a closed loop, each with its own workload.

        Every window of about two seconds gives one sample of throughput; a cycle that crosses the edge of a
        window counts by the share that lies inside. With two sides the windows alternate in random order.

        Args:
            workload: prepared once for every worker.
            workers: number of workers, one thread each.
            operation: name of the throughput.
            headline: operation of the workload whose latencies matter.
            seconds: of all windows together; those of the scenario by default.
            dimensions: of the latencies; `concurrency` is added. The throughput has the dimension
                `concurrency` only.
        """
        total = self.seconds if seconds is None else seconds
        fewest = FEWEST_WINDOWS[len(self.targets)]
        rounds = max(fewest, round(total / THROUGHPUT_WINDOW_SECONDS / len(self.targets)))
        window = total / rounds / len(self.targets)
        concurrency = {"concurrency": str(workers)}
        late = False
        with contextlib.ExitStack() as stack, garbage_collection_paused():
            pools = [
                WorkerPool(
                    [stack.enter_context(workload(target)) for _ in range(workers)],
                    [self.meter(target, {**(dimensions or {}), **concurrency}) for _ in range(workers)],
                    self.meter(target, concurrency),
                )
                for target in self.targets
            ]
            begun = time.monotonic()
            try:
                for block in range(rounds):
                    order = list(pools)
                    self.order.shuffle(order)
                    for pool in order:
                        pool.run(window, block if len(pools) > 1 else -1, operation)
                    for target in self.targets:
                        target.remove_pod_cgroups()
                    self.on_progress(
                        f"{self.scenario.id} {operation} with {workers} at once: {block + 1} of {rounds}"
                        " windows"
                    )
                    late = time.monotonic() - begun > LONGEST_OVERTIME * total
                    if late or any(pool.give_up_reason for pool in pools):
                        break
            finally:
                for pool in pools:
                    stopped = pool.give_up_reason or ("the time budget ended" if late else "all windows done")
                    self.add_results(*pool.meters, headline=headline, stopped=stopped, tally=pool.tally)
                    latest = Tally(latest_failure=pool.tally.latest_failure)
                    self.add_results(pool.rates, headline=operation, stopped=stopped, tally=latest)
                self.broken += [pool.give_up_reason for pool in pools if pool.give_up_reason]

    def oci_runtime_seconds(self, **steps: tuple[str, ...]) -> dict[str, float]:
        """Return operation to the summed seconds of the OCI runtime steps that do the same work, for those
        operations whose steps were all measured.

        A runtime is free to choose the RPC in which it runs each step, so a single RPC has no reference.
        """
        known = self.reference_times.oci_runtime
        return {
            operation: sum(known[step] for step in each)
            for operation, each in steps.items()
            if all(step in known for step in each)
        }

    def conclude(self) -> None:
        """Fail the scenario if a headline has no samples, sampling ended early, or the runtime reported
        something that it had not done.

        Raises:
            AssertionError: names what the runtime did not do.
        """
        if self.empty or self.broken:
            empty = [
                f"no {' and no '.join(dict.fromkeys(names))} succeeded: {why}"
                for why, names in self.empty.items()
            ]
            raise AssertionError("; ".join(dict.fromkeys([*empty, *self.broken])))

    def for_pytest_benchmark(self) -> Series | None:
        """Return the series for pytest-benchmark: the first headline in seconds that has samples."""
        headlines = {(item.key, item.side) for item in self.operations if item.headline}
        return next(
            (
                item
                for item in self.series
                if (item.key, item.side) in headlines and item.unit == "s" and item.steady()
            ),
            None,
        )
