"""Variants of a document."""

import json

import pytest

from critests.documents.document_fields import Expected, Field, FieldType, Odd
from critests.documents.variants import LARGEST, MANY, Variant, variants

LAYER = {"size": 5, "digest": "sha256:" + "a" * 64, "annotations": {"a": "b"}}
DOCUMENT = {"version": "1", "layers": [LAYER]}


def found(*fields: Field) -> dict[str, Variant]:
    """Return the variants of the document by their text."""
    listed = list(variants(DOCUMENT, fields))
    named = {str(variant): variant for variant in listed}
    assert len(named) == len(listed), "two variants have one name"
    return named


def field(*path: str | int, kind: FieldType = FieldType.TEXT, required: bool = False) -> Field:
    """Return a field of the document."""
    return Field(path, kind, required=required)


@pytest.mark.parametrize(("required", "expected"), [(True, Expected.EITHER), (False, Expected.ACCEPTED)])
def test_a_document_without_an_optional_field_is_valid(required: bool, expected: Expected) -> None:
    """One without a required field is not, but nothing says that a reader refuses it."""
    variant = found(field("version", required=required))["version is absent"]

    assert json.loads(variant.content) == {"layers": DOCUMENT["layers"]}
    assert variant.expected is expected


def test_only_the_field_is_changed() -> None:
    """The rest of the document, and the valid one itself, stay as they are."""
    before = json.dumps(DOCUMENT)

    variant = found(field("layers", 0, "size", kind=FieldType.INTEGER))["layers[0].size is the largest"]

    assert json.dumps(DOCUMENT) == before
    assert json.loads(variant.content) == {"version": "1", "layers": [{**LAYER, "size": LARGEST}]}


def test_bounds_are_valid_and_what_is_beyond_them_is_open() -> None:
    """Nothing says that a reader refuses a value beyond them."""
    named = found(Field(("layers", 0, "size"), FieldType.INTEGER, least=2, most=9))

    size = {
        name: json.loads(variant.content)["layers"][0]["size"]
        for name, variant in named.items()
        if "bound" in name
    }
    assert list(size.values()) == [2, 1, 9, 10]
    assert [named[name].expected for name in size] == [
        Expected.ACCEPTED,
        Expected.EITHER,
        Expected.ACCEPTED,
        Expected.EITHER,
    ]


def test_odd_values_have_the_meaning_that_the_table_gives() -> None:
    """They are in addition to those of the type."""
    odd = Odd("is a release candidate", "1-rc.1", Expected.REFUSED)

    variant = found(Field(("version",), FieldType.TEXT, odd))["version is a release candidate"]

    assert json.loads(variant.content)["version"] == "1-rc.1"
    assert variant.expected is Expected.REFUSED


def test_lists_get_entries_that_do_not_belong_there() -> None:
    """In addition to the entries that were there, and a great many of them."""
    named = found(field("layers", kind=FieldType.LIST))

    def layers(change: str) -> list[object]:
        entries: list[object] = json.loads(named[f"layers {change}"].content)["layers"]
        return entries

    assert layers("has an empty text in it") == [LAYER, ""]
    assert layers("has null in it") == [LAYER, None]
    assert len(layers("has many entries")) == MANY


def test_an_entry_of_a_list_can_be_taken_away() -> None:
    """The list is shorter then, and has no hole."""
    assert (
        json.loads(found(field("layers", 0, kind=FieldType.OBJECT))["layers[0] is absent"].content)["layers"]
        == []
    )


def test_a_map_gets_keys_and_values_that_are_unusual() -> None:
    """In addition to those that were there."""
    named = found(field("layers", 0, "annotations", kind=FieldType.MAP))

    content = named["layers[0].annotations has null as a value"].content
    assert json.loads(content)["layers"][0]["annotations"] == {"a": "b", "x": None}


def test_the_text_of_a_document_has_variants_of_its_own() -> None:
    """An indented document is the same; the others are not JSON, or another document."""
    named = found()

    assert json.loads(named["is indented"].content) == DOCUMENT
    assert named["is indented"].expected is Expected.ACCEPTED
    for broken in ("is empty", "ends in its middle", "has text after its end", "is there twice"):
        with pytest.raises(json.JSONDecodeError):
            json.loads(named[broken].content)
    pairs = json.loads(named["has a key twice"].content, object_pairs_hook=list)
    assert [key for key, _ in pairs] == ["version", "version", "layers"]


def test_a_field_without_a_holder_is_an_error_of_the_table() -> None:
    """The message names the field."""
    with pytest.raises(LookupError, match=r"version\.number"):
        list(variants(DOCUMENT, [field("version", "number")]))


def test_a_variant_is_of_the_first_part_with_its_field() -> None:
    """Each is in exactly one part."""
    parts = ("a.b", "a", "")

    def part_of(name: str) -> list[str]:
        return [part for part in parts if Variant(name, "is odd", b"").is_of(part, parts)]

    assert [part_of(name) for name in ("a.b.c", "a.c", "x", "")] == [["a.b"], ["a"], [""], [""]]
