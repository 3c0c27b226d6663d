"""Measures how long calls are pending: time that is bounded by their own deadlines, and not counted by other
limits.
"""

import contextlib
import threading
import time
from collections.abc import Iterator


class UnderWay:
    """Adds up the time in which at least one call is pending. Safe in several threads and in a signal
    handler.
    """

    def __init__(self) -> None:
        # a signal handler may run while the same thread is inside `begin` or `end`
        self._lock = threading.RLock()
        self._calls = 0
        self._since = 0.0
        self._before = 0.0

    def begin(self) -> None:
        """Note that a call begins."""
        with self._lock:
            if not self._calls:
                self._since = time.perf_counter()
            self._calls += 1

    def end(self) -> None:
        """Note that a call ends."""
        with self._lock:
            self._calls -= 1
            if not self._calls:
                self._before += time.perf_counter() - self._since

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Count a wait within the context, which has a deadline of its own, like a call."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    @property
    def calls(self) -> int:
        """How many calls are pending."""
        return self._calls

    @property
    def seconds(self) -> float:
        """How long at least one call was pending, so far."""
        with self._lock:
            return self._before + (time.perf_counter() - self._since if self._calls else 0.0)
