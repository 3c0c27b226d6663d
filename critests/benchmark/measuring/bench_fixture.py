"""What a scenario is given: its sides, its time, and ways to measure that keep every sample."""

import contextlib
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from critests.benchmark.measuring.closed_loop import Team
from critests.benchmark.measuring.idle_check import quiet
from critests.benchmark.measuring.meter import Meter, merged
from critests.benchmark.measuring.operation_results import result_of
from critests.benchmark.measuring.replayed_clock import measured_clock
from critests.benchmark.measuring.sampling import Lane, Tally, Workload, mark_warm_up, sample
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenario_profiles import SCENARIOS, Scenario
from critests.client.deadlines import Deadlines
from critests.record.operations import OperationResult
from critests.record.samples import Series
from critests.run.marks import SCENARIO
from critests.statistics.stopping import PrecisionPlan

THROUGHPUT_WINDOW_SECONDS = 2.0
FEWEST_WINDOWS = {1: 1, 2: 5}
"""Windows of each side, by the number of sides: fewer blocks cannot show a difference."""
WHOLE_CYCLE = "what it cost the runtime is that of the whole cycle, with its other calls"
LONGEST_OVERTIME = 2.0
"""How many times its time all windows may take: each ends with the cycles that are under way, which on a slow
runtime outlast it.
"""


