"""Probes of many containers, each with an exec at its own times, whatever became of the one before."""

import contextlib
import itertools
from collections import Counter

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.sampling import Cycle
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.population import Population
from critests.benchmark.scenarios.storms import ALONE
from critests.benchmark.scenarios.test_throughput import (
    FEWEST_ARRIVALS,
    FEWEST_ROUNDS,
    FROM_INTENDED,
    ROUND_SECONDS,
    DueCycles,
)
from critests.record.samples import NEITHER

PROBED = {"smoke": 5, "standard": 20, "full": 100}
PERIODS = {"smoke": (2.0,), "standard": (5.0, 2.0), "full": (10.0, 5.0, 2.0, 1.0)}
"""Seconds between two probes of a container, the easiest load first."""
SHARE_ALONE = 0.1
"""Of the time, for probes with nothing beside them."""
PROBE_SECONDS = 30
ALONE_NAME = f"ExecSync {ALONE}"


@scenario("B-14")
def test_probes(bench: Bench) -> None:
    """Each of many containers is probed by an exec once a period, open loop: latency from the instant at
    which the probe was due, beside that of a probe alone.

    Two sides get the same schedule, in random alternation of a few seconds each.
    """
    number, periods = PROBED[bench.profile], PERIODS[bench.profile]
    with contextlib.ExitStack() as held:
        sides = [
            DueCycles(
                target, probing(target, held.enter_context(Population.of(target, number)).container_ids)
            )
            for target in bench.targets
        ]
        for side in sides:
            _alone(bench, side, SHARE_ALONE * bench.seconds / len(sides))
        whole = (1 - SHARE_ALONE) * bench.seconds / len(periods) / len(sides)
        rounds = 1 if len(sides) == 1 else max(FEWEST_ROUNDS, round(whole / ROUND_SECONDS))
        for period in periods:
            dimensions = {"containers": str(number), "period": f"{period:g} s"}
            schedule = due(number / period, whole / rounds)
            used: dict[str, dict[str, float]] = {side.target.side: {} for side in sides}
            for side in sides:
                side.begin(bench.meter(side.target, dimensions))
                side.meter.rpcs[FROM_INTENDED] = Counter(["ExecSync"])
            for block in range(rounds):
                bench.order.shuffle(sides)
                for side in sides:
                    so_far = bench.own_account(side.target)
                    side.arrive(schedule, block if len(sides) > 1 else -1)
                    total = used[side.target.side]
                    for name, amount in so_far().items():
                        total[name] = total.get(name, 0.0) + amount
                    side.target.sweep()
                bench.on_progress(
                    f"{bench.scenario.id} a probe every {period:g} s: {block + 1} of {rounds} schedules"
                )
            for side in sides:
                bench.keep(
                    side.meter,
                    headline=FROM_INTENDED,
                    stopped="the schedule ended",
                    resources={
                        name: amount / max(1, side.tally.cycles)
                        for name, amount in used[side.target.side].items()
                    },
                    tally=side.tally,
                    note=f"{number / period:.3g} probes a second",
                )


def probing(target: Target, containers: list[str]) -> Cycle:
    """Return the cycle that probes the containers in turn, and sees that each probe said what it was to."""
    turns = itertools.count()

    def cycle(meter: Meter) -> None:
        turn = next(turns)
        request = cri.ExecSyncRequest(
            container_id=containers[turn % len(containers)], cmd=("echo", str(turn)), timeout=PROBE_SECONDS
        )
        answer = meter.call("ExecSync", target.runtime.ExecSync, request)
        if answer.exit_code or answer.stdout != f"{turn}\n".encode():
            printed = f"ended with {answer.exit_code} and printed {answer.stdout[:80]!r}"
            raise NotDone(f"probe {turn} {printed}, not its number")

    return cycle


def due(rate: float, seconds: float) -> list[float]:
    """Return when the probes of all containers are due: evenly spread, as nodes do not probe all at once.

    Args:
        rate: probes a second, of all containers together.
        seconds: how long.

    Returns:
        Instants in seconds from the beginning, ascending; at least three, which may come after the end.
    """
    return [turn / rate for turn in range(max(FEWEST_ARRIVALS, int(rate * seconds)))]


def _alone(bench: Bench, side: DueCycles, seconds: float) -> None:
    """Measure a probe with nothing beside it: what it takes longer among others is waiting."""
    own = bench.meter(side.target)
    side.alone(own, seconds)
    series = own.series.pop("ExecSync")
    series.operation, series.better = ALONE_NAME, NEITHER  # it was not measured in blocks
    own.series[ALONE_NAME] = series
    own.rpcs[ALONE_NAME] = own.rpcs.pop("ExecSync", Counter())
    bench.keep(own, headline=ALONE_NAME, stopped="enough to compare with")
