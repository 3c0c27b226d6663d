"""The sentences about the slowdown next to a neighbour."""

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


def test_the_slowdown_is_a_factor() -> None:
    (sentence,) = degradation([result("nobody", 0.1, 0.2), result("disk", 0.15, 0.5)])

    assert sentence == (
        "with the neighbour “disk”, create and start takes 1.5 times (median) and 2.5 times (p90)"
        " as long as alone"
    )


def test_each_side_is_compared_with_itself() -> None:
    (sentence,) = degradation(
        [result("nobody", 0.1, side="a"), result("nobody", 0.2, side="b"), result("disk", 0.4, side="b")]
    )

    assert sentence == (
        "side b: with the neighbour “disk”, create and start takes 2.0 times (median) as long as alone"
    )


def test_without_a_baseline_there_is_no_factor() -> None:
    assert degradation([result("disk", 0.4)]) == []
