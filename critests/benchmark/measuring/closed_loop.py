"""Workers in a closed loop: each begins its next cycle when the last one has ended."""

import threading
import time
from collections.abc import Sequence

from critests.benchmark.measuring.meter import Meter
from critests.benchmark.measuring.sampling import FAILURES_IN_A_ROW, Cycle, Tally
from critests.record.samples import HIGHER, PER_SECOND

ALLOWED_LATENESS_SECONDS = 90.0
"""For cycles that are under way when a window ends: longer than any timed call may take but
StopContainer's.
"""


class Team:
    """Workers of one side, each with a cycle and a meter of its own.

    Attributes:
        meters: of the workers.
        rates: keeps the throughput.
        tally: how all cycles ended.
        given_up: why there is no point in another window; empty where there is.
    """

    def __init__(self, cycles: Sequence[Cycle], meters: Sequence[Meter], rates: Meter) -> None:
        self.meters = list(meters)
        self.rates = rates
        self.tally = Tally()
        self.given_up = ""
        self._cycles = list(cycles)

    def run(self, seconds: float, block: int, operation: str) -> None:
        """Work for one window and keep its throughput."""
        start, end = threading.Event(), [0.0]
        spans: list[list[tuple[float, float]]] = [[] for _ in self._cycles]
        tallies = [Tally() for _ in self._cycles]
        threads = [
            threading.Thread(
                target=self._work,
                args=(number, block, start, end, spans[number], tallies[number]),
                daemon=True,
            )
            for number in range(len(self._cycles))
        ]
        for thread in threads:
            thread.start()
        begin = time.perf_counter()
        end[0] = begin + seconds
        start.set()
        for thread in threads:
            thread.join(max(0.0, end[0] + ALLOWED_LATENESS_SECONDS - time.perf_counter()))
        for tally in tallies:
            self.tally.add(tally)
        done = sum(share_within(span, begin, end[0]) for own in spans for span in own)
        self.rates.block = block
        if done:
            self.rates.keep(operation, done / seconds, begin, unit=PER_SECOND, better=HIGHER)
        stuck = sum(thread.is_alive() for thread in threads)
        if stuck:
            self.given_up = (
                f"{stuck} of {len(threads)} cycles did not end within {ALLOWED_LATENESS_SECONDS:g} s"
            )
        elif all(tally.hopeless for tally in tallies):
            self.given_up = f"all cycles failed: {self.tally.latest}"

    def _work(
        self,
        number: int,
        block: int,
        start: threading.Event,
        end: list[float],
        spans: list[tuple[float, float]],
        tally: Tally,
    ) -> None:
        meter, cycle = self.meters[number], self._cycles[number]
        meter.block = block
        start.wait()
        while (begin := time.perf_counter()) < end[0] and tally.in_a_row < FAILURES_IN_A_ROW:
            if tally.attempt(cycle, meter) == "OK":
                spans.append((begin, time.perf_counter()))


def share_within(span: tuple[float, float], begin: float, end: float) -> float:
    """Return which share of a span of time lies within a window."""
    first, last = span
    overlap = min(last, end) - max(first, begin)
    return max(0.0, overlap / (last - first)) if last > first else 0.0
