"""What is common to kills of the daemon and kills of shims and monitors."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

import grpc

from critests.catalogue.words import Outcome
from critests.record.reasons import Reason, ReasonCode
from critests.run.classification import RawOutcome
from critests.run.failure_text import in_words

T = TypeVar("T")

REMOVAL_SECONDS: Final = 10.0
"""For stops and removals: the runtime may have to clean up first."""
PAUSE_SECONDS: Final = 0.05


class BrokenAfterKill(AssertionError):
    """After the suite has killed a process of the runtime, something does not hold.

    Attributes:
        aspect: that judges it.
        why: what does not hold.
    """

    def __init__(self, aspect: str, words: str) -> None:
        super().__init__(words)
        self.aspect = aspect
        self.why: Reason = in_words(words, ReasonCode.SAID)

    @property
    def outcome(self) -> RawOutcome:
        """The outcome of the test that met it."""
        return RawOutcome(Outcome.FAILED, self.why, judged_as=self.aspect)


def until_ok(call: Callable[[], T], seconds: float) -> T:
    """Repeat a call until it succeeds, as the kubelet does, and return its result.

    Args:
        call: makes it.
        seconds: how long further calls are made after the first, which may use up its own deadline; there is
            at least a second call.

    Raises:
        grpc.RpcError: of the last call.
    """
    deadline: float | None = None
    while True:
        try:
            return call()
        except grpc.RpcError:
            if deadline is not None and time.monotonic() >= deadline:
                raise
            deadline = deadline or time.monotonic() + seconds
            time.sleep(PAUSE_SECONDS)
