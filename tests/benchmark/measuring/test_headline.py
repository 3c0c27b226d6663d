from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from critests.benchmark.measuring.headline import MeasuredClock, carry, measured_clock
from critests.benchmark.measuring.results import result_of
from critests.record.samples import Series


def series(*values: float) -> Series:
    made = Series(scenario="B-01", operation="Version")
    for number, value in enumerate(values):
        made.add(value, float(number))
    return made


def test_the_clock_passes_one_duration_between_two_readings() -> None:
    clock = MeasuredClock()
    clock.load([0.5, 0.25])
    begin, end = clock(), clock()
    again, last = clock(), clock()
    assert (end - begin, again - end, last - again) == (0.5, 0.0, 0.25)


def test_a_clock_that_is_read_too_often_stands_still() -> None:
    clock = MeasuredClock()
    clock.load([])
    assert clock() == clock()


def test_the_fixture_is_driven_through_every_sample() -> None:
    taken: list[float] = []

    def pedantic(function: Callable[[], None], *, rounds: int, iterations: int) -> None:
        assert iterations == 1
        for _ in range(rounds):
            begin = measured_clock()
            function()
            taken.append(measured_clock() - begin)

    benchmark = SimpleNamespace(extra_info={}, pedantic=pedantic)
    carry(benchmark, [0.5, 0.25, 0.125], {"operation": "Version"})
    assert taken == [0.5, 0.25, 0.125]
    assert benchmark.extra_info == {"operation": "Version"}


def test_a_summary_says_what_the_client_costs() -> None:
    result = result_of(series(*[0.001] * 50), client={"Version": 0.0005}, rpcs=Counter({"Version": 1}))
    assert result.client_seconds == 0.0005
    assert result.client_bound
    assert not result_of(
        series(*[0.01] * 50), client={"Version": 0.0005}, rpcs=Counter({"Version": 1})
    ).client_bound
    assert result_of(series(1.0), client={}, rpcs=Counter({"Version": 1})).client_seconds is None


def test_no_quantile_that_the_samples_do_not_support() -> None:
    assert result_of(series(1.0, 2.0)).quantiles == {}
    assert set(result_of(series(*[1.0 + number / 100 for number in range(60)])).quantiles) >= {"0.5"}
    assert "0.99" not in result_of(series(*[1.0 + number / 100 for number in range(60)])).quantiles


def test_a_series_without_a_success() -> None:
    failed = series()
    failed.add(1.0, 0.0, code="UNKNOWN")
    result = result_of(failed)
    assert (result.count, result.errors, result.mean) == (0, {"UNKNOWN": 1}, None)


def test_what_came_late_is_a_share() -> None:
    loaded = Series(scenario="B-30", operation="latency from intended start")
    for late in (0.0, 0.005, 0.02, 0.5):
        loaded.add(1.0, 0.0, late=late)
    assert result_of(loaded).late_share == pytest.approx(0.5)
