"""What happens at most once in a test, at a place that is drawn."""

import random
from dataclasses import dataclass, field


@dataclass
class OncePerTest:
    """Draws from the seed and the test's name, so that a test that is repeated alone draws the same.

    Attributes:
        seed: of all draws.
        draws: of the running test.
        is_over: whether it has happened, or no test is running.
    """

    seed: int
    draws: random.Random = field(default_factory=random.Random, init=False)
    is_over: bool = field(default=True, init=False)

    def test_begins(self, test: str) -> None:
        """Draw for a test."""
        self.draws = random.Random(f"{self.seed} {test}")  # noqa: S311 - repeatable, no secret
        self.is_over = False

    def over(self) -> None:
        """Let it not happen until the next test."""
        self.is_over = True
