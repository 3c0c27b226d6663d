"""Quantiles against Python's own and numpy's; intervals against textbook values and by their coverage."""

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critests.statistics import (
    Interval,
    inefficiency,
    quantile,
    quantile_interval,
    samples_needed,
    summarise,
    supported_quantiles,
    supports,
)
from tests.statistics.synthetic import latencies


def test_quantiles_are_those_of_numpy() -> None:
    """numpy.quantile([3, 1, 4, 1, 5, 9, 2, 6], [0.1, 0.5, 0.9]) of numpy 2."""
    assert [quantile([3, 1, 4, 1, 5, 9, 2, 6], at) for at in (0.1, 0.5, 0.9)] == pytest.approx(
        [1.0, 3.5, 6.9]
    )


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30))
def test_deciles_are_those_of_the_standard_library(samples: list[float]) -> None:
    expected = statistics.quantiles(samples, n=10, method="inclusive")

    assert [quantile(samples, number / 10) for number in range(1, 10)] == pytest.approx(expected, abs=1e-6)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30), st.floats(0, 1))
def test_a_quantile_lies_within_the_samples(samples: list[float], at: float) -> None:
    assert min(samples) <= quantile(samples, at) <= max(samples)


@pytest.mark.parametrize(("samples", "at"), [([], 0.5), ([1.0], -0.1), ([1.0], 1.1)])
def test_a_quantile_of_nothing_or_nowhere_is_refused(samples: list[float], at: float) -> None:
    with pytest.raises(ValueError, match="quantile"):
        quantile(samples, at)


def test_the_interval_of_the_median_of_ten_is_the_textbook_one() -> None:
    """The second to the ninth of ten cover the median with probability 1 - 22/1024 (David and Nagaraja,
    7.1).
    """
    interval = quantile_interval(range(1, 11), 0.5)

    assert interval is not None
    assert (interval.low, interval.high) == (2, 9)
    assert interval.confidence == pytest.approx(1 - 22 / 1024)


@pytest.mark.parametrize(("count", "at"), [(5, 0.5), (300, 0.99), (0, 0.5)])
def test_too_few_samples_have_no_interval(count: int, at: float) -> None:
    assert quantile_interval(range(count), at) is None


@pytest.mark.parametrize(("at", "count"), [(0.5, 30), (0.9, 150)])
def test_intervals_cover_the_true_quantile(at: float, count: int) -> None:
    source = random.Random(4)  # noqa: S311 - repeatable, not secret
    intervals = [quantile_interval([source.random() for _ in range(count)], at) for _ in range(300)]

    assert sum(interval is not None and at in interval for interval in intervals) >= 0.93 * 300


def test_dependence_between_neighbours_widens_the_interval() -> None:
    samples = latencies(3, 400, memory=0.8)
    plain = quantile_interval(samples, 0.5)
    honest = quantile_interval(samples, 0.5, inefficiency=inefficiency(samples, 0.5))

    assert plain is not None
    assert honest is not None
    assert honest.low < plain.low < plain.high < honest.high


@pytest.mark.parametrize(
    ("at", "count"),
    [(0.5, 6), (0.75, 13), (0.1, 100), (0.9, 100), (0.95, 200), (0.99, 1000), (0.999, 10_000)],
)
def test_samples_needed(at: float, count: int) -> None:
    assert samples_needed(at) == count
    assert supports(count, at)
    assert not supports(count - 1, at)


def test_no_percentile_beyond_what_the_count_supports() -> None:
    assert supported_quantiles(999) == (0.1, 0.5, 0.9, 0.95)
    assert list(summarise(latencies(1, 150)).quantiles) == [0.1, 0.5, 0.9]


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_inefficiency_of_series_with_memory(memory: float) -> None:
    """For a Gaussian series the indicators below the median correlate by (2 / pi) arcsin(memory ** lag)."""
    expected = 1 + 2 * sum(2 / math.pi * math.asin(memory**lag) for lag in range(1, 200))

    assert inefficiency(latencies(2, 20_000, memory=memory), 0.5) == pytest.approx(expected, rel=0.3)


def test_inefficiency_of_a_constant_is_one() -> None:
    assert inefficiency([1.0] * 100, 0.5) == 1.0


def test_a_summary_says_what_it_knows() -> None:
    summary = summarise([3.0, 1.0, 2.0, 5.0, 4.0, 6.0, 7.0])

    assert (summary.count, summary.minimum, summary.maximum, summary.mean, summary.mad) == (
        7,
        1.0,
        7.0,
        4.0,
        2.0,
    )
    assert summary.quantiles[0.5].value == 4.0
    assert summary.quantiles[0.5].interval == Interval(1.0, 7.0, 1 - 2 / 128)


def test_a_summary_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one sample"):
        summarise([])
