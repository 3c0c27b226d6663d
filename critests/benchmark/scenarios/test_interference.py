"""Interference: the container lifecycle next to a neighbour that exhausts one resource of the machine."""

import contextlib

from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.scenarios.busy_pods import NEIGHBOURS, NO_NEIGHBOUR
from critests.benchmark.scenarios.workloads import container_lifecycle
from critests.record.operations import OperationResult

HEADLINE = "create and start"
TAIL = 0.9
"""p90 needs 100 samples; a neighbour's share of the time is too short for the 1,000 of p99."""


@scenario("B-37")
def test_interference(bench: Bench) -> None:
    """The container lifecycle without a neighbour, and next to one that exhausts CPU, memory, disk or
    network; with two sides, each has a neighbour at the same time.
    """
    part = bench.seconds / len(NEIGHBOURS)
    for name, neighbour in NEIGHBOURS.items():
        with contextlib.ExitStack() as stack:
            for target in bench.targets:
                stack.enter_context(neighbour(target))
            bench.sample(
                container_lifecycle,
                headline=HEADLINE,
                dimensions={"neighbour": name},
                seconds=part,
                quantile=TAIL,
            )
    for sentence in degradation(bench.operations):
        bench.remark(sentence)


def degradation(operations: list[OperationResult]) -> list[str]:
    """Return sentences with the slowdown of the headline next to each neighbour, by median and tail."""
    by_neighbour = {(each.side, each.dimensions["neighbour"]): each for each in operations if each.headline}
    sentences = []
    for (side, name), result in by_neighbour.items():
        alone = by_neighbour.get((side, NO_NEIGHBOUR))
        if name == NO_NEIGHBOUR or alone is None:
            continue
        factors = [
            f"{result.quantiles[level].value / alone.quantiles[level].value:.1f} times ({words})"
            for level, words in (("0.5", "median"), ("0.9", "p90"))
            if level in result.quantiles and level in alone.quantiles
        ]
        if factors:
            prefix = f"side {side}: " if side else ""
            sentences.append(
                f"{prefix}with the neighbour “{name}”, {HEADLINE} takes {' and '.join(factors)}"
                " as long as alone"
            )
    return sentences
