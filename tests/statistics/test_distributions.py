"""Exact counts against brute force, textbook tables, and values of scipy 1.16 (stats.binom)."""

from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from critests.statistics import distributions
from critests.statistics.distributions import (
    binomial_cdf,
    binomial_quantile,
    rank_sum_critical,
    rank_sum_tails,
    sign_flip_tails,
    signed_rank_critical,
)


@pytest.mark.parametrize(
    ("successes", "trials", "probability", "expected"),
    [
        (3, 10, 0.3, 0.6496107184000002),
        (985, 1000, 0.99, 0.0824123195160892),
        (49_900, 100_000, 0.5, 0.26457864704009904),
        (-1, 10, 0.3, 0.0),
        (10, 10, 0.3, 1.0),
    ],
)
def test_binomial_cdf_is_that_of_scipy(
    successes: int, trials: int, probability: float, expected: float
) -> None:
    assert binomial_cdf(successes, trials, probability) == pytest.approx(expected, rel=1e-9)


def test_binomial_quantile_is_that_of_scipy() -> None:
    assert binomial_quantile(0.025, 1000, 0.99) == 983


@pytest.mark.parametrize(("trials", "probability"), [(-1, 0.5), (5, 1.5)])
def test_binomial_cdf_refuses_what_is_no_distribution(trials: int, probability: float) -> None:
    with pytest.raises(ValueError, match="no binomial distribution"):
        binomial_cdf(0, trials, probability)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-6, 6), max_size=8))
def test_sign_flips_are_counted_as_by_hand(differences: list[int]) -> None:
    sums = [
        sum(sign * value for sign, value in zip(signs, differences, strict=True))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    seen = sum(differences)

    lower, upper = sign_flip_tails(differences)

    assert lower == pytest.approx(sum(value <= seen for value in sums) / len(sums))
    assert upper == pytest.approx(sum(value >= seen for value in sums) / len(sums))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 12), min_size=2, max_size=8), st.data())
def test_rank_sums_are_counted_as_by_hand(ranks: list[int], data: st.DataObject) -> None:
    size = data.draw(st.integers(1, len(ranks) - 1))
    observed = data.draw(st.integers(0, sum(ranks)))
    sums = [sum(chosen) for chosen in combinations(ranks, size)]

    lower, upper = rank_sum_tails(tuple(ranks), size, observed)

    assert lower == pytest.approx(sum(value <= observed for value in sums) / len(sums))
    assert upper == pytest.approx(sum(value >= observed for value in sums) / len(sums))


@pytest.mark.parametrize(("count", "largest_rejected"), [(5, -1), (6, 0), (10, 8), (20, 52)])
def test_signed_rank_critical_values_are_those_of_the_tables(count: int, largest_rejected: int) -> None:
    """Two-sided 5 % (Wilcoxon's table)."""
    assert signed_rank_critical(count, 0.025) == largest_rejected + 1


@pytest.mark.parametrize(
    ("first", "second", "largest_rejected"), [(3, 3, -1), (5, 5, 2), (8, 10, 17), (10, 10, 23), (20, 20, 127)]
)
def test_rank_sum_critical_values_are_those_of_the_tables(
    first: int, second: int, largest_rejected: int
) -> None:
    """Two-sided 5 % (Mann and Whitney's table)."""
    assert rank_sum_critical(first, second, 0.025) == largest_rejected + 1


def test_the_normal_approximation_joins_the_exact_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    ranks = [2 * rank if rank % 3 else -2 * rank for rank in range(1, 61)]
    choice = tuple(range(2, 82, 2))
    exact = sign_flip_tails(ranks), rank_sum_tails(choice, 20, 660)

    monkeypatch.setattr(distributions, "_EXACT_WORK", 0)
    monkeypatch.setattr(distributions, "_EXACT_RANK_SUM", 0)

    assert sign_flip_tails(ranks) == pytest.approx(exact[0], abs=0.002)
    assert rank_sum_tails(choice, 20, 660) == pytest.approx(exact[1], abs=0.002)
