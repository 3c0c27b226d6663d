"""Access to parts of a response."""

import pytest

from critests.lifecycle.assertions import single


def test_single_returns_the_only_element() -> None:
    assert single("the entry", iter(["a"])) == "a"


@pytest.mark.parametrize(("elements", "shown"), [([], "[]"), (["a", "b"], "['a', 'b']")])
def test_single_fails_for_none_or_several_elements(elements: list[str], shown: str) -> None:
    with pytest.raises(AssertionError) as broken:
        single("the entry", elements)
    assert str(broken.value).startswith(f"the entry: expected one, seen {shown}")
