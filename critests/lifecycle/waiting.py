"""Waiting for a condition with a deadline; a time-out says what was awaited and what was seen last."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
POLL_SECONDS = 0.02
FIRST_POLL_SECONDS = 0.0025
"""Most of what is waited for comes within milliseconds: the first looks follow each other more quickly."""


class ConditionNotMet(AssertionError):
    """A condition did not come true in time. It is an assertion: what a test waits for is what it demands.

    Attributes:
        judge: the requirement whose breach explains it, where there is one; empty for none.
    """

    judge: str = ""


def eventually(
    what: str,
    look: Callable[[], T],
    seconds: float,
    holds: Callable[[T], object] = bool,
    poll_seconds: float = POLL_SECONDS,
) -> T:
    """Return the first value that holds.

    Args:
        what: the condition in words, for the sentence in case of a time-out.
        look: returns what is there now.
        seconds: how long to wait at most.
        holds: whether a value will do; by default, whether it is true.
        poll_seconds: pause between two looks, at most 0.05; the first pauses are shorter.

    Raises:
        ConditionNotMet: no value held in time.
    """
    deadline = time.monotonic() + seconds
    longest = min(poll_seconds, 0.05)
    pause = min(FIRST_POLL_SECONDS, longest)
    while True:
        seen = look()
        if holds(seen):
            return seen
        if time.monotonic() >= deadline:
            msg = f"waited {seconds:g} s for {what}; last seen: {shortened(seen)}"
            raise ConditionNotMet(msg)
        time.sleep(pause)
        pause = min(2 * pause, longest)


def shortened(value: object, limit: int = 400) -> str:
    """Return a value as text of bounded length."""
    text = str(value).strip() or repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
