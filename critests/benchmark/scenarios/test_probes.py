"""Exec probes of many containers in an open loop: each starts at its time, even if the previous one still
runs.
"""

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
    OpenLoop,
)
from critests.record.units import NEITHER

PROBED = {"smoke": 5, "standard": 20, "full": 100}
PERIODS = {"smoke": (2.0,), "standard": (5.0, 2.0), "full": (10.0, 5.0, 2.0, 1.0)}
"""Seconds between two probes of a container, the lightest load first."""
SHARE_ALONE = 0.1
"""Share of the time for probes without load."""
PROBE_SECONDS = 30
ALONE_NAME = f"ExecSync {ALONE}"


@scenario("B-14")
def test_probes(bench: Bench) -> None:
    """One exec per period in each of many containers, open loop: latency from the intended start, with the
    latency of a probe without load as the baseline.

    Two sides get the same schedule, in random alternation every few seconds.
    """
    number, periods = PROBED[bench.profile], PERIODS[bench.profile]
    with contextlib.ExitStack() as stack:
        sides = [
            OpenLoop(
                target, probing(target, stack.enter_context(Population.of(target, number)).container_ids)
            )
            for target in bench.targets
        ]
        for side in sides:
            _add_baseline(bench, side, SHARE_ALONE * bench.seconds / len(sides))
        whole = (1 - SHARE_ALONE) * bench.seconds / len(periods) / len(sides)
        rounds = 1 if len(sides) == 1 else max(FEWEST_ROUNDS, round(whole / ROUND_SECONDS))
        for period in periods:
            dimensions = {"containers": str(number), "period": f"{period:g} s"}
            schedule = due(number / period, whole / rounds)
            used: dict[str, dict[str, float]] = {side.target.side: {} for side in sides}
            for side in sides:
                side.begin_load(bench.meter(side.target, dimensions))
                side.meter.rpcs[FROM_INTENDED] = Counter(["ExecSync"])
            for block in range(rounds):
                bench.order.shuffle(sides)
                for side in sides:
                    usage = bench.account_usage(side.target)
                    side.run_schedule(schedule, block if len(sides) > 1 else -1)
                    total = used[side.target.side]
                    for name, amount in usage().items():
                        total[name] = total.get(name, 0.0) + amount
                    side.target.remove_pod_cgroups()
                bench.on_progress(
                    f"{bench.scenario.id} a probe every {period:g} s: {block + 1} of {rounds} schedules"
                )
            for side in sides:
                bench.add_results(
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
    """Return the cycle that probes the containers in turn, and checks the output of each probe."""
    turns = itertools.count()

    def cycle(meter: Meter) -> None:
        turn = next(turns)
        request = cri.ExecSyncRequest(
            container_id=containers[turn % len(containers)], cmd=("echo", str(turn)), timeout=PROBE_SECONDS
        )
        response = meter.call("ExecSync", target.runtime.ExecSync, request)
        if response.exit_code or response.stdout != f"{turn}\n".encode():
            printed = f"ended with {response.exit_code} and printed {response.stdout[:80]!r}"
            raise NotDone(f"probe {turn} {printed}, not its number")

    return cycle


def due(rate: float, seconds: float) -> list[float]:
    """Return the intended starts of all probes, evenly spaced, because a kubelet does not start its probes
    simultaneously.

    Args:
        rate: probes per second, of all containers together.
        seconds: duration.

    Returns:
        Intended starts in seconds, ascending; at least three, which may lie after the end.
    """
    return [turn / rate for turn in range(max(FEWEST_ARRIVALS, int(rate * seconds)))]


def _add_baseline(bench: Bench, side: OpenLoop, seconds: float) -> None:
    """Measure a probe without load: the additional time under load is waiting."""
    own = bench.meter(side.target)
    side.calibrate(own, seconds)
    series = own.series.pop("ExecSync")
    series.operation, series.better = ALONE_NAME, NEITHER  # measured without blocks, so it cannot be compared
    own.series[ALONE_NAME] = series
    own.rpcs[ALONE_NAME] = own.rpcs.pop("ExecSync", Counter())
    bench.add_results(own, headline=ALONE_NAME, stopped="enough to compare with")
