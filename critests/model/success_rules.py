"""Whether a call may succeed or fail: the two sentences that most rules are made of."""

from collections.abc import Iterable, Iterator

from critests.model.observations import NOT_FOUND, CallResult
from critests.model.steps import Step
from critests.model.world import GONE, Breach, ContainerState, SandboxState

SUCCESS = "success"
"""What is expected of a call that must not fail."""


def succeeds(aspect: str, what: str, step: Step, answer: CallResult) -> Iterator[Breach]:
    """The call must succeed."""
    if not answer.ok:
        yield Breach(aspect, what, step.rpc, SUCCESS, _words(answer))


def fails(aspect: str, what: str, step: Step, answer: CallResult, *, code: str = "") -> Iterator[Breach]:
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


def exactly(
    aspect: str,
    step: Step,
    answer: CallResult,
    kind: str,
    candidates: Iterable[tuple[SandboxState | ContainerState, bool]],
) -> Iterator[Breach]:
    """A list with a filter holds what the filter lets through, and nothing else.

    Args:
        aspect: that says so.
        step: the call, with the state that it chooses.
        answer: to it.
        kind: of the objects, in a word.
        candidates: every object of which something can be said, and whether the filter wants others, whatever
            their state.
    """
    for one, others in candidates:
        matches = not others and (one.may_be == {step.state} if step.state else GONE not in one.may_be)
        excluded = others or one.gone or (step.state and step.state not in one.may_be)
        count = answer.ids.count(one.id)
        if matches and not count:
            yield Breach(aspect, f"a filter leaves a {kind} out", step.rpc, one.key, "not in the list")
        elif excluded and count:
            what = f"a filter lets a {kind} through"
            yield Breach(aspect, what, step.rpc, f"{one.key} left out", "in the list")


def absent(found: object | None) -> str:
    """Return how what is not there is called: it was never there, or it is gone."""
    return "an unknown" if found is None else "a removed"


def _words(answer: CallResult) -> str:
    return f"{answer.code}: {answer.details[:300]}" if answer.details else answer.code
