"""What a runtime costs as its pods grow in number: calls beside them, what it holds, what it uses idle."""

import contextlib
import signal
from collections.abc import Callable, Sequence

from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.daemon_restarts import restarting
from critests.benchmark.scenarios.event_latency import hearing
from critests.benchmark.scenarios.idle_pods import (
    IDLE_TIME,
    MEMORY,
    STARTED,
    IdlePods,
    one_more,
    relisting,
    rest,
)
from critests.benchmark.scenarios.list_calls import statistics_of
from critests.benchmark.scenarios.population import Population
from critests.run.outcomes import Unsupported

PODS = {"smoke": (1, 3, 6), "standard": (1, 10, 50, 100), "full": (1, 10, 50, 100, 200)}
SHARES = {"relist": 0.15, "statistics": 0.1, "one more pod": 0.25, "event": 0.1, "idle": 0.3, "restart": 0.1}
"""Of the time of a number of pods, what each part of the measuring may take."""
IDLE_WINDOWS = 4
"""The first is left out: what was done before is still being tidied up then."""
MOST_RESTARTS = 5
KILLED = "restart after SIGKILL"


@scenario("B-27")
def test_growth_over_standing_pods(bench: Bench) -> None:
    """Pods that stand still, more and more of them: lists, relist, statistics, one more pod, events, memory,
    descriptors and threads of the runtime, what it uses idle, and how long it takes to be back after SIGKILL.
    """
    numbers = PODS[bench.profile]
    seconds = bench.seconds / len(numbers)
    reached: list[int] = []
    with contextlib.ExitStack() as held:
        sides = [
            IdlePods(target, held.enter_context(Population.of_pods(target)), hidden)
            for target, hidden in zip(bench.targets, _hidden(bench.targets), strict=True)
        ]
        for number in numbers:
            if not _grown(bench, sides, number):
                limits = [f"{side.target.name} bore {side.pods}: {side.why}" for side in sides if side.why]
                bench.remark(f"{number} pods were not reached: {'; '.join(limits)}")
                break
            _measure(bench, sides, number, seconds)
            reached.append(number)
        # on the way down, as a daemon that was killed has forgotten what it held
        for number in reversed(reached):
            for side in sides:
                side.population.shrink_to(number)
            _kill(bench, sides, number, seconds * SHARES["restart"])


def _measure(bench: Bench, sides: Sequence[IdlePods], number: int, seconds: float) -> None:
    """Measure everything beside a number of pods."""
    dimensions = {"pods": str(number)}
    meters = [bench.meter(side.target, dimensions) for side in sides]
    parts: dict[str, tuple[str, Callable[[Population], Workload]]] = {
        "relist": ("relist", relisting),
        "statistics": ("ListContainerStats", statistics_of),
        "one more pod": (STARTED, lambda _: one_more),
        "event": ("end to event", lambda _: hearing(1)),
    }
    for look, (part, (headline, workload)) in enumerate(parts.items()):
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
        _look(sides, meters, look)
    for side in sides:
        if side.hidden:
            bench.remark(f"{side.target.name}: what it holds and uses cannot be told: {side.hidden}")
    if all(side.hidden for side in sides):
        return
    bench.on_progress(f"{bench.scenario.id} {number} pods: idle")
    idle = [bench.meter(side.target, dimensions) for side in sides]
    for window in range(IDLE_WINDOWS):
        _begin_block(idle, window)
        rest(sides, idle, seconds * SHARES["idle"] / IDLE_WINDOWS)
        _look(sides, meters, len(parts) + window)
    for meter, resting in zip(meters, idle, strict=True):
        for series in resting.series.values():
            series.warm_up = min(1, len(series.value) - 1)
        if resting.series:
            bench.keep(meter, headline=MEMORY, stopped="all looks done")
            bench.keep(resting, headline=IDLE_TIME, stopped="all windows done")


def _kill(bench: Bench, sides: Sequence[IdlePods], number: int, seconds: float) -> None:
    """Measure how long the daemons need to be back after SIGKILL, where they are ours to kill."""
    owned = [side.target.context.owned for side in sides]
    if any(each is None or each.runtime is None for each in owned) or any(side.hidden for side in sides):
        bench.remark("no SIGKILL: needs a throwaway runtime (--node) of each side's own")
        return
    bench.sample(
        _of(sides, lambda population: restarting(population, signal.SIGKILL, KILLED)),
        headline=f"{KILLED} to complete lists",
        dimensions={"pods": str(number)},
        seconds=seconds,
        most=MOST_RESTARTS,
    )


def _of(sides: Sequence[IdlePods], workload: Callable[[Population], Workload]) -> Workload:
    """Return a workload that is, on each side, that of its own pods."""
    populations = {id(side.target): side.population for side in sides}

    def on(target: Target) -> contextlib.AbstractContextManager[Cycle]:
        return workload(populations[id(target)])(target)

    return on


def _hidden(targets: Sequence[Target]) -> list[str]:
    """Say of each side why what its runtime holds cannot be told; empty where it can."""
    daemons = [target.context.daemon_pid for target in targets]
    if None not in daemons and len(set(daemons)) < len(daemons):
        return ["both sides are one daemon"] * len(targets)
    return [
        ""
        if target.context.throwaway and target.context.daemon_pid is not None
        else "needs a throwaway runtime (--node): what others do on this one would be counted too"
        for target in targets
    ]


def _look(sides: Sequence[IdlePods], meters: Sequence[Meter], number: int) -> None:
    _begin_block(meters, number)
    for side, meter in zip(sides, meters, strict=True):
        side.look(meter)


def _begin_block(meters: Sequence[Meter], number: int) -> None:
    for meter in meters:
        meter.block = number if len(meters) > 1 else -1


def _grown(bench: Bench, sides: Sequence[IdlePods], number: int) -> bool:
    """Let every side grow to a number of pods, in random order; return whether all bear them."""
    mixed = list(sides)
    bench.order.shuffle(mixed)
    bench.on_progress(f"{bench.scenario.id} {number} pods: growing")
    borne = [side.grow_to(number) for side in mixed]
    return all(borne)
