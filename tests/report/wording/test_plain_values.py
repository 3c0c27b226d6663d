"""Values in plain words, without Python's own syntax."""

import pytest

from critests.report.wording.plain_values import plain_value


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("False", "false"),
        ("None", "nothing"),
        ("[]", "nothing"),
        ("b''", "nothing"),
        ("set()", "nothing"),
        (r"b'last words\n'", r"'last words\n'"),
        ("['a', 'b']", "'a', 'b'"),
        ("{2000, 2001}", "2000, 2001"),
        ("(1,)", "1"),
        ("frozenset({'rw'})", "'rw'"),
        ("[PosixPath('/run/a')]", "'/run/a'"),
        ("Counter({'OK': 49})", "'OK': 49"),
        ("[('a', 1), ('b', None)]", "('a', 1), ('b', nothing)"),
        ("['a']...['b']", "['a']...['b']"),
        ("'it is (True)'", "'it is (True)'"),
        ("CONTAINER_EXITED", "CONTAINER_EXITED"),
    ],
)
def test_a_value_is_in_plain_words(text: str, plain: str) -> None:
    assert plain_value(text) == plain
