"""Interference: what a container's life costs beside a neighbour that uses up one thing of the machine."""

import contextlib

from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.scenarios.busy_pods import NEIGHBOURS, NOBODY
from critests.benchmark.scenarios.workloads import container_lifecycle
from critests.record.operations import OperationResult

HEADLINE = "create and start"
TAIL = 0.9


@scenario("B-37")
def test_interference(bench: Bench) -> None:
    """A container's life with no neighbour, and beside one that uses up processor, memory, disk or network;
    two sides have one each at the same time.
    """
    part = bench.seconds / len(NEIGHBOURS)
    for name, neighbour in NEIGHBOURS.items():
        with contextlib.ExitStack() as held:
            for target in bench.targets:
                held.enter_context(neighbour(target))
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
    """Say how many times as long as alone the headline takes beside each neighbour, by median and tail."""
    found = {(each.side, each.dimensions["neighbour"]): each for each in operations if each.headline}
    said = []
    for (side, name), result in found.items():
        alone = found.get((side, NOBODY))
        if name == NOBODY or alone is None:
            continue
        factors = [
            f"{result.quantiles[level].value / alone.quantiles[level].value:.1f} times ({words})"
            for level, words in (("0.5", "median"), ("0.9", "p90"))
            if level in result.quantiles and level in alone.quantiles
        ]
        if factors:
            whose = f"side {side}: " if side else ""
            said.append(f"{whose}beside {name}, {HEADLINE} takes {' and '.join(factors)} what it takes alone")
    return said
