"""Limits on the time of a test and of a whole run, as a plugin of pytest.

A test's limit counts the time outside its calls to the runtime, each of which has a deadline: a call that
hangs ends with DEADLINE_EXCEEDED, and only the test code can exceed the limit.
"""

import signal
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

import pytest

from critests.catalogue.words import Level
from critests.client.under_way import UnderWay
from critests.record.reasons import Reason, ReasonCode
from critests.run.items import is_ours, judged_by, scenario_of
from critests.run.outcomes import Blocked, TimeLimitExceeded
from critests.run.suite_session import SuiteSession

SHORTEST_SECONDS: Final = 0.05
"""Least time to the next look, also while a call is under way: setitimer(2) stops the timer at 0."""
CUT_SECONDS: Final = 10.0
"""How long a test may go on after the time limit of the run, before it is cut."""


class TimeLimit:
    """A limit on one test, by SIGALRM; for the main thread only. It applies inside `phase` only, because an
    exception anywhere else would end pytest.

    Args:
        seconds: how long the test may take outside its calls.
        under_way: the calls of this process.
        cut_at: when the test is cut, also during a call, on the monotonic clock; None for never.
    """

    def __init__(self, seconds: float, under_way: UnderWay, cut_at: float | None = None) -> None:
        self._seconds = seconds
        self._under_way = under_way
        self._cut_at = cut_at
        self._in_phase = False
        self._begun, self._calls_before = time.perf_counter(), under_way.seconds
        self._handler_before = signal.signal(signal.SIGALRM, self._look)
        self._set_timer()

    def lift(self) -> None:
        """End the limit."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, self._handler_before)

    @contextmanager
    def phase(self) -> Iterator[None]:
        """Apply the limit inside a `with`: the set-up, call or teardown of the test."""
        self._in_phase = True
        try:
            yield
        finally:
            self._in_phase = False

    def _left(self) -> float:
        calls = self._under_way.seconds - self._calls_before
        return self._seconds - (time.perf_counter() - self._begun - calls)

    def _set_timer(self) -> None:
        left = self._left() if self._cut_at is None else min(self._left(), self._cut_at - time.monotonic())
        signal.setitimer(signal.ITIMER_REAL, max(left, SHORTEST_SECONDS))

    def _look(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self._in_phase and self._cut_at is not None and time.monotonic() >= self._cut_at:
            self._cut_at = None  # the teardown may remove what the test created
            self._set_timer()
            raise Blocked(why=Reason(code=ReasonCode.TIME_LIMIT))
        if self._under_way.calls or self._left() > 0 or not self._in_phase:
            self._set_timer()
            return
        raise TimeLimitExceeded(self._seconds)


class TimeLimits:
    """Applies the limits in one process.

    Args:
        session: the suite in this process.
    """

    def __init__(self, session: SuiteSession) -> None:
        self._session = session
        self._limit: TimeLimit | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        """Begin no test of the suite after the time limit of the run."""
        if not self._session.settings.time_limit or not is_ours(item):
            return None
        if not self._session.begin().is_over:
            return None
        self._session.not_begun += 1
        aspect = judged_by(item).aspect
        is_must = aspect is None or aspect.level is Level.MUST
        self._session.musts_not_begun += is_must and not scenario_of(item)
        return True

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_timeout_set_timer(self, item: pytest.Item, settings: Any) -> bool | None:  # noqa: ANN401 - pytest-timeout's own
        """Enforce the time limit of the suite's tests with `TimeLimit`, which does not count calls."""
        if not is_ours(item) or scenario_of(item) or settings.method != "signal":
            return None
        context = self._session.context
        end = context.no_test_after if context else None
        under_way = self._session.recorder.under_way
        self._limit = TimeLimit(settings.timeout, under_way, end + CUT_SECONDS if end is not None else None)
        return True

    @pytest.hookimpl(tryfirst=True, optionalhook=True)
    def pytest_timeout_cancel_timer(self) -> bool | None:
        """Cancel the time limit."""
        if self._limit is None:
            return None
        self._limit.lift()
        self._limit = None
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, object, object]:
        """Apply the limit to the set-up of a test."""
        return (yield from self._limited())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, object, object]:
        """Apply the limit to the call of a test."""
        return (yield from self._limited())

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, object, object]:
        """Apply the limit to the teardown of a test."""
        return (yield from self._limited())

    def _limited(self) -> Generator[None, object, object]:
        if self._limit is None:
            return (yield)
        with self._limit.phase():
            return (yield)
