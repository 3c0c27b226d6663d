"""How long calls have been under way: time that their own deadlines bound, and that no other limit counts."""

import contextlib
import threading
import time
from collections.abc import Iterator


class UnderWay:
    """Adds up the time in which at least one call is waited for; safe to use from several threads and in a
    signal handler.
    """

    def __init__(self) -> None:
        # a signal handler may look while the same thread is in the middle of `begin` or `end`
        self._lock = threading.RLock()
        self._calls = 0
        self._since = 0.0
        self._before = 0.0

    def begin(self) -> None:
        """Note that a call is waited for."""
        with self._lock:
            if not self._calls:
                self._since = time.perf_counter()
            self._calls += 1

    def end(self) -> None:
        """Note that it is not waited for any more."""
        with self._lock:
            self._calls -= 1
            if not self._calls:
                self._before += time.perf_counter() - self._since

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Count as a call what is waited for inside and is as surely bounded, such as a turn."""
        self.begin()
        try:
            yield
        finally:
            self.end()

    @property
    def calls(self) -> int:
        """How many are waited for now."""
        return self._calls

    @property
    def seconds(self) -> float:
        """How long at least one was waited for, up to now."""
        with self._lock:
            return self._before + (time.perf_counter() - self._since if self._calls else 0.0)
