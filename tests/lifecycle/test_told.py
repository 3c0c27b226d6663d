"""What a runtime told, taken apart."""

import pytest

from critests.lifecycle.assertions import single


def test_the_only_element() -> None:
    assert single("the entry", iter(["a"])) == "a"


@pytest.mark.parametrize(("told", "seen"), [([], "[]"), (["a", "b"], "['a', 'b']")])
def test_none_and_too_many_are_a_broken_promise(told: list[str], seen: str) -> None:
    with pytest.raises(AssertionError) as broken:
        single("the entry", told)
    assert str(broken.value).startswith(f"the entry: expected one, seen {seen}")
