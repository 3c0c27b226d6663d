"""The search for the highest rate at which p99 stays under a bound, and the decision on one of its steps."""

import math
from dataclasses import dataclass, field
from enum import StrEnum, unique

from scipy.stats import binom

TAIL = 0.01
"""The share of cycles that may exceed the bound on p99."""
DOUBT = 0.01
"""Significance of the decision on a step with few samples."""
PRECISION = 0.1
"""The search ends when the bracket is no wider than this share of its lower end."""
MOST_STEPS = 16


@unique
class StepResult(StrEnum):
    """The result of one step."""

    HELD = "held"
    EXCEEDED = "exceeded"
    UNDECIDED = "undecided"
    """Too few samples in the time of a step. Above a rate that held it counts as exceeded; otherwise the
    search ends.
    """


def decide(count: int, above: int) -> StepResult:
    """Decide whether p99 is under the bound, by an exact binomial test on the share of samples above it.

    459 samples of which none exceeds the bound prove that it held; 3 of the first 40 above prove that it did
    not.

    Args:
        count: samples of the step, failed cycles included; from 1,000 on the observed share decides if the
            test does not.
        above: how many of them exceed the bound, or failed.
    """
    if count and binom.cdf(above, count, TAIL) <= DOUBT:
        return StepResult.HELD
    if count and above and binom.sf(above - 1, count, TAIL) <= DOUBT:
        return StepResult.EXCEEDED
    if count * TAIL >= 10:
        return StepResult.HELD if above <= count * TAIL else StepResult.EXCEEDED
    return StepResult.UNDECIDED


@dataclass
class Search:
    """Doubles or halves the rate until the bound is bracketed, then bisects the bracket (in logarithms).

    Attributes:
        rate: the next rate to try, per second.
        held: the highest rate at which the bound held; 0 if none did.
        exceeded: the lowest rate at which it did not; None if there is none.
        steps: rates and results so far.
    """

    rate: float
    held: float = 0.0
    exceeded: float | None = None
    steps: list[tuple[float, StepResult]] = field(default_factory=list)

    @property
    def finished(self) -> bool:
        """Whether the search has ended."""
        undecided = bool(self.steps) and not self.held and self.steps[-1][1] is StepResult.UNDECIDED
        bracketed = self.exceeded is not None and self.held > 0 and self.exceeded / self.held <= 1 + PRECISION
        return bracketed or undecided or len(self.steps) >= MOST_STEPS

    def add(self, decision: StepResult) -> None:
        """Add the result of the step at `rate` and choose the next rate."""
        self.steps.append((self.rate, decision))
        if decision is StepResult.HELD:
            self.held = max(self.held, self.rate)
        else:
            self.exceeded = min(self.exceeded or math.inf, self.rate)
        if self.exceeded is None:
            self.rate *= 2
        else:
            self.rate = math.sqrt(self.held * self.exceeded) if self.held else self.rate / 2

    def sentence(self, bound: float) -> str:
        """Return the result of the search as a sentence; `bound` of p99 in seconds."""
        if self.held and self.exceeded is not None:
            return (
                f"p99 stays under {bound:g} s at {self.held:.3g} per second, and not at {self.exceeded:.3g}"
            )
        if self.held:
            return f"p99 stays under {bound:g} s at {self.held:.3g} per second, the highest rate tried"
        tried = min((rate for rate, _ in self.steps), default=self.rate)
        return f"p99 was not shown to stay under {bound:g} s at any rate from {tried:.3g} per second on"
