"""Growth is worked out from what a record says of an operation at several numbers of one thing."""

import dataclasses
from collections.abc import Callable

import pytest

from critests.record.operations import OperationResult, QuantileEstimate
from critests.record.units import BYTES, PER_SECOND
from critests.report.facts.operation_growth import counted, growth_differences, growths

NUMBERS = (1, 10, 50, 100, 200)


def at(number: int, value: float, *, of: str = "pods", **changes: object) -> OperationResult:
    """Return an operation with so many things; `changes` replace its fields."""
    made = OperationResult(
        scenario="B-27",
        operation="ListContainers",
        dimensions={of: str(number)},
        count=200,
        mad=value * 0.02,
        mean=value,
        minimum=value * 0.9,
        maximum=value * 1.5,
        quantiles={"0.5": QuantileEstimate(value=value, low=value * 0.99, high=value * 1.01)},
    )
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]  # a test names real fields


def test_a_list_grows_with_the_pods_and_says_what_one_costs() -> None:
    (found,) = growths(at(number, 0.001 + 0.00002 * number) for number in NUMBERS)

    assert (found.name, found.of, found.thing) == ("ListContainers", "pods", "pod")
    assert found.form == "linear"
    assert found.cost.startswith("20.")
    assert "µs per pod (" in found.cost
    assert found.range == "1.02 ms at 1 to 5.00 ms at 200"
    assert found.bends.startswith("exponent 1.0")
    assert found.sentence == f"linear; {found.cost}; {found.range}; {found.bends}"


def test_constant_cost_has_no_growth() -> None:
    (found,) = growths(at(number, 0.001) for number in NUMBERS)

    assert (found.form, found.cost, found.bends) == ("constant", "", "")


def test_nonlinear_growth_has_the_cost_of_the_next_object() -> None:
    (found,) = growths(at(number, 0.002 + 1e-6 * number**2) for number in NUMBERS)

    assert found.worse
    assert "at 200 the next pod costs 400 µs" in found.bends


def test_the_sides_of_an_operation_are_adjacent() -> None:
    operations = [
        at(number, value * number, operation=name, side=side)
        for side, value in (("a", 0.001), ("b", 0.002))
        for name in ("first", "second")
        for number in NUMBERS
    ]

    assert [(each.operation, each.side) for each in growths(operations)] == [
        ("first", "a"),
        ("first", "b"),
        ("second", "a"),
        ("second", "b"),
    ]


def on_both(a: Callable[[int], float], b: Callable[[int], float]) -> list[str]:
    """Return the differences of an operation whose values are those of two curves."""
    operations = [
        at(number, curve(number), side=side) for side, curve in (("a", a), ("b", b)) for number in NUMBERS
    ]
    found = growth_differences(growths(operations), {"a": "containerd", "b": "CRI-O"})
    return [each.sentence for each in found]


def test_different_costs_are_reported_the_lower_one_first() -> None:
    assert on_both(lambda n: 0.002 + 4e-5 * n, lambda n: 0.003 + 1e-5 * n) == [
        "ListContainers: one more pod costs CRI-O 10.0 µs and containerd 40.0 µs"
    ]


def test_insignificant_growth_has_an_upper_bound() -> None:
    (sentence,) = on_both(lambda n: 0.002 + 4e-5 * n, lambda _n: 0.002)

    assert sentence.startswith("ListContainers: one more pod costs CRI-O at most ")
    assert sentence.endswith(" µs and containerd 40.0 µs")


def test_a_falling_curve_costs_nothing() -> None:
    assert on_both(lambda n: 0.002 + 4e-5 * n, lambda n: 0.01 - 4e-5 * n) == [
        "ListContainers: one more pod costs CRI-O nothing and containerd 40.0 µs"
    ]


def test_a_side_that_grows_worse_is_named() -> None:
    (sentence,) = on_both(lambda n: 0.002 + 1e-5 * n, lambda n: 0.002 + 1e-6 * n**2)

    assert sentence.endswith("; CRI-O grows worse than linearly")


def test_equal_costs_are_not_reported() -> None:
    assert on_both(lambda n: 0.002 + 1e-5 * n, lambda n: 0.003 + 1.01e-5 * n) == []
    assert on_both(lambda _n: 0.002, lambda _n: 0.004) == []


def test_only_one_dimension_may_differ() -> None:
    operations = [
        at(number, 0.001 * number, dimensions={"pods": str(number), "handler": handler})
        for handler in ("runc", "crun")
        for number in NUMBERS
    ]

    assert [each.name for each in growths(operations)] == [
        "ListContainers handler=runc",
        "ListContainers handler=crun",
    ]


@pytest.mark.parametrize(
    "operations",
    [
        [at(1, 1.0), at(10, 2.0)],
        [at(number, 1.0, unit=PER_SECOND) for number in NUMBERS],
        [at(number, 1.0, of="concurrency") for number in NUMBERS],
        [at(number, 1.0, dimensions={"output": f"{number} MB"}) for number in NUMBERS],
        [at(number, -1.0, unit=BYTES) for number in NUMBERS],
        [at(number, 1.0, quantiles={}, mean=None) for number in NUMBERS],
        [at(number, 1.0 * number, count=2) for number in NUMBERS],
    ],
    ids=["two numbers", "a rate", "calls at once", "no number", "below nothing", "no sample", "two samples"],
)
def test_operations_without_growth_have_none(operations: list[OperationResult]) -> None:
    assert growths(operations) == []


def test_the_deviation_of_few_samples_is_from_their_spread() -> None:
    """Three restarts have no interval of their median; where they differ widely nothing is claimed."""
    few = [at(number, 1.0, quantiles={}, count=3, mad=None, minimum=0.2, maximum=3.0) for number in NUMBERS]

    (found,) = growths(few)

    assert found.form == "too noisy to decide"


def test_the_deviation_of_three_samples_is_taken_from_their_range() -> None:
    """Two of three lie close together more often than not, and say little about the third."""
    few = [at(number, 1.0, quantiles={}, count=3, mad=0.001, minimum=0.2, maximum=3.0) for number in NUMBERS]

    (found,) = growths(few)

    assert found.form == "too noisy to decide"


def test_a_number_of_concurrent_calls_is_not_a_number_of_objects() -> None:
    assert counted("pods", {"pods": "50"}) == 50
    assert counted("concurrency", {"concurrency": "4"}) is None
    assert counted("pods", {"idle pods": "4"}) is None
    assert counted("written", {"written": "64 MB"}) is None
