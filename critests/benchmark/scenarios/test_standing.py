"""The cost of a runtime by the number of its pods: calls, footprint, idle usage."""

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Sequence

from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter
from critests.benchmark.measuring.resources import DAEMON, footprints
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.daemon_restarts import restarting
from critests.benchmark.scenarios.event_latency import event_delivery
from critests.benchmark.scenarios.idle_pods import (
    IDLE_TIME,
    MEMORY,
    STARTED,
    IdlePods,
    measure_idle,
    one_more_pod,
    relisting,
)
from critests.benchmark.scenarios.list_calls import listing, statistics_of
from critests.benchmark.scenarios.population import Population
from critests.record.comparison_questions import DAEMON_MEMORY
from critests.record.units import BYTES, LOWER
from critests.run.outcomes import Unsupported

PODS = {"compare": (100,), "smoke": (1, 3, 6), "standard": (1, 10, 50, 100), "full": (1, 10, 50, 100, 200)}
SHARES = {"relist": 0.15, "statistics": 0.1, "one more pod": 0.25, "event": 0.1, "idle": 0.3, "restart": 0.1}
"""Part of the measurement to its share of the time for a number of pods."""
COMPARE_SHARES = {"relist": 0.15, "restart": 0.85}
"""The same in the profile of comparisons, which has only these parts."""
IDLE_WINDOWS = 4
"""The first is warm-up: the runtime still cleans up after the previous calls."""
MOST_RESTARTS = {"compare": 20, "smoke": 5, "standard": 5, "full": 5}
LISTS_AFTER_RESTART = 5
"""Calls before the memory of a restarted daemon is read: it has loaded its pods then."""
KILLED = "restart after SIGKILL"


@scenario("B-27")
def test_growth_over_standing_pods(bench: Bench) -> None:
    """A growing number of idle pods: lists, relist, statistics, one more pod, events, memory, descriptors and
    threads of the runtime, its idle usage, and its restart after SIGKILL.
    """
    numbers = PODS[bench.profile]
    shares = COMPARE_SHARES if bench.profile == "compare" else SHARES
    seconds = bench.seconds / len(numbers)
    reached: list[int] = []
    with contextlib.ExitStack() as stack:
        sides = [
            IdlePods(target, stack.enter_context(Population.of_pods(target)), reason)
            for target, reason in zip(bench.targets, _why_unmeasurable(bench.targets), strict=True)
        ]
        for number in numbers:
            if not _grown(bench, sides, number):
                limits = [
                    f"{side.target.name} stopped at {side.pods}: {side.why}" for side in sides if side.why
                ]
                bench.remark(f"{number} pods were not reached: {'; '.join(limits)}")
                break
            reached.append(number)
            if bench.profile == "compare":
                bench.sample(
                    _of(sides, relisting),
                    headline="relist",
                    dimensions={"pods": str(number)},
                    seconds=seconds * shares["relist"],
                )
            else:
                _measure(bench, sides, number, seconds)
        # restarts come last, while the number decreases, because a restart resets the footprint
        for number in reversed(reached):
            for side in sides:
                side.population.shrink_to(number)
            _kill(bench, sides, number, seconds * shares["restart"])


