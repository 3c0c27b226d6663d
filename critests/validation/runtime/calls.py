"""What becomes of calls that are made at the same time."""

from collections.abc import Sequence
from typing import Any

from critests.fixtures.runtime import refused_with


def all_of(calls: Sequence[Any]) -> list[Any]:
    """Wait for the answers of calls that must all succeed."""
    return [call.result() for call in calls]


def settled(calls: Sequence[Any]) -> list[Any]:
    """Wait until each call has succeeded or was refused, and return those that have succeeded."""
    succeeded = []
    for call in calls:
        error = call.exception()
        if error is None:
            succeeded.append(call)
        else:
            refused_with(error)
    return succeeded
