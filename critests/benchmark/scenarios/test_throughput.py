"""Throughput by concurrency in a closed loop, and latency at fixed arrival rates in an open loop."""

import contextlib
import random
import threading
import time
from collections.abc import Sequence

from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.sampling import Cycle, Tally
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.workloads import container_lifecycle, pod_cycle
from critests.statistics.quantiles import quantile

CONCURRENCIES = {
    "compare": (4,),
    "smoke": (1, 2, 4),
    "standard": (1, 2, 4, 8, 16),
    "full": (1, 2, 4, 8, 16, 32, 64),
}
LOADS = {"smoke": (0.5,), "standard": (0.3, 0.6, 0.8), "full": (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)}
CALIBRATION_CYCLES = 8
MOST_IN_FLIGHT = 64
FEWEST_ARRIVALS = 3
FEWEST_ROUNDS, ROUND_SECONDS = 5, 4.0
STALLED_SECONDS = 120.0
FROM_INTENDED = "latency from intended start"


@scenario("B-28")
def test_throughput_by_concurrency(bench: Bench) -> None:
    """Pod cycles and container lifecycles per second, by the number of workers in a closed loop."""
    levels = CONCURRENCIES[bench.profile]
    pods_only = bench.profile == "compare"
    seconds = bench.seconds / len(levels) / (1 if pods_only else 2)
    for workers in levels:
        work = {"work": "pods"}
        bench.concurrently(
            pod_cycle(),
            workers=workers,
            operation="pods",
            headline="pod cycle",
            seconds=seconds,
            dimensions=work,
        )
    for workers in () if pods_only else levels:
        work = {"work": "containers"}
        bench.concurrently(
            container_lifecycle,
            workers=workers,
            operation="containers",
            headline="StartContainer",
            seconds=seconds,
            dimensions=work,
        )


@scenario("B-30")
def test_arrivals_at_a_fixed_rate(bench: Bench) -> None:
    """Pod cycles with Poisson arrivals, at rates that are shares of the throughput of one worker; the latency
    counts from the intended start, which avoids coordinated omission.

    Two sides get the same arrivals, at the rates of the slower side, in random alternation every few seconds.
    """
    shares = LOADS[bench.profile]
    with contextlib.ExitStack() as stack:
        sides = [OpenLoop(target, stack.enter_context(pod_cycle()(target))) for target in bench.targets]
        alone = max(
            side.calibrate(bench.meter(side.target), bench.seconds / 5 / len(sides)) for side in sides
        )
        for share in shares:
            for side in sides:
                side.begin_load(bench.meter(side.target, {"load": f"{share:g} of one worker's rate"}))
            # a fifth of the time was for calibration
            whole = bench.seconds * 0.8 / len(shares) / len(sides)
            rounds = 1 if len(sides) == 1 else max(FEWEST_ROUNDS, round(whole / ROUND_SECONDS))
            for block in range(rounds):
                schedule = arrivals(share / alone, whole / rounds, bench.order)
                bench.order.shuffle(sides)
                for side in sides:
                    side.run_schedule(schedule, block if len(sides) > 1 else -1)
                    side.target.remove_pod_cgroups()
                bench.on_progress(f"{bench.scenario.id} load {share:g}: {block + 1} of {rounds} schedules")
            note = f"{share / alone:.3g} arrivals per second"
            for side in sides:
                bench.add_results(
                    side.meter,
                    headline=FROM_INTENDED,
                    stopped="the schedule ended",
                    tally=side.tally,
                    note=note,
                )


class OpenLoop:
    """An open loop: cycles of one side that start at their intended times, even if earlier ones still run.

    Attributes:
        target: the side.
        meter: stores the latency from the intended start.
        tally: how the cycles of the current load ended.
    """

    def __init__(self, target: Target, cycle: Cycle) -> None:
        self.target = target
        self.tally = Tally()
        self.meter: Meter
        self._cycle = cycle

    def calibrate(self, meter: Meter, seconds: float) -> float:
        """Return the median of a cycle without load, client included, in seconds.

        Raises:
            NotDone: no cycle succeeded.
        """
        taken: list[float] = []
        tally, end = Tally(), time.perf_counter() + seconds
        while (
            not tally.give_up_reason
            and len(taken) < CALIBRATION_CYCLES
            and (len(taken) < 2 or time.perf_counter() < end)
        ):
            begin = time.perf_counter()
            if tally.run(self._cycle, meter) == "OK":
                taken.append(time.perf_counter() - begin)
        if not taken:
            raise NotDone(f"no cycle succeeded without load: {tally.latest_failure}")
        return quantile(taken, 0.5)

    def begin_load(self, meter: Meter) -> None:
        """Start another load with an empty meter."""
        self.meter, self.tally = meter, Tally()

    def run_schedule(self, schedule: Sequence[float], block: int) -> None:
        """Start a cycle at every intended start; at most 64 are in flight, and further ones start late."""
        slots, lock, origin = threading.Semaphore(MOST_IN_FLIGHT), threading.Lock(), time.perf_counter()
        self.meter.block = block
        threads: list[threading.Thread] = []

        def run(due: float) -> None:
            begin, own = time.perf_counter(), Tally()
            code = own.run(self._cycle, self.meter.clone())
            end = time.perf_counter()
            slots.release()
            with lock:
                self.tally.add(own)
                self.tally.in_a_row = self.tally.in_a_row + 1 if own.failures else 0
                self.meter.add(FROM_INTENDED, end - due, due, code=code, late=max(0.0, begin - due))

        for instant in schedule:
            time.sleep(max(0.0, origin + instant - time.perf_counter()))
            if self.tally.give_up_reason or not slots.acquire(timeout=STALLED_SECONDS):
                break
            thread = threading.Thread(target=run, args=(origin + instant,), daemon=True)
            thread.start()
            threads.append(thread)
        end = time.perf_counter() + STALLED_SECONDS
        for thread in threads:
            thread.join(max(0.0, end - time.perf_counter()))


def arrivals(rate: float, seconds: float, order: random.Random) -> list[float]:
    """Return a schedule of Poisson arrivals, fixed in advance.

    Args:
        rate: arrivals per second.
        seconds: duration.
        order: source of randomness.

    Returns:
        Intended starts in seconds, ascending; at least three, which may lie after the end.
    """
    instants: list[float] = []
    now = order.expovariate(rate)
    while now < seconds or len(instants) < FEWEST_ARRIVALS:
        instants.append(now)
        now += order.expovariate(rate)
    return instants
