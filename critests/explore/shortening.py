"""Finds the shortest sequence: leaves out steps as long as the same promise is broken without them.

Hypothesis shortens what it drew; this runs afterwards, and makes sure that no single step can be left out.
"""

from collections.abc import Callable, Iterator, Sequence

from critests.model import StepGroup
from critests.model.steps import runnable


def shortest(groups: Sequence[StepGroup], still_breaks: Callable[[list[StepGroup]], bool]) -> list[StepGroup]:
    """Return a sequence of which no part can be left out.

    Args:
        groups: that break a promise with the last one.
        still_breaks: runs a sequence and returns whether it breaks the same promise; False when the time is
            over, which ends the search early.
    """
    rest = list(groups)
    size = max(1, len(rest) // 2)
    while True:
        shorter = next((each for each in _without_groups(rest, size) if still_breaks(each)), None)
        if shorter is not None:
            rest = shorter
        elif size > 1:
            size //= 2
        else:
            break
    while (thinner := next((each for each in _without_a_step(rest) if still_breaks(each)), None)) is not None:
        rest = thinner
    return rest


def _without_groups(groups: list[StepGroup], size: int) -> Iterator[list[StepGroup]]:
    """Yield the sequence without each part of that many groups; the last group stays."""
    for begin in range(0, max(1, len(groups) - 1), size):
        without = runnable([*groups[:begin], *groups[begin + size :]])
        if without and len(without) < len(groups):
            yield without


def _without_a_step(groups: list[StepGroup]) -> Iterator[list[StepGroup]]:
    """Yield the sequence without each step of a group with several."""
    for place, group in enumerate(groups):
        for step in group if len(group) > 1 else ():
            fewer = tuple(each for each in group if each is not step)
            yield runnable([*groups[:place], fewer, *groups[place + 1 :]])
