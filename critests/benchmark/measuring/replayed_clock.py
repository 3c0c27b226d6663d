"""The headline operation as pytest-benchmark knows it.

Our sampler has measured already; `benchmark.pedantic` is driven by a clock that runs through the measured
durations, so that its table, its JSON and its `compare` hold the same numbers.
"""

from collections.abc import Sequence
from typing import Any


class MeasuredClock:
    """A clock for pytest-benchmark that passes the measured durations, one between every two readings."""

    def __init__(self) -> None:
        self._now = 0.0
        self._pending: list[float] = []
        self._inside = False

    def load(self, durations: Sequence[float]) -> None:
        """Set the durations that the next rounds take, in seconds."""
        self._pending = list(reversed(durations))
        self._inside = False

    def __call__(self) -> float:
        """Return the time: the second reading of each round comes one duration after the first."""
        if self._inside and self._pending:
            self._now += self._pending.pop()
        self._inside = not self._inside
        return self._now


measured_clock = MeasuredClock()


# pytest-benchmark is not typed
def carry(benchmark: Any, durations: Sequence[float], about: dict[str, object]) -> None:  # noqa: ANN401 - see above
    """Hand the headline's steady samples to pytest-benchmark.

    Args:
        benchmark: the fixture, of a test marked with `timer=measured_clock`.
        durations: in seconds, at least one.
        about: what goes into `extra_info`.
    """
    benchmark.extra_info.update(about)
    measured_clock.load(durations)
    benchmark.pedantic(_nothing, rounds=len(durations), iterations=1)


def _nothing() -> None:
    """Take no time of its own: what is measured was done before."""
