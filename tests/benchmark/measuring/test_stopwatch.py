"""A window of the client's own, and what of it was the client's work."""

import time

import pytest

from critests.benchmark.measuring.operation_results import result_of
from critests.benchmark.measuring.stopwatch import Stopwatch
from tests.benchmark.fakes import bench, new_meter


def busy(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


def test_waiting_is_not_work_of_the_client() -> None:
    with Stopwatch() as waiting:
        time.sleep(0.05)
    with Stopwatch() as working:
        busy(0.05)

    assert waiting.seconds >= 0.05 > waiting.thread_cpu_seconds
    assert working.thread_cpu_seconds >= 0.05


def test_a_running_window_has_a_duration() -> None:
    with Stopwatch() as watch:
        first = watch.seconds
        assert watch.seconds >= first > 0


class Clocks:
    """The machine's clocks, as they are where this thread alone has a processor."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._waited, self._worked = 100.0, 10.0
        monkeypatch.setattr(time, "perf_counter", lambda: self._waited + self._worked)
        monkeypatch.setattr(time, "thread_time", lambda: self._worked)

    def work(self, seconds: float) -> None:
        self._worked += seconds

    def wait(self, seconds: float) -> None:
        self._waited += seconds


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> Clocks:
    return Clocks(monkeypatch)


@pytest.mark.parametrize(("own", "bound"), [(0.05, True), (0.0, False)], ids=["working", "waiting"])
def test_a_window_has_the_client_share(clocks: Clocks, own: float, bound: bool) -> None:
    made = bench()
    meter = made.meter(made.target)
    for _ in range(8):
        with Stopwatch() as watch:
            clocks.work(own)
            clocks.wait(0 if own else 0.01)
        meter.add_window("echo", watch)

    made.add_results(meter, headline="echo", stopped="done")

    (result,) = made.operations
    assert result.client_bound is bound
    assert result.client_seconds is not None
    assert (result.client_seconds > 0.04) is bound


def test_a_rate_of_the_client_s_own_is_marked_as_well(clocks: Clocks) -> None:
    meter = new_meter()
    for _ in range(3):
        with Stopwatch() as watch:
            clocks.work(0.02)
        meter.add_window("output", watch, size=1000)

    series = meter.series["output"]
    assert (series.unit, series.better) == ("B/s", "higher")
    assert result_of(series, client_share=meter.client_share("output")).client_bound
    assert result_of(series, client_share=meter.client_share("output")).client_seconds is None
    assert meter.client_share("another") is None
