"""Copies of tests as additional cases."""

from typing import Any

import pytest

from critests_proof.matrix import base_name

MARK = "!"
"""Separates the name of a test from the suffix of the case."""


def case_of(item: pytest.Function, apart: str) -> pytest.Function:
    """Return a copy of a test with the name `NAME!APART`."""
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
