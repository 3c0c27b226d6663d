"""The headline operation for pytest-benchmark.

The sampler has already measured it; a clock that replays the measured durations drives `benchmark.pedantic`,
so that pytest-benchmark's table, JSON and `compare` show the same numbers.
"""

from collections.abc import Sequence
from typing import Any


class ReplayedClock:
    """A clock for pytest-benchmark that advances by one measured duration within every round."""

    def __init__(self) -> None:
        self._now = 0.0
        self._pending: list[float] = []
        self._inside = False

    def load(self, durations: Sequence[float]) -> None:
        """Set the durations of the next rounds, in seconds."""
        self._pending = list(reversed(durations))
        self._inside = False

    def __call__(self) -> float:
        """Return the time: the second reading of each round is one duration after the first."""
        if self._inside and self._pending:
            self._now += self._pending.pop()
        self._inside = not self._inside
        return self._now


replayed_clock = ReplayedClock()


# pytest-benchmark is not typed
def replay(benchmark: Any, durations: Sequence[float], extra_info: dict[str, object]) -> None:  # noqa: ANN401 - see above
    """Pass the steady samples of the headline to pytest-benchmark.

    Args:
        benchmark: the fixture, of a test marked with `timer=replayed_clock`.
        durations: in seconds, at least one.
        extra_info: added to the `extra_info` of pytest-benchmark.
    """
    benchmark.extra_info.update(extra_info)
    replayed_clock.load(durations)
    benchmark.pedantic(_nothing, rounds=len(durations), iterations=1)


def _nothing() -> None:
    """Do nothing: the measurement is already over."""
