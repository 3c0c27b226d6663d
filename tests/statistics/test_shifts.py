"""Hodges-Lehmann shifts and corrections against scipy 1.16 (wilcoxon, mannwhitneyu,
false_discovery_control).
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from critests.statistics import benjamini_hochberg, holm
from critests.statistics.shifts import paired_shift, unpaired_shift

# the depression data of Hollander and Wolfe, table 3.1, and the permeability data of table 4.1
BEFORE = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
AFTER = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
TERM = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
EARLY = [1.15, 0.88, 0.90, 0.74, 1.21]


def test_the_paired_shift_is_the_textbook_one() -> None:
    """p from scipy; estimate and interval as in Hollander and Wolfe, examples 3.1 to 3.3."""
    shift = paired_shift(
        [after - before for before, after in zip(BEFORE, AFTER, strict=True)], confidence=0.95
    )

    assert shift.p_value == pytest.approx(0.0390625)
    assert shift.estimate == pytest.approx(-0.46)
    assert shift.interval is not None
    assert (shift.interval.low, shift.interval.high) == pytest.approx((-0.786, -0.010), abs=1e-9)


def test_the_unpaired_shift_is_the_textbook_one() -> None:
    """p from scipy; estimate as in Hollander and Wolfe, example 4.3."""
    shift = unpaired_shift(TERM, EARLY, confidence=0.95)

    assert shift.p_value == pytest.approx(0.2544122544122544)
    assert shift.estimate == pytest.approx(-0.305)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(-50, 50).filter(bool), min_size=6, max_size=14, unique_by=abs))
def test_the_interval_leaves_out_zero_exactly_where_the_test_rejects(differences: list[int]) -> None:
    shift = paired_shift(differences, confidence=0.95)

    assert shift.interval is not None
    assert (0 not in shift.interval) == (shift.p_value <= 0.05)


def test_three_pairs_have_no_interval() -> None:
    shift = paired_shift([1.0, 2.0, 3.0], confidence=0.95)

    assert shift.interval is None
    assert shift.p_value == shift.smallest_p == 0.25


def test_a_shift_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one pair"):
        paired_shift([], confidence=0.95)
    with pytest.raises(ValueError, match="both sides"):
        unpaired_shift([], [1.0], confidence=0.95)


def test_corrections() -> None:
    """Benjamini-Hochberg from scipy; Holm by hand: 4 x 0.005, 3 x 0.01, 2 x 0.03, and never below the one
    before.
    """
    p_values = {"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}

    assert benjamini_hochberg(p_values) == pytest.approx({"a": 0.02, "b": 0.04, "c": 0.04, "d": 0.02})
    assert holm(p_values) == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})
    assert holm({}) == benjamini_hochberg({}) == {}
