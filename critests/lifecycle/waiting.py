"""Waits for a condition with a deadline; the error has the condition and the last value."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
POLL_SECONDS = 0.02
FIRST_POLL_SECONDS = 0.0025
"""Most conditions hold within milliseconds, so the first pauses are shorter."""


class ConditionNotMet(AssertionError):
    """A condition did not hold in time. It is an assertion, because a test awaits what it requires.

    Attributes:
        judge: the requirement whose breach explains it; empty for none.
    """

    judge: str = ""


def eventually(
    what: str,
    look: Callable[[], T],
    seconds: float,
    holds: Callable[[T], object] = bool,
    poll_seconds: float = POLL_SECONDS,
) -> T:
    """Return the first value that satisfies a condition.

    Args:
        what: the condition in words, for the error.
        look: returns the current value.
        seconds: how long to wait at most.
        holds: the condition; by default, that the value is true.
        poll_seconds: pause between two polls, at most 0.05; the first pauses are shorter.

    Raises:
        ConditionNotMet: no value satisfied it in time.
    """
    deadline = time.monotonic() + seconds
    longest = min(poll_seconds, 0.05)
    pause = min(FIRST_POLL_SECONDS, longest)
    while True:
        value = look()
        if holds(value):
            return value
        if time.monotonic() >= deadline:
            msg = f"waited {seconds:g} s for {what}; last seen: {shortened(value)}"
            raise ConditionNotMet(msg)
        time.sleep(pause)
        pause = min(2 * pause, longest)


def shortened(value: object, limit: int = 400) -> str:
    """Return a value as one line of bounded length."""
    text = " ".join(str(value).split()) or repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
