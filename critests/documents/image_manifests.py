"""The fields of image manifests, image indexes and the descriptors in them.

Source: OCI Image Format Specification 1.1: manifest.md, image-index.md, descriptor.md, annotations.md and
considerations.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from critests.documents.document_fields import Expected, Field, FieldType, Odd, Path
from critests.documents.variants import Variant, variants

IGNORED = "has an unknown key"
"""The change of `variants` that no reader may reject: "implementations MUST NOT generate an error if they
encounter an unknown property" (considerations.md).
"""

ANNOTATIONS: Final = (
    Odd("has no entries", {}, Expected.ACCEPTED),
    Odd("has a value without letters", {"x": ""}, Expected.ACCEPTED),
    Odd("has an unknown name", {"com.example.x": "y"}, Expected.ACCEPTED),
)
"""annotations.md: an empty map is allowed, a value may be empty, and consumers must not reject unknown
keys.
"""


def descriptor(path: Path, *, required: bool = True) -> list[Field]:
    """Return a descriptor and its fields.

    Args:
        path: where a document has it.
        required: whether the document is invalid without it.
    """

    def field(name: str, kind: FieldType, *, required: bool = False, odd: Sequence[Odd] = ()) -> Field:
        return Field((*path, name), kind, *odd, required=required)

    return [
        Field(path, FieldType.OBJECT, required=required),
        field("mediaType", FieldType.TEXT, required=True),
        field("digest", FieldType.DIGEST, required=True),
        field("size", FieldType.INTEGER, required=True),
        field("urls", FieldType.LIST),
        field("annotations", FieldType.MAP, odd=ANNOTATIONS),
        field("data", FieldType.TEXT),
        field("artifactType", FieldType.TEXT),
    ]


MANIFEST: Final = (
    Field(("schemaVersion",), FieldType.INTEGER, required=True),
    Field(("mediaType",), FieldType.TEXT),
    Field(("artifactType",), FieldType.TEXT),
    Field(("config",), FieldType.OBJECT, required=True),
    Field(("layers",), FieldType.LIST, required=True),
    Field(("annotations",), FieldType.MAP, *ANNOTATIONS),
    *descriptor(("subject",), required=False),
)
"""The fields of an image manifest but those of the descriptors of configuration and layers."""

DESCRIPTORS: Final = (*descriptor(("config",)), *descriptor(("layers", 0)))
"""The descriptors in an image manifest."""


def manifest_variants(document: Mapping[str, object]) -> Iterator[Variant]:
    """Yield the variants of an image manifest."""
    return _lenient(variants(document, MANIFEST))


def descriptor_variants(document: Mapping[str, object]) -> Iterator[Variant]:
    """Yield an image manifest with variants of its descriptors."""
    return (each for each in _lenient(variants(document, DESCRIPTORS)) if each.field)


def _lenient(found: Iterator[Variant]) -> Iterator[Variant]:
    """Yield variants; those with an unknown key must be accepted."""
    for each in found:
        yield replace(each, expected=Expected.ACCEPTED) if each.change == IGNORED else each
