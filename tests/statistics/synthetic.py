"""Synthetic latencies, seeded: lognormal, with neighbours that resemble each other, drift and outliers, as a
busy machine gives them.
"""

import math
import random
from collections.abc import Iterator

from critests.statistics.comparison import Block


def latencies(
    seed: int, count: int, *, memory: float = 0.0, spread: float = 0.2, median: float = 0.05
) -> list[float]:
    """A stationary lognormal series whose logarithms are autoregressive: each keeps the share `memory` of its
    neighbour's deviation.
    """
    steps = _deviations(random.Random(seed), memory, spread)  # noqa: S311 - repeatable, not secret
    return [median * math.exp(next(steps)) for _ in range(count)]


def blocks(
    seed: int,
    count: int,
    size: int,
    *,
    memory: float = 0.6,
    spread: float = 0.2,
    ratio: float = 1.0,
    drift: float = 0.5,
) -> list[Block]:
    """Blocks with the sides in random order on a machine that drifts by `drift` over the whole; B takes
    `ratio` times as long as A.
    """
    source = random.Random(seed)  # noqa: S311 - repeatable, not secret
    steps = _deviations(source, memory, spread)
    made = []
    for number in range(count):
        level = 0.05 * (1 + drift * number / count)
        sides: list[list[float]] = [[], []]
        for side in source.sample((0, 1), 2):
            factor = level * (ratio if side else 1.0)
            sides[side] = [factor * math.exp(next(steps)) for _ in range(size)]
        made.append(Block(*sides))
    return made


def _deviations(source: random.Random, memory: float, spread: float) -> Iterator[float]:
    fresh = spread * math.sqrt(1 - memory * memory)
    value = source.gauss(0, spread)
    while True:
        yield value
        value = memory * value + source.gauss(0, fresh) + (0.5 if source.random() < 0.01 else 0.0)
