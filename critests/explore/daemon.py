"""What steps need of what is below the calls."""

import contextlib
from collections.abc import Sequence
from typing import Protocol


class Daemon(Protocol):
    """What is below the calls, as far as steps disturb it."""

    def restart(self) -> None:
        """End the daemon with SIGKILL, start it again and wait until it is ready.

        Raises:
            CannotTest: it does not come back.
        """

    def failing(self, operation: str) -> contextlib.AbstractContextManager[None]:
        """Let an operation below the runtime fail for a while."""

    def hanging(self, operation: str) -> contextlib.AbstractContextManager[None]:
        """Let an operation below the runtime hang for a while, and go on then."""

    def pipes(self, ids: Sequence[str]) -> dict[str, int]:
        """Return how many pipes the processes have open that serve sandboxes, by their ids."""

    def leases(self) -> frozenset[str]:
        """Return the addresses that the network has given away."""
