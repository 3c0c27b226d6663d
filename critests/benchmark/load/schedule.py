"""The intended starts of an open loop: fixed in advance by rate, distribution and seed, so that a slow
runtime cannot slow down the arrivals.
"""

import random
from collections.abc import Iterable, Iterator
from enum import StrEnum, unique
from itertools import islice, takewhile


@unique
class ArrivalProcess(StrEnum):
    """The distribution of the intended starts of an open loop."""

    CONSTANT = "constant"
    """The same time between any two arrivals."""
    POISSON = "poisson"
    """Independent arrivals, like the requests of many users: exponentially distributed times between them."""


def intended_starts(rate: float, arrivals: ArrivalProcess, seconds: float, seed: int) -> Iterator[float]:
    """Yield the intended starts in ascending order, in seconds from the beginning; the same arguments give
    the same starts.

    Args:
        rate: starts per second on average.
        arrivals: their distribution.
        seconds: no start is at or after this.
        seed: seed of the random times between them.

    Raises:
        ValueError: the rate is not above 0.
    """
    if rate <= 0:
        msg = f"a rate is above 0, not {rate}"
        raise ValueError(msg)
    return takewhile(
        lambda start: start < seconds,
        _constant(rate) if arrivals is ArrivalProcess.CONSTANT else _poisson(rate, seed),
    )


def share(starts: Iterable[float], part: int, parts: int) -> Iterator[float]:
    """Yield the starts of one of several workers: every `parts`-th, beginning with number `part`, counted
    from 0.
    """
    return islice(starts, part, None, parts)


def _constant(rate: float) -> Iterator[float]:
    number = 0
    while True:
        yield number / rate
        number += 1


def _poisson(rate: float, seed: int) -> Iterator[float]:
    generator = random.Random(seed)  # noqa: S311 - a schedule, not a secret
    at = 0.0
    while True:
        at += generator.expovariate(rate)
        yield at
