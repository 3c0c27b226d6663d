"""The shortest sequence: steps are left out as long as the same promise is broken without them.

Hypothesis shortens what it drew; this comes after it, and is sure that no single step can be left out.
"""

from collections.abc import Callable, Iterator, Sequence

from critests.model import Beat
from critests.model.steps import playable


def shortest(beats: Sequence[Beat], still_breaks: Callable[[list[Beat]], bool]) -> list[Beat]:
    """Return a sequence of which no part can be left out.

    Args:
        beats: that break a promise with the last one.
        still_breaks: plays a sequence and says whether it breaks the same promise; False ends the search
            early where the time is over.
    """
    kept = list(beats)
    size = max(1, len(kept) // 2)
    while True:
        shorter = next((each for each in _without_beats(kept, size) if still_breaks(each)), None)
        if shorter is not None:
            kept = shorter
        elif size > 1:
            size //= 2
        else:
            break
    while (thinner := next((each for each in _without_a_step(kept) if still_breaks(each)), None)) is not None:
        kept = thinner
    return kept


def _without_beats(beats: list[Beat], size: int) -> Iterator[list[Beat]]:
    """Give the sequence without each part of it that is so many beats long; the last beat stays."""
    for begin in range(0, max(1, len(beats) - 1), size):
        without = playable([*beats[:begin], *beats[begin + size :]])
        if without and len(without) < len(beats):
            yield without


def _without_a_step(beats: list[Beat]) -> Iterator[list[Beat]]:
    """Give the sequence without each step of a beat that has several."""
    for place, beat in enumerate(beats):
        for step in beat if len(beat) > 1 else ():
            fewer = tuple(each for each in beat if each is not step)
            yield playable([*beats[:place], fewer, *beats[place + 1 :]])
