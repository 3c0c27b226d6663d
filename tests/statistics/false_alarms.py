"""How often a comparison of equals gives another verdict than "no evidence", and how often a difference is
seen.

`python -m tests.statistics.false_alarms 2000` prints the shares over that many seeded experiments per line;
the tests run fewer.
"""

import sys
from collections import Counter
from collections.abc import Callable

from critests.statistics.comparison import SampleEvidence, compare_blocks, compare_runs, verdicts
from critests.statistics.stopping import FEWEST_BLOCKS, narrow_ratio, next_look
from critests.statistics.verdict import Criteria, Verdict
from tests.statistics.synthetic import blocks, latencies

Experiment = Callable[[int], SampleEvidence]


def in_blocks(
    count: int,
    size: int,
    *,
    memory: float = 0.6,
    spread: float = 0.2,
    ratio: float = 1.0,
    settings: Criteria | None = None,
) -> Experiment:
    """An experiment in blocks on a machine that drifts by half."""
    return lambda seed: compare_blocks(
        blocks(seed, count, size, memory=memory, spread=spread, ratio=ratio), settings or Criteria()
    )


def in_runs(count: int, *, memory: float, ratio: float = 1.0) -> Experiment:
    """An experiment with two separate runs."""
    return lambda seed: compare_runs(
        latencies(2 * seed, count, memory=memory),
        latencies(2 * seed + 1, count, memory=memory, median=0.05 * ratio),
    )


def until_narrow(*, ratio: float = 1.0, spread: float = 0.07, most: int = 160) -> Experiment:
    """An experiment in blocks that ends when the interval is narrow."""

    def experiment(seed: int) -> SampleEvidence:
        made, look = blocks(seed, most, 1, ratio=ratio, spread=spread, memory=0.3), FEWEST_BLOCKS
        while look < most and not narrow_ratio(made[:look]):
            look = next_look(look)
        return compare_blocks(made[:look])

    return experiment


def tally(
    experiment: Experiment, experiments: int, *, operations: int = 1, first_seed: int = 0
) -> Counter[Verdict]:
    """Count the verdicts of so many comparisons of so many operations each."""
    found: Counter[Verdict] = Counter()
    for number in range(experiments):
        start = first_seed + number * operations
        evidence = {str(seed): experiment(seed) for seed in range(start, start + operations)}
        found.update(comparison.verdict for comparison in verdicts(evidence).values())
    return found


EXPERIMENTS: dict[str, tuple[Experiment, int]] = {
    "equal, 1 operation, 30 blocks of 1": (in_blocks(30, 1), 1),
    "equal, 1 operation, 30 blocks of 5, strong memory": (in_blocks(30, 5, memory=0.95), 1),
    "equal, 8 operations, 20 blocks of 1": (in_blocks(20, 1), 8),
    "equal p90, 1 operation, 30 blocks of 5": (in_blocks(30, 5, settings=Criteria(quantile=0.9)), 1),
    "equal p99, 1 operation, 40 blocks of 60": (in_blocks(40, 60, settings=Criteria(quantile=0.99)), 1),
    "equal, 1 operation, blocks until the interval is narrow": (until_narrow(), 1),
    "equal, 2 runs of 100, memory 0.3": (in_runs(100, memory=0.3), 1),
    "equal, 2 runs of 500, memory 0.8": (in_runs(500, memory=0.8), 1),
    "10 % slower, 1 operation, 60 blocks of 1": (in_blocks(60, 1, ratio=1.1), 1),
    "10 % slower, 8 operations, 70 blocks of 1, spread an eighth": (
        in_blocks(70, 1, ratio=1.1, spread=0.125),
        8,
    ),
    "10 % slower, 8 operations, 200 blocks of 1": (in_blocks(200, 1, ratio=1.1), 8),
    "10 % slower, 2 runs of 1000, memory 0.5": (in_runs(1000, memory=0.5, ratio=1.1), 1),
}


def main(experiments: int) -> None:
    """Print the shares of the verdicts of every kind of experiment."""
    for name, (experiment, operations) in EXPERIMENTS.items():
        found = tally(experiment, max(1, experiments // operations), operations=operations)
        shares = ", ".join(f"{verdict} {found[verdict] / found.total():.2%}" for verdict in Verdict)
        sys.stdout.write(f"{name}: {shares}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