def _measure(bench: Bench, sides: Sequence[IdlePods], number: int, seconds: float) -> None:
    """Run all measurements with a number of pods."""
    dimensions = {"pods": str(number)}
    meters = [bench.meter(side.target, dimensions) for side in sides]
    parts: dict[str, tuple[str, Callable[[Population], Workload]]] = {
        "relist": ("relist", relisting),
        "statistics": ("ListContainerStats", statistics_of),
        "one more pod": (STARTED, lambda _: one_more_pod),
        "event": ("end to event", lambda _: event_delivery(1)),
    }
    for block, (part, (headline, workload)) in enumerate(parts.items()):
        bench.on_progress(f"{bench.scenario.id} {number} pods: {part}")
        try:
            bench.sample(
                _of(sides, workload),
                headline=headline,
                dimensions=dimensions,
                seconds=seconds * SHARES[part],
            )
        except Unsupported as error:
            bench.remark(str(error))
        _add_footprints(sides, meters, block)
    for side in sides:
        if side.unmeasurable:
            bench.remark(f"{side.target.name}: footprint and usage were not measured: {side.unmeasurable}")
    if all(side.unmeasurable for side in sides):
        return
    bench.on_progress(f"{bench.scenario.id} {number} pods: idle")
    idle = [bench.meter(side.target, dimensions) for side in sides]
    for window in range(IDLE_WINDOWS):
        _begin_block(idle, window)
        measure_idle(sides, idle, seconds * SHARES["idle"] / IDLE_WINDOWS)
        _add_footprints(sides, meters, len(parts) + window)
    for meter, idle_meter in zip(meters, idle, strict=True):
        for series in idle_meter.series.values():
            series.warm_up = min(1, len(series.value) - 1)
        if idle_meter.series:
            bench.add_results(meter, headline=MEMORY, stopped="all readings done")
            bench.add_results(idle_meter, headline=IDLE_TIME, stopped="all windows done")


def _kill(bench: Bench, sides: Sequence[IdlePods], number: int, seconds: float) -> None:
    """Measure the restart of the daemons after SIGKILL, if all are throwaway runtimes of this run."""
    owned = [side.target.context.owned for side in sides]
    if any(each is None or each.runtime is None for each in owned) or any(
        side.unmeasurable for side in sides
    ):
        bench.remark(
            "restart after SIGKILL was not measured: each side needs its own private runtime (--node)"
        )
        return
    bench.sample(
        _of(sides, _restarting),
        headline=f"{KILLED} to complete lists",
        dimensions={"pods": str(number)},
        seconds=seconds,
        most=MOST_RESTARTS[bench.profile],
    )


def _restarting(population: Population) -> Workload:
    """Return the workload of a restart after SIGKILL, and of the memory of the new daemon: its memory differs
    from start to start, so that only several starts show what the runtime needs.
    """
    killed, listed = restarting(population, signal.SIGKILL, KILLED), listing(population)

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with killed(target) as restart, listed(target) as calls:

            def cycle(meter: Meter) -> None:
                restart(meter)
                untimed = meter.clone()
                for _ in range(LISTS_AFTER_RESTART):
                    calls(untimed)
                assert target.context.daemon_pid is not None  # of a private runtime it is known
                memory = footprints(target.context.daemon_pid)[DAEMON].memory_bytes
                meter.add(DAEMON_MEMORY, float(memory), time.perf_counter(), unit=BYTES, better=LOWER)

            yield cycle

    return prepared


def _of(sides: Sequence[IdlePods], workload: Callable[[Population], Workload]) -> Workload:
    """Return a workload that uses the pods of each side."""
    populations = {id(side.target): side.population for side in sides}

    def on(target: Target) -> contextlib.AbstractContextManager[Cycle]:
        return workload(populations[id(target)])(target)

    return on


def _why_unmeasurable(targets: Sequence[Target]) -> list[str]:
    """Return for each side why footprint and usage of its runtime cannot be measured; empty if they can."""
    daemons = [target.context.daemon_pid for target in targets]
    if None not in daemons and len(set(daemons)) < len(daemons):
        return ["both sides have the same daemon"] * len(targets)
    return [
        ""
        if target.context.throwaway and target.context.daemon_pid is not None
        else "needs a private runtime (--node): other clients of this one would be counted too"
        for target in targets
    ]


def _add_footprints(sides: Sequence[IdlePods], meters: Sequence[Meter], number: int) -> None:
    _begin_block(meters, number)
    for side, meter in zip(sides, meters, strict=True):
        side.add_footprint(meter)


def _begin_block(meters: Sequence[Meter], number: int) -> None:
    for meter in meters:
        meter.block = number if len(meters) > 1 else -1


def _grown(bench: Bench, sides: Sequence[IdlePods], number: int) -> bool:
    """Grow every side to a number of pods, in random order; return whether all reached it."""
    shuffled = list(sides)
    bench.order.shuffle(shuffled)
    bench.on_progress(f"{bench.scenario.id} {number} pods: growing")
    reached = [side.grow_to(number) for side in shuffled]
    return all(reached)
