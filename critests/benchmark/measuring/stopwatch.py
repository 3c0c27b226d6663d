"""A window of time, and how much of it this thread worked itself: where that is much, what is measured is the
client.
"""

import time
from types import TracebackType
from typing import Self


class Stopwatch:
    """Measures what happens within a `with`.

    Attributes:
        begin: when it began, on the clock of `time.perf_counter`.
        seconds: how long it took; up to now while it is under way.
        own_seconds: processor time that this thread used within.
    """

    def __init__(self) -> None:
        self.begin = self.own_seconds = 0.0
        self._ended: float | None = None
        self._own = 0.0

    @property
    def seconds(self) -> float:
        """How long it took."""
        return (time.perf_counter() if self._ended is None else self._ended) - self.begin

    def __enter__(self) -> Self:
        """Begin."""
        self._ended = None
        self._own, self.begin = time.thread_time(), time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self._ended = time.perf_counter()
        self.own_seconds = time.thread_time() - self._own
