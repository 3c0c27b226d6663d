"""Whether a call must succeed or fail: the two checks that most rules consist of."""

from collections.abc import Iterable, Iterator

from critests.model.observations import NOT_FOUND, CallResult
from critests.model.steps import Step
from critests.model.world import GONE, Breach, ContainerState, SandboxState

SUCCESS = "success"
"""The expected outcome of a call that must not fail."""


def succeeds(aspect: str, what: str, step: Step, result: CallResult) -> Iterator[Breach]:
    """The call must succeed."""
    if not result.ok:
        yield Breach(aspect, what, step.rpc, SUCCESS, _words(result))


def fails(aspect: str, what: str, step: Step, result: CallResult, *, code: str = "") -> Iterator[Breach]:
    """The call must fail.

    Args:
        aspect: that requires it.
        what: must be rejected.
        step: the call.
        result: of the call.
        code: aspect that requires NotFound; none by default.
    """
    if result.ok:
        yield Breach(aspect, what, step.rpc, "an error", SUCCESS)
    elif code and result.code != NOT_FOUND:
        yield Breach(code, f"{what}: code", step.rpc, NOT_FOUND, _words(result))


def exactly(
    aspect: str,
    step: Step,
    result: CallResult,
    kind: str,
    candidates: Iterable[tuple[SandboxState | ContainerState, bool]],
) -> Iterator[Breach]:
    """A list with a filter MUST contain exactly the matching objects.

    Args:
        aspect: that requires it.
        step: the call, with the state that it filters by.
        result: of the call.
        kind: of the objects, in one word.
        candidates: every object that is still checked, and whether the filter excludes it whatever its state.
    """
    for one, filtered_out in candidates:
        in_state = one.may_be == {step.state} if step.state else GONE not in one.may_be
        matches = not filtered_out and in_state
        excluded = filtered_out or one.gone or (step.state and step.state not in one.may_be)
        count = result.ids.count(one.id)
        if matches and not count:
            yield Breach(aspect, f"a filter leaves a {kind} out", step.rpc, one.key, "not in the list")
        elif excluded and count:
            what = f"a filter lets a {kind} through"
            yield Breach(aspect, what, step.rpc, f"{one.key} left out", "in the list")


def absent(found: object | None) -> str:
    """Return the words for an object that does not exist: it never did, or it was removed."""
    return "an unknown" if found is None else "a removed"


def _words(result: CallResult) -> str:
    return f"{result.code}: {result.details[:300]}" if result.details else result.code
