"""A closed loop: each worker starts its next cycle when its previous one has ended."""

import threading
import time
from collections.abc import Sequence

from critests.benchmark.measuring.meter import Meter
from critests.benchmark.measuring.sampling import FAILURES_IN_A_ROW, Cycle, Tally
from critests.record.units import HIGHER, PER_SECOND

ALLOWED_LATENESS_SECONDS = 90.0
"""For cycles in flight when a window ends: longer than the deadline of any timed call except StopContainer.
"""


class WorkerPool:
    """The workers of one side, each with its own cycle and meter.

    Attributes:
        meters: of the workers.
        rates: the meter of the throughput.
        tally: how all cycles ended.
        give_up_reason: why no further window is worthwhile; empty otherwise.
    """

    def __init__(self, cycles: Sequence[Cycle], meters: Sequence[Meter], rates: Meter) -> None:
        self.meters = list(meters)
        self.rates = rates
        self.tally = Tally()
        self.give_up_reason = ""
        self._cycles = list(cycles)

    def run(self, seconds: float, block: int, operation: str) -> None:
        """Run the workers for one window and add its throughput."""
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
            self.rates.add(operation, done / seconds, begin, unit=PER_SECOND, better=HIGHER)
        stuck = sum(thread.is_alive() for thread in threads)
        if stuck:
            self.give_up_reason = (
                f"{stuck} of {len(threads)} cycles did not end within {ALLOWED_LATENESS_SECONDS:g} s"
            )
        elif all(tally.give_up_reason for tally in tallies):
            self.give_up_reason = f"all cycles failed: {self.tally.latest_failure}"

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
            if tally.run(cycle, meter) == "OK":
                spans.append((begin, time.perf_counter()))


def share_within(span: tuple[float, float], begin: float, end: float) -> float:
    """Return the share of a time span that lies within a window."""
    first, last = span
    overlap = min(last, end) - max(first, begin)
    return max(0.0, overlap / (last - first)) if last > first else 0.0
