"""The condition `restarts`: at which calls of a test the daemon is killed and started again."""

from dataclasses import dataclass, field
from typing import Final

from critests.conditions.once_per_test import OncePerTest

CHANCE: Final = 0.25
"""Of a restart before a call: most tests make four to ten calls, so most have one, at any of their calls."""


@dataclass
class RestartDraws(OncePerTest):
    """Draws the restart of each test."""

    _calls: int = field(default=0, init=False)

    def test_begins(self, test: str) -> None:
        """Draw for a test."""
        super().test_begins(test)
        self._calls = 0

    def is_due(self) -> bool:
        """Whether the daemon is to be restarted before the next call; never before the first."""
        self._calls += 1
        if self.is_over or self._calls == 1:
            return False
        self.is_over = self.draws.random() < CHANCE
        return self.is_over
