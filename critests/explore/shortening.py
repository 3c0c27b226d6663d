"""The shortest sequence: steps are left out as long as the same promise is broken without them.

Hypothesis shortens what it drew; this comes after it, and is sure that no single step can be left out.
"""

from collections.abc import Callable, Sequence

from critests.model import Step
from critests.model.steps import playable


def shortest(steps: Sequence[Step], still_breaks: Callable[[list[Step]], bool]) -> list[Step]:
    """Return a sequence of which no part can be left out.

    Args:
        steps: that break a promise with their last one.
        still_breaks: plays a sequence and says whether it breaks the same promise; False ends the search
            early where the time is over.
    """
    kept = list(steps)
    size = max(1, len(kept) // 2)
    while True:
        shorter = False
        for begin in range(0, max(1, len(kept) - 1), size):
            without = playable([*kept[:begin], *kept[begin + size :]])
            if without and len(without) < len(kept) and still_breaks(without):
                kept = without
                shorter = True
                break
        if shorter:
            continue
        if size == 1:
            return kept
        size //= 2
