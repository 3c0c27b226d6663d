"""A test's own time is limited, its calls' time is not; nothing ends a test outside its phases."""

import threading
import time

import pytest

from critests.client.under_way import UnderWay
from critests.record.reasons import ReasonCode
from critests.run.outcomes import Blocked, TimeLimitExceeded
from critests.run.time_limit import SHORTEST_SECONDS, TimeLimit


def test_a_test_that_does_not_end_is_ended() -> None:
    limit = TimeLimit(0.1, UnderWay())
    try:
        with pytest.raises(TimeLimitExceeded, match=r"0\.1 s"), limit.phase():
            threading.Event().wait(30)
    finally:
        limit.lift()


def test_a_call_under_way_is_not_ended() -> None:
    under_way = UnderWay()
    limit = TimeLimit(0.1, under_way)
    try:
        with limit.phase():
            under_way.begin()
            threading.Event().wait(0.5)
            under_way.end()
            with pytest.raises(TimeLimitExceeded, match=r"0\.1 s"):
                threading.Event().wait(30)
    finally:
        limit.lift()


def test_a_limit_ends_the_next_phase_and_no_hook_between_phases() -> None:
    limit = TimeLimit(0.01, UnderWay())
    try:
        time.sleep(3 * SHORTEST_SECONDS)  # as in a hook, where an exception would end pytest
        with pytest.raises(TimeLimitExceeded), limit.phase():
            threading.Event().wait(30)
    finally:
        limit.lift()


def test_the_end_of_the_run_cuts_a_test_during_a_call_once() -> None:
    under_way = UnderWay()
    limit = TimeLimit(60, under_way, cut_at=time.monotonic() + 0.1)
    under_way.begin()
    try:
        with pytest.raises(Blocked) as cut, limit.phase():
            threading.Event().wait(30)
        with limit.phase():  # the teardown
            time.sleep(3 * SHORTEST_SECONDS)
    finally:
        limit.lift()
    assert cut.value.why.code is ReasonCode.TIME_LIMIT


def test_nothing_is_left_of_a_limit() -> None:
    limit = TimeLimit(0.01, UnderWay())
    limit.lift()

    with limit.phase():
        time.sleep(0.1)  # nothing to wait for: it must not strike
