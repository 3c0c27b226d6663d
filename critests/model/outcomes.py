"""Whether a call may succeed or fail: the two sentences that most rules are made of."""

from collections.abc import Iterator

from critests.model.sights import NOT_FOUND, Answer
from critests.model.steps import Step
from critests.model.world import Breach

SUCCESS = "success"
"""What is expected of a call that must not fail."""


def succeeds(aspect: str, what: str, step: Step, answer: Answer) -> Iterator[Breach]:
    """The call must succeed."""
    if not answer.ok:
        yield Breach(aspect, what, step.rpc, SUCCESS, _words(answer))


def fails(aspect: str, what: str, step: Step, answer: Answer, *, code: str = "") -> Iterator[Breach]:
    """The call must fail.

    Args:
        aspect: that says so.
        what: is refused.
        step: the call.
        answer: to it.
        code: aspect that asks for NotFound; none by default.
    """
    if answer.ok:
        yield Breach(aspect, what, step.rpc, "an error", SUCCESS)
    elif code and answer.code != NOT_FOUND:
        yield Breach(code, f"{what}: code", step.rpc, NOT_FOUND, _words(answer))


def absent(found: object | None) -> str:
    """Return how what is not there is called: it was never there, or it is gone."""
    return "an unknown" if found is None else "a removed"


def _words(answer: Answer) -> str:
    return f"{answer.code}: {answer.details[:300]}" if answer.details else answer.code
