"""How much longer something takes beside a neighbour, in words."""

from critests.benchmark.scenarios.test_interference import degradation
from critests.record.operations import OperationResult, QuantileEstimate


def result(neighbour: str, median: float, tail: float | None = None, side: str = "") -> OperationResult:
    quantiles = {"0.5": QuantileEstimate(value=median)}
    if tail is not None:
        quantiles["0.9"] = QuantileEstimate(value=tail)
    return OperationResult(
        scenario="B-37",
        operation="create and start",
        dimensions={"neighbour": neighbour},
        side=side,
        headline=True,
        quantiles=quantiles,
    )


def test_what_a_neighbour_costs_is_told_as_a_factor() -> None:
    said = degradation([result("nobody", 0.1, 0.2), result("disk", 0.15, 0.5)])

    assert said == [
        "beside disk, create and start takes 1.5 times (median) and 2.5 times (p90) what it takes alone"
    ]


def test_each_side_is_held_against_itself() -> None:
    said = degradation(
        [result("nobody", 0.1, side="a"), result("nobody", 0.2, side="b"), result("disk", 0.4, side="b")]
    )

    assert said == ["side b: beside disk, create and start takes 2.0 times (median) what it takes alone"]


def test_without_a_number_alone_nothing_is_told() -> None:
    assert degradation([result("disk", 0.4)]) == []
