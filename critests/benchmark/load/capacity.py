"""The search for the highest rate at which a latency stays under a bound, and the judgement of one step of
it.
"""

import math
from dataclasses import dataclass, field
from enum import StrEnum, unique

from critests.statistics.distributions import binomial_cdf

TAIL = 0.01
"""The share of cycles that may be above the bound: it is p99 that is bounded."""
CERTAINTY = 0.99
"""A step is decided early when chance alone would mislead it in at most one case of a hundred."""
PRECISION = 0.1
"""The search ends when the bracket is no wider than this share of its lower end."""
MOST_STEPS = 16
WIDEST = 1024.0
"""How far from the first rate the search goes, as a factor, in either direction."""


@unique
class Decision(StrEnum):
    """What one step showed."""

    HELD = "held"
    EXCEEDED = "exceeded"
    UNDECIDED = "undecided"
    """Too few samples in the time that a step may take. Above a rate that held it counts as exceeded; else
    the search ends there.
    """


def decide(count: int, above: int, *, last: bool = False) -> Decision:
    """Judge whether p99 is under the bound, by an exact binomial test on the share above it.

    459 samples with none above the bound are enough to say that it held; 3 above it among the first 40 that
    it did not.

    Args:
        count: samples of the step so far, failed cycles and those that are overdue included.
        above: how many of them are above the bound, failed or overdue.
        last: no more samples will come: from 1,000 on, the observed share decides.
    """
    if count and binomial_cdf(above, count, TAIL) <= 1 - CERTAINTY:
        return Decision.HELD
    if count and above and 1 - binomial_cdf(above - 1, count, TAIL) <= 1 - CERTAINTY:
        return Decision.EXCEEDED
    if last and count * TAIL >= 10:
        return Decision.HELD if above <= count * TAIL else Decision.EXCEEDED
    return Decision.UNDECIDED


@dataclass
class Search:
    """Doubles or halves the rate until the bound is bracketed, then bisects the bracket (in logarithms).

    Attributes:
        rate: what to try next, per second.
        held: the highest rate at which the bound held; 0 where none did.
        exceeded: the lowest rate at which it did not; None where none was found.
        steps: what was tried, in order.
    """

    rate: float
    held: float = 0.0
    exceeded: float | None = None
    steps: list[tuple[float, Decision]] = field(default_factory=list)
    _first: float = field(init=False)

    def __post_init__(self) -> None:
        self._first = self.rate

    @property
    def over(self) -> bool:
        """Whether there is nothing more to try."""
        if len(self.steps) >= MOST_STEPS or self._hopeless:
            return True
        if self.held and self.exceeded is not None:
            return self.exceeded / self.held <= 1 + PRECISION
        return not self._first / WIDEST <= self.rate <= self._first * WIDEST

    @property
    def _hopeless(self) -> bool:
        """Whether no lower rate can be decided either, as it has fewer samples in the same time."""
        return bool(self.steps) and not self.held and self.steps[-1][1] is Decision.UNDECIDED

    def tell(self, decision: Decision) -> None:
        """Take what the step at `rate` showed and choose the next rate."""
        self.steps.append((self.rate, decision))
        if decision is Decision.HELD:
            self.held = max(self.held, self.rate)
        else:
            self.exceeded = self.rate if self.exceeded is None else min(self.exceeded, self.rate)
        if self.exceeded is None:
            self.rate *= 2
        elif not self.held:
            self.rate /= 2
        else:
            self.rate = math.sqrt(self.held * self.exceeded)

    def sentence(self, bound: float) -> str:
        """Say what was found.

        Args:
            bound: of p99, in seconds.
        """
        limit = f"p99 of {bound:g} s"
        if not self.steps:
            return f"no rate was tried for {limit}"
        if self._hopeless:
            tried = f"{self.steps[-1][0]:.3g} per second"
            return (
                f"{tried} had too few samples to say whether it kept {limit}: let a step take longer"
                " (--duration)"
            )
        if not self.held:
            return f"even {min(rate for rate, _ in self.steps):.3g} per second did not keep {limit}"
        if self.exceeded is None:
            return f"{self.held:.3g} per second kept {limit}, and no rate was found that did not"
        how = (
            "did not"
            if dict(self.steps)[self.exceeded] is Decision.EXCEEDED
            else "could not be decided in the time of a step"
        )
        return f"{self.held:.3g} per second kept {limit}, {self.exceeded:.3g} per second {how}"
