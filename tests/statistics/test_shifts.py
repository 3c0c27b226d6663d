"""Shifts with their tests and intervals: against textbooks, and counted by hand."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from critests.statistics.corrections import holm
from critests.statistics.shifts import (
    paired_shift,
    rank_sum_critical,
    sign_flip_tails,
    signed_rank_critical,
    unpaired_shift,
)

# the depression data of Hollander and Wolfe, table 3.1, and the permeability data of table 4.1
BEFORE = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
AFTER = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
TERM = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
EARLY = [1.15, 0.88, 0.90, 0.74, 1.21]


def test_the_paired_shift_is_the_textbook_one() -> None:
    """Hollander and Wolfe, examples 3.1 to 3.3."""
    differences = [after - before for before, after in zip(BEFORE, AFTER, strict=True)]

    shift = paired_shift(differences, confidence=0.95)

    assert shift.p_value == pytest.approx(wilcoxon(differences).pvalue)
    assert shift.estimate == pytest.approx(-0.46)
    assert shift.interval is not None
    assert (shift.interval.low, shift.interval.high) == pytest.approx((-0.786, -0.010), abs=1e-9)


def test_the_unpaired_shift_is_the_textbook_one() -> None:
    """Hollander and Wolfe, example 4.3."""
    shift = unpaired_shift(TERM, EARLY, confidence=0.95)

    assert shift.p_value == pytest.approx(0.2544122544122544)
    assert shift.estimate == pytest.approx(-0.305)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-50, 50).filter(bool), min_size=6, max_size=14, unique_by=abs))
def test_the_interval_excludes_zero_exactly_when_the_test_rejects(differences: list[int]) -> None:
    shift = paired_shift(differences, confidence=0.95)

    assert shift.interval is not None
    assert (0 not in shift.interval) == (shift.p_value <= 0.05)


def test_three_pairs_have_no_interval() -> None:
    shift = paired_shift([1.0, 2.0, 3.0], confidence=0.95)

    assert shift.interval is None
    assert shift.p_value == shift.smallest_p == 0.25


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-6, 6), max_size=8))
def test_sign_flips_are_counted_as_by_hand(differences: list[int]) -> None:
    sums = [
        sum(sign * value for sign, value in zip(signs, differences, strict=True))
        for signs in product((-1, 1), repeat=len(differences))
    ]
    seen = sum(differences)

    lower, upper = sign_flip_tails(np.array(differences, dtype=int))

    assert lower == pytest.approx(sum(value <= seen for value in sums) / len(sums))
    assert upper == pytest.approx(sum(value >= seen for value in sums) / len(sums))


@pytest.mark.parametrize(("count", "largest_rejected"), [(5, -1), (6, 0), (10, 8), (20, 52)])
def test_signed_rank_critical_values_are_those_of_the_tables(count: int, largest_rejected: int) -> None:
    """Two-sided 5 % (Wilcoxon's table)."""
    assert signed_rank_critical(count, 0.025) == largest_rejected + 1


@pytest.mark.parametrize(
    ("first", "second", "largest_rejected"), [(3, 3, -1), (5, 5, 2), (8, 10, 17), (20, 20, 127)]
)
def test_rank_sum_critical_values_are_those_of_the_tables(
    first: int, second: int, largest_rejected: int
) -> None:
    """Two-sided 5 % (Mann and Whitney's table)."""
    assert rank_sum_critical(first, second, 0.025) == largest_rejected + 1


def test_holm() -> None:
    """By hand: 4 x 0.005, 3 x 0.01, 2 x 0.03, and never below the one before."""
    p_values = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}

    assert holm(p_values) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})
    assert holm({}) == {}
