"""How much gets done at once: by concurrency, and at a fixed rate of arrivals."""

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

CONCURRENCIES = {"smoke": (1, 2, 4), "standard": (1, 2, 4, 8, 16), "full": (1, 2, 4, 8, 16, 32, 64)}
LOADS = {"smoke": (0.5,), "standard": (0.3, 0.6, 0.8), "full": (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)}
CALIBRATION_CYCLES = 8
MOST_WAITING = 64
FEWEST_ARRIVALS = 3
FEWEST_ROUNDS, ROUND_SECONDS = 5, 4.0
STALLED_SECONDS = 120.0
FROM_INTENDED = "latency from intended start"


@scenario("B-28")
def test_throughput_by_concurrency(bench: Bench) -> None:
    """Pod cycles per second, and container lifecycles per second, by the number of workers in a closed
    loop.
    """
    levels = CONCURRENCIES[bench.profile]
    seconds = bench.seconds / len(levels) / 2
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
    for workers in levels:
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
    """Pod cycles that arrive at random (Poisson) at shares of what one worker gets done; their latency counts
    from the intended start.

    Two sides get the same arrivals, those that the slower one can bear, in random alternation of a few
    seconds each.
    """
    shares = LOADS[bench.profile]
    with contextlib.ExitStack() as held:
        sides = [DueCycles(target, held.enter_context(pod_cycle()(target))) for target in bench.targets]
        alone = max(side.alone(bench.meter(side.target), bench.seconds / 5 / len(sides)) for side in sides)
        for share in shares:
            for side in sides:
                side.begin(bench.meter(side.target, {"load": f"{share:g} of one worker's rate"}))
            whole = bench.seconds * 0.8 / len(shares) / len(sides)
            rounds = 1 if len(sides) == 1 else max(FEWEST_ROUNDS, round(whole / ROUND_SECONDS))
            for block in range(rounds):
                schedule = arrivals(share / alone, whole / rounds, bench.order)
                bench.order.shuffle(sides)
                for side in sides:
                    side.arrive(schedule, block if len(sides) > 1 else -1)
                    side.target.sweep()
                bench.on_progress(f"{bench.scenario.id} load {share:g}: {block + 1} of {rounds} schedules")
            note = f"{share / alone:.3g} arrivals per second"
            for side in sides:
                bench.keep(
                    side.meter,
                    headline=FROM_INTENDED,
                    stopped="the schedule ended",
                    tally=side.tally,
                    note=note,
                )


class DueCycles:
    """Cycles of one side that begin when they are due, whatever became of the earlier ones.

    Attributes:
        target: the side.
        meter: keeps the latency from the intended start.
        tally: how the cycles of the meter ended.
    """

    def __init__(self, target: Target, cycle: Cycle) -> None:
        self.target = target
        self.tally = Tally()
        self.meter: Meter
        self._cycle = cycle

    def alone(self, meter: Meter, seconds: float) -> float:
        """Return what a cycle takes when nothing else goes on, client included, in seconds.

        Raises:
            NotDone: none succeeded.
        """
        taken: list[float] = []
        tally, end = Tally(), time.perf_counter() + seconds
        while (
            not tally.hopeless
            and len(taken) < CALIBRATION_CYCLES
            and (len(taken) < 2 or time.perf_counter() < end)
        ):
            begin = time.perf_counter()
            if tally.attempt(self._cycle, meter) == "OK":
                taken.append(time.perf_counter() - begin)
        if not taken:
            raise NotDone(f"no pod cycle succeeded alone: {tally.latest}")
        return quantile(taken, 0.5)

    def begin(self, meter: Meter) -> None:
        """Begin another load."""
        self.meter, self.tally = meter, Tally()

    def arrive(self, schedule: Sequence[float], block: int) -> None:
        """Begin a cycle at every instant of the schedule; at most 64 wait at a time, and those who wait for
        room are late.
        """
        room, lock, origin = threading.Semaphore(MOST_WAITING), threading.Lock(), time.perf_counter()
        self.meter.block = block
        threads: list[threading.Thread] = []

        def one(due: float) -> None:
            begin, own = time.perf_counter(), Tally()
            code = own.attempt(self._cycle, self.meter.like())
            end = time.perf_counter()
            room.release()
            with lock:
                self.tally.add(own)
                self.tally.in_a_row = self.tally.in_a_row + 1 if own.failures else 0
                self.meter.keep(FROM_INTENDED, end - due, due, code=code, late=max(0.0, begin - due))

        for instant in schedule:
            time.sleep(max(0.0, origin + instant - time.perf_counter()))
            if self.tally.hopeless or not room.acquire(timeout=STALLED_SECONDS):
                break
            thread = threading.Thread(target=one, args=(origin + instant,), daemon=True)
            thread.start()
            threads.append(thread)
        end = time.perf_counter() + STALLED_SECONDS
        for thread in threads:
            thread.join(max(0.0, end - time.perf_counter()))


def arrivals(rate: float, seconds: float, order: random.Random) -> list[float]:
    """Return a schedule of random arrivals, fixed in advance.

    Args:
        rate: per second.
        seconds: how long.
        order: source of randomness.

    Returns:
        Instants in seconds from the beginning, ascending; at least three, which may come after the end.
    """
    instants: list[float] = []
    now = order.expovariate(rate)
    while now < seconds or len(instants) < FEWEST_ARRIVALS:
        instants.append(now)
        now += order.expovariate(rate)
    return instants
