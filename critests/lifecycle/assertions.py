"""Access to parts of a response. If a part is missing, the test fails, instead of an error of the harness."""

from collections.abc import Iterable
from typing import TypeVar

from critests.lifecycle.waiting import shortened

T = TypeVar("T")


def single(what: str, found: Iterable[T]) -> T:
    """Return the only element.

    Args:
        what: the element in words.
        found: the elements.

    Raises:
        AssertionError: there is none, or more than one.
    """
    elements = list(found)
    assert len(elements) == 1, f"{what}: expected one, seen {shortened(elements)}"
    return elements[0]
