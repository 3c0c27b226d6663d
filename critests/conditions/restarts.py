"""The condition `restarts`: at which calls of a test the daemon is killed and started again."""

import random
from dataclasses import dataclass, field
from typing import Final

CHANCE: Final = 0.25
"""Of a restart before a call: most tests make four to ten calls, so most have one, at any of their calls."""


@dataclass
class RestartDraws:
    """Draws the restart of each test, at most one, from the seed and the test's name: a test that is repeated
    alone has it at the same place.
    """

    seed: int
    _draws: random.Random = field(default_factory=random.Random, init=False)
    _calls: int = field(default=0, init=False)
    _done: bool = field(default=True, init=False)

    def test_begins(self, test: str) -> None:
        """Draw for a test."""
        self._draws = random.Random(f"{self.seed} {test}")  # noqa: S311 - repeatable, no secret
        self._calls, self._done = 0, False

    def is_due(self) -> bool:
        """Whether the daemon is to be restarted before the next call; never before the first."""
        self._calls += 1
        if self._done or self._calls == 1:
            return False
        self._done = self._draws.random() < CHANCE
        return self._done

    def over(self) -> None:
        """Let no restart happen until the next test."""
        self._done = True
