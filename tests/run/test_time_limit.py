"""A test's own time is limited, its calls' time is not."""

import threading
import time

import pytest

from critests.client.under_way import UnderWay
from critests.run.time_limit import TimeLimit


def test_a_test_that_does_not_end_is_ended() -> None:
    limit = TimeLimit(0.1, UnderWay())
    try:
        with pytest.raises(pytest.fail.Exception, match=r"took more than 0\.1 s"):
            threading.Event().wait(30)
    finally:
        limit.lift()


def test_a_call_under_way_is_not_ended() -> None:
    under_way = UnderWay()
    limit = TimeLimit(0.1, under_way)
    try:
        under_way.begin()
        threading.Event().wait(0.5)
        under_way.end()
        with pytest.raises(pytest.fail.Exception, match=r"took more than 0\.1 s"):
            threading.Event().wait(30)
    finally:
        limit.lift()


def test_nothing_is_left_of_a_limit() -> None:
    TimeLimit(0.01, UnderWay()).lift()

    time.sleep(0.05)  # nothing to wait for: it must not strike
