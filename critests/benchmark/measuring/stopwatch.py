"""A timed window, and the CPU time of this thread in it: a large share means that the client is measured."""

import time
from types import TracebackType
from typing import Self


class Stopwatch:
    """Times the body of a `with`.

    Attributes:
        begin: start on the clock of `time.perf_counter`.
        seconds: its duration; the time so far while it runs.
        thread_cpu_seconds: CPU time of this thread inside the window.
    """

    def __init__(self) -> None:
        self.begin = self.thread_cpu_seconds = 0.0
        self._ended: float | None = None
        self._cpu_begin = 0.0

    @property
    def seconds(self) -> float:
        """The duration so far, or of the whole window."""
        return (time.perf_counter() if self._ended is None else self._ended) - self.begin

    def __enter__(self) -> Self:
        """Begin."""
        self._ended = None
        self._cpu_begin, self.begin = time.thread_time(), time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End."""
        self._ended = time.perf_counter()
        self.thread_cpu_seconds = time.thread_time() - self._cpu_begin
