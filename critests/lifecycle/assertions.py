"""What a runtime told, taken apart. That it is there at all is part of what a test demands: where it is not,
the test fails, and is no error of the harness.
"""

from collections.abc import Iterable
from typing import TypeVar

from critests.lifecycle.waiting import shortened

T = TypeVar("T")


def single(what: str, told: Iterable[T]) -> T:
    """Return the only element of what was told.

    Args:
        what: the element in words.
        told: what there is.

    Raises:
        AssertionError: there is none, or more than one.
    """
    elements = list(told)
    assert len(elements) == 1, f"{what}: expected one, seen {shortened(elements)}"
    return elements[0]