def scenario(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Say which scenario a test measures."""
    known = SCENARIOS[name]

    def mark(function: Callable[..., None]) -> Callable[..., None]:
        marked: Callable[..., None] = getattr(pytest.mark, SCENARIO)(known.id)(function)
        # marks are typed as Any
        return pytest.mark.benchmark(timer=measured_clock, group=known.id)(marked)  # type: ignore[no-any-return]  # see above

    return mark


@dataclass
class Floors:
    """What stands beside every number.

    Attributes:
        client: RPC to the seconds that the client needs for it against a server that does nothing.
        reference: step of the bare OCI runtime to its median in seconds.
    """

    client: dict[str, float] = field(default_factory=dict)
    reference: dict[str, float] = field(default_factory=dict)


@dataclass
class Bench:
    """One scenario while it is measured.

    Attributes:
        scenario: which.
        targets: the sides, one or two.
        seconds: of sampling that it may take.
        profile: `smoke`, `standard` or `full`.
        order: source of random order.
        origin: of the run's clock, on that of `time.perf_counter`.
        floors: client and OCI runtime alone.
        account: begins an account of what a side's runtime uses; calling what it returns gives the totals so
            far.
        series: everything measured so far.
        operations: what it says.
        on_progress: called with a line of progress.
        empty: why operations that the scenario is about have no samples, to their names.
        broken: why sampling had to end early, or what was not done as it was said to be.
        remarks: sentences about what could not be measured, for the reader of the run.
    """

    scenario: Scenario
    targets: list[Target]
    seconds: float
    profile: str
    order: random.Random
    origin: float
    floors: Floors
    account: Callable[[Target], Callable[[], dict[str, float]]]
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
        """Say something to the reader of the run, once."""
        if sentence not in self.remarks:
            self.remarks.append(sentence)

    def deadlines(self, target: Target) -> Deadlines:
        """Return the deadlines of a side's timed calls."""
        return target.connection.deadlines

    def meter(self, target: Target, dimensions: Mapping[str, str] | None = None) -> Meter:
        """Return a meter for a scenario that measures in its own way; hand what it holds to `keep`."""
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
        """Do the same again and again on every side until the headline is known sharply enough or the time is
        over.

        What was measured until an exception ends it is kept too.

        Args:
            workload: prepares a side and yields the cycle; its clean-up is outside every timed window.
            headline: operation that decides, and that the scenario is about.
            dimensions: what is held fixed here.
            seconds: of sampling; all of the scenario's by default.
            quantile: that must be sharp.
            half_width: half of its confidence interval, as a share of it.
            most: cycles at most.
            reference: operation to the seconds that the bare OCI runtime needs for it.
            targets: other sides than the scenario's own.
        """
        plan = PrecisionPlan(
            self.seconds if seconds is None else seconds, quantile, half_width, most_samples=most
        )
        label = " ".join([headline, *(f"{name}={value}" for name, value in (dimensions or {}).items())])
        sides = self.targets if targets is None else targets
        with contextlib.ExitStack() as held:
            lanes = [
                Lane(target, held.enter_context(workload(target)), self.meter(target, dimensions))
                for target in sides
            ]
            accounts = [self.own_account(target, sides) for target in sides]
            stopped = "broken off"
            try:
                stopped = sample(
                    lanes,
                    headline,
                    plan,
                    self.order,
                    lambda cycles: self.on_progress(f"{self.scenario.id} {label}: {cycles} cycles"),
                )
            finally:
                for lane, account in zip(lanes, accounts, strict=True):
                    cycles = max(1, lane.tally.cycles)
                    self.keep(
                        lane.meter,
                        headline=headline,
                        stopped=stopped,
                        reference=reference,
                        resources={name: amount / cycles for name, amount in account().items()},
                        tally=lane.tally,
                    )

    def own_account(
        self, target: Target, sides: Sequence[Target] | None = None
    ) -> Callable[[], dict[str, float]]:
        """Begin an account of what a side's runtime uses.

        Args:
            target: the side.
            sides: all of them; the scenario's own by default.

        Returns:
            Gives the totals so far; nothing where another side has the same daemon, as the two cannot be
            told apart.
        """
        pids = [each.context.daemon_pid for each in sides or self.targets]
        return self.account(target) if pids.count(target.context.daemon_pid) == 1 else dict

    def keep(
        self,
        *meters: Meter,
        headline: str,
        stopped: str,
        reference: Mapping[str, float] | None = None,
        resources: Mapping[str, float] | None = None,
        tally: Tally | None = None,
        note: str = "",
    ) -> None:
        """Keep what the meters of one side hold, and say what it says.

        Args:
            meters: of one side and one set of dimensions; several where threads measured.
            headline: the operation that matters; with none of it measured the scenario has failed.
            stopped: why sampling ended.
            reference: operation to the seconds that the bare OCI runtime needs for it.
            resources: what one cycle cost the runtime; stands with the headline.
            tally: how the cycles ended.
            note: stands with the headline.
        """
        own = list((merged(meters) if len(meters) > 1 else meters[0].series).values())
        found = own + [
            series for meter in meters for other in meter.every[1:] for series in other.series.values()
        ]
        rpcs = {operation: count for meter in meters for operation, count in meter.rpcs.items()}
        shares = {
            id(series): other.client_share(operation)
            for meter in meters
            for other in meter.every
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
                f"{tally.failures} of {tally.cycles} cycles failed, the latest because {tally.latest}"
                if tally.failures
                else ""
            ),
        ]
        known = {(series.key, series.side) for series in self.series}
        for series in found:
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
                    client=self.floors.client,
                    rpcs=rpcs.get(series.operation) if plain else None,
                    reference=(reference or {}).get(series.operation),
                    resources=resources if first else None,
                    note="; ".join(filter(None, notes)) if first else "",
                    in_order=not any(series.operation in meter.at_once for meter in meters),
                    client_share=shares.get(id(series)),
                )
            )
        if not any(series.operation == headline and series.steady() for series in found):
            self.empty.setdefault(tally.latest or stopped, []).append(headline)
        elif tally.hopeless:
            self.broken.append(tally.hopeless)
        if tally.untrue:
            self.broken.append(
                f"{tally.untrue} of {tally.cycles} cycles were not done as they were said to be:"
                f" {tally.untruth}"
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
        """Measure how much gets done by several workers at once, each with a workload of its own, in a closed
        loop.

        Every window of about two seconds gives one sample of throughput; a cycle that lies across its edge
        counts by its share. With two sides the windows alternate in random order.

        Args:
            workload: prepared once for every worker.
            workers: how many at once, one thread each.
            operation: name of the throughput.
            headline: operation of the workload whose latencies matter.
            seconds: of all windows together; all of the scenario's by default.
            dimensions: of the latencies; `concurrency` is added. That of the throughput is `concurrency`
                alone.
        """
        total = self.seconds if seconds is None else seconds
        fewest = FEWEST_WINDOWS[len(self.targets)]
        rounds = max(fewest, round(total / THROUGHPUT_WINDOW_SECONDS / len(self.targets)))
        window = total / rounds / len(self.targets)
        at_once = {"concurrency": str(workers)}
        late = False
        with contextlib.ExitStack() as held, quiet():
            teams = [
                Team(
                    [held.enter_context(workload(target)) for _ in range(workers)],
                    [self.meter(target, {**(dimensions or {}), **at_once}) for _ in range(workers)],
                    self.meter(target, at_once),
                )
                for target in self.targets
            ]
            begun = time.monotonic()
            try:
                for block in range(rounds):
                    order = list(teams)
                    self.order.shuffle(order)
                    for team in order:
                        team.run(window, block if len(teams) > 1 else -1, operation)
                    for target in self.targets:
                        target.sweep()
                    self.on_progress(
                        f"{self.scenario.id} {operation} with {workers} at once: {block + 1} of {rounds}"
                        " windows"
                    )
                    late = time.monotonic() - begun > LONGEST_OVERTIME * total
                    if late or any(team.given_up for team in teams):
                        break
            finally:
                for team in teams:
                    stopped = team.given_up or ("the time budget ended" if late else "all windows done")
                    self.keep(*team.meters, headline=headline, stopped=stopped, tally=team.tally)
                    self.keep(
                        team.rates, headline=operation, stopped=stopped, tally=Tally(latest=team.tally.latest)
                    )
                self.broken += [team.given_up for team in teams if team.given_up]

    def of_reference(self, **steps: tuple[str, ...]) -> dict[str, float]:
        """Return operation to the seconds of the bare OCI runtime's steps that do the same together, as far
        as they were measured.

        Which RPC makes the OCI runtime do which step is the runtime's choice, so single RPCs have no such
        floor.
        """
        known = self.floors.reference
        return {
            operation: sum(known[step] for step in each)
            for operation, each in steps.items()
            if all(step in known for step in each)
        }

    def conclude(self) -> None:
        """Fail the scenario where nothing could be measured of what it is about, where it had to end early,
        or was not done.

        Raises:
            AssertionError: says what the runtime did not do.
        """
        if self.empty or self.broken:
            empty = [
                f"no {' and no '.join(dict.fromkeys(names))} succeeded: {why}"
                for why, names in self.empty.items()
            ]
            raise AssertionError("; ".join(dict.fromkeys([*empty, *self.broken])))

    def shown(self) -> Series | None:
        """Return the series that pytest-benchmark is to carry: the first headline in seconds that has
        samples.
        """
        wanted = {(item.key, item.side) for item in self.operations if item.headline}
        return next(
            (
                item
                for item in self.series
                if (item.key, item.side) in wanted and item.unit == "s" and item.steady()
            ),
            None,
        )
