"""Variants of TOML documents."""

import tomllib
from collections.abc import Callable, Iterator

import pytest

from critests.documents.document_fields import Expected, Field, FieldType
from critests.documents.registries_conf import registries_variants
from critests.documents.registry_hosts import hosts_variants
from critests.documents.toml_documents import toml_variants, written
from critests.documents.variants import Variant

DOCUMENT = {
    "key": "some text",
    "list": [{"a": 1, "below": {"b": [True, {"c": "d"}]}}, {"a": 2}],
    "map": {"http://a": {"x": "y"}, "a": {"": "\n"}},
    "empty": {},
    "texts": [],
}
FIELDS = (
    Field(("key",), FieldType.TEXT),
    Field(("texts",), FieldType.LIST),
)


def test_what_is_written_is_read_again() -> None:
    assert tomllib.loads(written(DOCUMENT).decode()) == DOCUMENT


def test_what_toml_cannot_express_is_left_out() -> None:
    named = {str(each) for each in toml_variants(DOCUMENT, FIELDS, 'key = "some text"', "[map]")}

    assert {"key is absent", "key is a number", "texts has an empty text in it", "is empty"} <= named
    assert not [name for name in named if "null" in name]


@pytest.mark.parametrize("every", [hosts_variants, registries_variants])
def test_every_valid_file_is_toml_and_differs_from_the_document(
    every: Callable[[str], Iterator[Variant]],
) -> None:
    accepted = [each for each in every("127.0.0.1:5010") if each.expected is Expected.ACCEPTED]

    for variant in accepted:
        assert tomllib.loads(variant.content.decode()), str(variant)
    assert len({variant.content for variant in accepted}) > len(accepted) / 2
