"""Warm-up, stopping, change points and trends: on series whose truth is known, and against scipy 1.16
(theilslopes, kendalltau).
"""

import itertools
import math
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from critests.statistics import (
    Plan,
    Steadiness,
    Stop,
    change_points,
    collect,
    decide,
    mann_kendall,
    trend,
    warm_up,
)
from critests.statistics.change_points import best_split
from tests.statistics.synthetic import latencies

NIGHTS = 365


# warm-up


def test_a_steady_series_has_hardly_a_warm_up() -> None:
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
def test_what_never_becomes_steady_is_called_so(shape: Callable[[int], float]) -> None:
    found = [
        warm_up([value * shape(index) for index, value in enumerate(latencies(seed, 400))])
        for seed in range(20)
    ]

    assert sum(item.steadiness is Steadiness.NEVER_STEADY for item in found) >= 18


def test_few_samples_tell_nothing_about_a_warm_up() -> None:
    assert warm_up([1.0] * 39).steadiness is Steadiness.TOO_SHORT
    assert warm_up([1.0] * 40).samples == 0
    with pytest.raises(ValueError, match="tolerance"):
        warm_up([1.0], tolerance=-1)


# stopping


def test_sampling_stops_once_the_median_is_sharp() -> None:
    series = iter(latencies(3, 20_000, memory=0.3))

    samples, decision = collect(lambda: next(series), Plan(seconds=60, relative_half_width=0.03))

    assert decision.stop is Stop.SHARP
    assert decision.interval is not None
    assert decision.estimate is not None
    assert (decision.interval.high - decision.interval.low) / 2 <= 0.03 * decision.estimate
    assert 100 < len(samples) < 1500


def test_the_time_budget_ends_sampling_and_is_named() -> None:
    clock = itertools.count()

    samples, decision = collect(
        lambda: 1.0 + len(str(next(clock))), Plan(seconds=9), clock=lambda: float(next(clock))
    )

    assert decision.stop is Stop.OUT_OF_TIME
    assert decision.estimate is None
    assert 1 <= len(samples) <= 5


def test_the_sample_budget_ends_sampling_and_is_named() -> None:
    series = iter(latencies(1, 100, spread=1.0))

    samples, decision = collect(lambda: next(series), Plan(seconds=60, most_samples=50))

    assert decision.stop is Stop.OUT_OF_SAMPLES
    assert len(samples) == 50
    assert decision.interval is not None


def test_a_tail_is_not_called_sharp_before_it_is_supported() -> None:
    decision = decide([1.0] * 999, 0.0, Plan(seconds=60, quantile=0.99))

    assert (decision.stop, decision.estimate, decision.check_again_at) == (Stop.NOT_YET, None, 1000)
    assert decide([1.0] * 1000, 0.0, Plan(seconds=60, quantile=0.99)).stop is Stop.SHARP


@given(st.integers(0, 3000), st.sampled_from([0.5, 0.9, 0.99]))
@settings(max_examples=20, deadline=None)
def test_the_next_check_always_lies_ahead(count: int, at: float) -> None:
    decision = decide(latencies(1, count), 0.0, Plan(seconds=60, quantile=at, relative_half_width=1e-6))

    assert count < decision.check_again_at <= max(2 * count, 1000)


@pytest.mark.parametrize(("seconds", "width"), [(-1.0, 0.1), (1.0, 0.0)])
def test_a_plan_out_of_range_is_refused(seconds: float, width: float) -> None:
    with pytest.raises(ValueError, match="a plan has"):
        Plan(seconds=seconds, relative_half_width=width)


# change points


def test_steps_over_a_year_are_found_to_the_night() -> None:
    levels = (1.0, 1.15, 0.9)
    series = [value * levels[index // 122] for index, value in enumerate(latencies(2, NIGHTS, spread=0.05))]

    found = change_points(series, seed=1)

    assert [point.index for point in found] == pytest.approx([122, 244], abs=2)
    assert found[0].ratio == pytest.approx(1.15, rel=0.05)
    assert found[0].after == found[1].before
    assert all(point.p_value <= 0.01 for point in found)


def test_noise_has_hardly_a_change_point() -> None:
    assert sum(bool(change_points(latencies(seed, 60), seed=1)) for seed in range(40)) <= 1


def test_one_odd_night_is_no_change() -> None:
    series = latencies(4, 100, spread=0.05)
    series[50] *= 5

    assert change_points(series, seed=1) == []


def test_the_same_seed_gives_the_same_answer() -> None:
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


def test_permutations_that_can_show_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="permutations cannot show"):
        change_points([1.0], seed=1, permutations=50)
    with pytest.raises(ValueError, match="cannot be split"):
        best_split([1.0, 2.0, 3.0])


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

    index, distance = best_split(values)

    assert distance == pytest.approx(max(scaled(at) for at in range(2, len(values) - 1)))
    assert scaled(index) == pytest.approx(distance)


# trend


def test_slope_and_interval_are_those_of_scipy() -> None:
    """scipy.stats.theilslopes(values, range(10), 0.95)."""
    values = [2.0, 2.4, 1.9, 3.1, 3.0, 3.6, 3.3, 4.4, 9.0, 4.6]

    found = trend(range(10), values, confidence=0.95, autocorrelated=False)

    assert found.slope == pytest.approx(0.3428571428571429)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((0.25, 0.5666666666666668))
    assert found.grows


def test_the_kendall_score_is_the_textbook_one() -> None:
    """tau = 35/45 as scipy.stats.kendalltau; variance n (n - 1) (2 n + 5) / 18 = 125; p by the normal with
    continuity correction.
    """
    found = mann_kendall([2.0, 2.4, 1.9, 3.1, 3.0, 3.6, 3.3, 4.4, 9.0, 4.6], autocorrelated=False)

    assert found.score == 35
    assert found.deviation == pytest.approx(math.sqrt(125))
    assert found.p_value == pytest.approx(0.00235, abs=2e-5)


def test_ties_count_for_neither_side() -> None:
    found = mann_kendall([1.0, 1.0, 2.0, 2.0, 3.0], autocorrelated=False)

    assert found.score == 8
    assert found.deviation == pytest.approx(math.sqrt((5 * 4 * 15 - 2 * 2 * 1 * 9) / 18))


def test_wandering_without_growth_is_hardly_called_a_leak() -> None:
    found = [trend(range(80), latencies(seed, 80, memory=0.6)) for seed in range(60)]

    assert sum(item.grows for item in found) <= 2


def test_a_leak_is_seen_under_the_noise_of_a_collector() -> None:
    """Half a per mille per cycle under deviations of a fifth, over 1,500 cycles."""
    leaking = [value * (1 + 0.0005 * cycle) for cycle, value in enumerate(latencies(9, 1500, memory=0.6))]

    found = trend(range(1500), leaking)

    assert found.grows
    assert found.slope == pytest.approx(0.0005 * 0.05, rel=0.3)
    assert found.points == 300


@pytest.mark.parametrize(
    ("positions", "values"),
    [([1, 2, 3], [1.0, 2.0, 3.0]), ([1, 2], [1.0]), ([1, 1, 2, 3], [1.0, 2.0, 3.0, 4.0])],
    ids=["few", "odd", "back"],
)
def test_a_trend_without_time_is_refused(positions: list[float], values: list[float]) -> None:
    with pytest.raises(ValueError, match="trend needs"):
        trend(positions, values)


def test_a_constant_series_has_no_trend() -> None:
    found = trend(range(20), [5.0] * 20)

    assert (found.slope, found.p_value, found.grows) == (0.0, 1.0, False)
