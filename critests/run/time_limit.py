"""A limit on the time of a test outside its calls to the runtime, each of which has a deadline.

A call that hangs thus ends with DEADLINE_EXCEEDED, and only the test code can exceed the limit.
"""

import signal
import time
from types import FrameType

import pytest

from critests.client.under_way import UnderWay

SHORTEST_SECONDS = 0.05
"""Least time to the next look, also while a call is under way: setitimer(2) stops the timer at 0."""


class TimeLimit:
    """A limit on one test, by SIGALRM; for the main thread only.

    Args:
        seconds: how long the test may take outside its calls.
        under_way: the calls of this process.
    """

    def __init__(self, seconds: float, under_way: UnderWay) -> None:
        self._seconds = seconds
        self._under_way = under_way
        self._begun, self._calls_before = time.perf_counter(), under_way.seconds
        self._handler_before = signal.signal(signal.SIGALRM, self._look)
        signal.setitimer(signal.ITIMER_REAL, seconds)

    def lift(self) -> None:
        """End the limit."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._handler_before)

    def _left(self) -> float:
        calls = self._under_way.seconds - self._calls_before
        return self._seconds - (time.perf_counter() - self._begun - calls)

    def _look(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        left = self._left()
        if self._under_way.calls or left > 0:
            signal.setitimer(signal.ITIMER_REAL, max(left, SHORTEST_SECONDS))
            return
        pytest.fail(f"took more than {self._seconds:g} s in addition to its calls to the runtime")
