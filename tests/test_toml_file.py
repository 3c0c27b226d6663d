"""Where a mistake in a TOML file is said to be."""

from pathlib import Path

import pytest

from critests import toml_file
from critests.toml_file import TomlMalformed

FILE = """\
colour = "red"

[[pod]]
name = "one"
[pod.labels]
name = "label"
size = "large"

[[pod]]
"name" = "two"
args = [
    "first",
    "second",
]
[other]
args = 3
"""


@pytest.fixture
def document(tmp_path: Path) -> toml_file.Table:
    path = tmp_path / "pods.toml"
    path.write_text(FILE, encoding="utf-8")
    return toml_file.read(path)


@pytest.mark.parametrize(
    ("key", "near", "line"),
    [
        ("colour", "", 1),
        ("pod", "", 3),
        ("other", "", 15),
        ("name", "", 1),
        ("missing", "", 1),
    ],
)
def test_a_key_of_the_file(document: toml_file.Table, key: str, near: str, line: int) -> None:
    assert str(document.wrong(key, "no", near)) == f"{document.path}:{line}: no"


@pytest.mark.parametrize(
    ("entry", "key", "near", "line"),
    [
        (0, "name", "", 4),
        (0, "labels", "", 5),
        (0, "size", "", 3),
        (0, "args", "", 3),
        (1, "name", "", 10),
        (1, "args", "", 11),
        (1, "args", "second", 13),
        (1, "args", "third", 11),
        (1, "missing", "", 9),
    ],
)
def test_a_key_of_an_entry(document: toml_file.Table, entry: int, key: str, near: str, line: int) -> None:
    table = document.entries("pod")[entry]

    assert str(table.wrong(key, "no", near)) == f"{document.path}:{line}: no"


def test_an_unknown_key_is_said_before_a_missing_one(document: toml_file.Table) -> None:
    with pytest.raises(
        TomlMalformed, match=r':1: "colour" is not a key here; there are \[\[pod\]\], color, other'
    ):
        document.expect(needs=["color"], may=["other"], entries=["pod"])
    with pytest.raises(TomlMalformed, match=r':9: the entry has no "labels"'):
        document.entries("pod")[1].expect(needs=["name", "labels"], may=["args"])


def test_a_value_is_refused_under_its_key(document: toml_file.Table) -> None:
    table = document.entries("pod")[1]

    assert table.need("args", toml_file.texts) == ("first", "second")
    assert table.take("absent", toml_file.text) is None
    assert table.take("absent", toml_file.text, "default") == "default"
    with pytest.raises(TomlMalformed, match=r":11: args: must be a text"):
        table.take("args", toml_file.text, "default")


def test_an_entry_is_no_plain_table(document: toml_file.Table) -> None:
    with pytest.raises(TomlMalformed, match=r":15: other: must be written as \[\[other\]\]"):
        document.entries("other")
