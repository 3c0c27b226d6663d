"""Warm-up, stopping, change points and trends: on series whose truth is known."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from critests.statistics.change_points import best_split, change_points
from critests.statistics.stationarity import Steadiness, warm_up
from critests.statistics.stopping import PrecisionPlan, Stop, decide
from critests.statistics.trend import trend
from tests.statistics.synthetic import latencies

NIGHTS = 365


# warm-up


def test_a_steady_series_has_almost_no_warm_up() -> None:
    found = [warm_up(latencies(seed, 400, memory=0.3)) for seed in range(60)]

    assert sum(item.steadiness is Steadiness.STEADY for item in found) >= 55
    assert sorted(item.samples for item in found)[30] <= 40


def test_the_end_of_a_decaying_warm_up_is_found() -> None:
    found = [
        warm_up([value * (1 + 2 * math.exp(-index / 20)) for index, value in enumerate(latencies(seed, 400))])
        for seed in range(30)
    ]

    assert all(30 <= item.samples <= 200 for item in found)
    assert sum(item.steadiness is Steadiness.STEADY for item in found) >= 27


def test_the_end_of_a_step_is_found() -> None:
    found = warm_up([value * (2 if index < 60 else 1) for index, value in enumerate(latencies(1, 400))])

    assert found.steadiness is Steadiness.STEADY
    assert 60 <= found.samples <= 75


@pytest.mark.parametrize(
    "shape",
    [lambda index: 1 + index / 200, lambda index: 1.5 if index > 300 else 1],
    ids=["grows", "late step"],
)
def test_a_series_that_is_never_steady_is_reported(shape: Callable[[int], float]) -> None:
    found = [
        warm_up([value * shape(index) for index, value in enumerate(latencies(seed, 400))])
        for seed in range(20)
    ]

    assert sum(item.steadiness is Steadiness.NEVER_STEADY for item in found) >= 18


def test_few_samples_have_no_known_warm_up() -> None:
    assert warm_up([1.0] * 39).steadiness is Steadiness.TOO_SHORT
    assert warm_up([1.0] * 40).samples == 0


# stopping


def test_sampling_stops_once_the_interval_of_the_median_is_narrow() -> None:
    series, plan = latencies(3, 20_000, memory=0.3), PrecisionPlan(seconds=60, relative_half_width=0.03)

    count = 1
    while (decision := decide(series[:count], 0.0, plan)).stop is Stop.NOT_YET:
        count = decision.check_again_at

    assert decision.stop is Stop.PRECISE
    assert 100 < count < 1500


@pytest.mark.parametrize(
    ("elapsed", "most", "stop"), [(9, 100, Stop.OUT_OF_TIME), (1, 50, Stop.OUT_OF_SAMPLES)]
)
def test_a_budget_ends_sampling_and_is_named(elapsed: float, most: int, stop: Stop) -> None:
    assert (
        decide(latencies(1, 50, spread=1.0), elapsed, PrecisionPlan(seconds=9, most_samples=most)).stop
        is stop
    )


def test_a_tail_is_not_precise_before_it_is_supported() -> None:
    decision = decide([1.0] * 999, 0.0, PrecisionPlan(seconds=60, quantile=0.99))

    assert (decision.stop, decision.check_again_at) == (Stop.NOT_YET, 1000)
    assert decide([1.0] * 1000, 0.0, PrecisionPlan(seconds=60, quantile=0.99)).stop is Stop.PRECISE


@given(st.integers(0, 3000), st.sampled_from([0.5, 0.9, 0.99]))
@settings(max_examples=20, deadline=None)
def test_the_next_check_has_more_samples(count: int, at: float) -> None:
    decision = decide(
        latencies(1, count), 0.0, PrecisionPlan(seconds=60, quantile=at, relative_half_width=1e-6)
    )

    assert count < decision.check_again_at <= max(2 * count, 1000)


@pytest.mark.parametrize(("seconds", "width"), [(-1.0, 0.1), (1.0, 0.0)])
def test_a_plan_out_of_range_is_rejected(seconds: float, width: float) -> None:
    with pytest.raises(ValueError, match="a plan has"):
        PrecisionPlan(seconds=seconds, relative_half_width=width)


# change points


def test_steps_in_a_year_of_nightly_runs_are_located_exactly() -> None:
    levels = (1.0, 1.15, 0.9)
    series = [value * levels[index // 122] for index, value in enumerate(latencies(2, NIGHTS, spread=0.05))]

    found = change_points(series, seed=1)

    assert [point.index for point in found] == pytest.approx([122, 244], abs=2)
    assert found[0].ratio == pytest.approx(1.15, rel=0.05)
    assert found[0].after == found[1].before
    assert all(point.p_value <= 0.01 for point in found)


def test_noise_rarely_has_a_change_point() -> None:
    assert sum(bool(change_points(latencies(seed, 60), seed=1)) for seed in range(40)) <= 1


def test_an_outlier_is_not_a_change() -> None:
    series = latencies(4, 100, spread=0.05)
    series[50] *= 5

    assert change_points(series, seed=1) == []


def test_the_same_seed_gives_the_same_result() -> None:
    series = [value * (1.05 if index > 30 else 1) for index, value in enumerate(latencies(5, 60, spread=0.1))]

    assert change_points(series, seed=7) == change_points(series, seed=7)


@pytest.mark.parametrize(
    "series", [[], [1.0], [1.0] * 30, [0.0] * 15], ids=["nothing", "one", "constant", "zeros"]
)
def test_series_without_a_change(series: list[float]) -> None:
    assert change_points(series, seed=1) == []


def test_a_change_from_zero_has_no_ratio() -> None:
    (point,) = change_points([0.0] * 10 + [1.0] * 10, seed=1)

    assert (point.index, point.before, point.after, point.ratio) == (10, 0.0, 1.0, None)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=4, max_size=12))
def test_the_split_is_that_of_the_definition(values: list[int]) -> None:
    def mean_distance(left: list[int], right: list[int]) -> float:
        return sum(abs(one - other) for one in left for other in right) / (len(left) * len(right))

    def within(part: list[int]) -> float:
        return mean_distance(part, part) * len(part) / (len(part) - 1)

    def scaled(index: int) -> float:
        left, right = values[:index], values[index:]
        return (
            (2 * mean_distance(left, right) - within(left) - within(right))
            * len(left)
            * len(right)
            / len(values)
        )

    index, distance = best_split(np.abs(np.subtract.outer(values, values)))

    assert distance == pytest.approx(max(scaled(at) for at in range(2, len(values) - 1)))
    assert scaled(index) == pytest.approx(distance)


# trend


def test_autocorrelation_without_growth_is_rarely_called_a_leak() -> None:
    found = [trend(range(80), latencies(seed, 80, memory=0.6)) for seed in range(60)]

    assert sum(item.grows for item in found) <= 2


def test_a_leak_is_detected_in_the_noise_of_a_garbage_collector() -> None:
    """Half a per mille per cycle under deviations of a fifth, over 1,500 cycles."""
    leaking = [value * (1 + 0.0005 * cycle) for cycle, value in enumerate(latencies(9, 1500, memory=0.6))]

    found = trend(range(1500), leaking)

    assert found.grows
    assert found.slope == pytest.approx(0.0005 * 0.05, rel=0.3)


def test_five_points_have_no_trend() -> None:
    with pytest.raises(ValueError, match="at least 6"):
        trend(range(5), [1.0, 2.0, 3.0, 4.0, 5.0])


def test_a_constant_series_has_no_trend() -> None:
    found = trend(range(20), [5.0] * 20)

    assert (found.slope, found.grows) == (0.0, False)
