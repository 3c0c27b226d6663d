"""A test once more, as a case of its own."""

from typing import Any

import pytest

from critests_proof.matrix import base_name

MARK = "!"
"""Stands between the name of a test and what sets the case apart."""


def case_of(item: pytest.Function, apart: str) -> pytest.Function:
    """Return a test once more, as `NAME!APART`."""
    callspec = getattr(item, "callspec", None)
    arguments: dict[str, Any] = {"callspec": callspec} if callspec is not None else {}
    case: pytest.Function = pytest.Function.from_parent(
        item.parent,
        name=f"{item.name}{MARK}{apart}",
        callobj=item.function,
        fixtureinfo=item._fixtureinfo,  # noqa: SLF001 - the same fixtures; pytest has no public name for them
        originalname=item.originalname or base_name(item.name),
        **arguments,
    )
    return case
