"""Intervals of quantiles against textbook values and by their coverage; what a series supports."""

import math
import random

import pytest

from critests.statistics.autocorrelation import inefficiency
from critests.statistics.quantiles import quantile, quantile_interval, samples_needed, supports
from tests.statistics.synthetic import latencies


@pytest.mark.parametrize(("samples", "at"), [([], 0.5), ([1.0], 1.1)])
def test_an_empty_series_and_an_invalid_quantile_are_rejected(samples: list[float], at: float) -> None:
    with pytest.raises(ValueError, match="uantile"):
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


def test_autocorrelation_widens_the_interval() -> None:
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


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.9])
def test_inefficiency_of_autocorrelated_series(memory: float) -> None:
    """For a Gaussian series the indicators below the median correlate by (2 / pi) arcsin(memory ** lag)."""
    expected = 1 + 2 * sum(2 / math.pi * math.asin(memory**lag) for lag in range(1, 200))

    assert inefficiency(latencies(2, 20_000, memory=memory), 0.5) == pytest.approx(expected, rel=0.3)


def test_inefficiency_of_a_constant_is_one() -> None:
    assert inefficiency([1.0] * 100, 0.5) == 1.0
