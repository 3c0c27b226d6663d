import pytest
from hypothesis import given
from hypothesis import strategies as st

from critests.node.wrappers.phases import covered, split
from critests.node.wrappers.stand_in import Invocation


def invocation(begin: float, end: float, container: str = "a") -> Invocation:
    return Invocation("runc", "create", container, begin, end - begin, 0)


def test_split_divides_a_call_into_cni_oci_and_rest() -> None:
    phases = split(
        10,
        5,
        cni=[invocation(10.5, 11.5), invocation(11, 12)],
        oci=[invocation(12.5, 13), invocation(14.5, 17), invocation(0, 10)],
    )
    assert (phases.cni, phases.oci, phases.rest) == pytest.approx((1.5, 1, 2.5))
    assert phases.total == pytest.approx(5)


def test_overlapping_invocations_are_subtracted_from_the_rest_once() -> None:
    phases = split(0, 4, cni=[invocation(0, 2)], oci=[invocation(1, 3)])
    assert (phases.cni, phases.oci, phases.rest) == (2, 2, 1)


def test_invocations_for_other_ids_do_not_count() -> None:
    phases = split(0, 4, cni=[invocation(0, 1, "a"), invocation(1, 3, "b")], ids={"a"})
    assert (phases.cni, phases.rest) == (1, 3)
    assert split(0, 4).rest == 4


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50))), st.integers(0, 50), st.integers(0, 20))
def test_covered_is_the_length_of_the_union_of_intervals(
    intervals: list[tuple[int, int]], begin: int, seconds: int
) -> None:
    assert covered(intervals) == sum(
        any(low <= second < high for low, high in intervals) for second in range(51)
    )
    phases = split(begin, seconds, oci=[invocation(low, high) for low, high in intervals])
    inside = sum(
        any(low <= second < high for low, high in intervals) for second in range(begin, begin + seconds)
    )
    assert (phases.oci, phases.rest) == (inside, seconds - inside)
