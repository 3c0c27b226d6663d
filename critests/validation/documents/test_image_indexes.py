"""DOC: unusual values in every field of image indexes."""

import json
from collections.abc import Iterator

import pytest

from critests.documents.document_fields import Expected
from critests.documents.image_configs import index_variants
from critests.documents.variants import Variant
from critests.images.oci_image import INDEX, Blob, Dialect
from critests.images.platforms import Platform
from critests.testing import OwnRuntime, disruptive, documents, machine_architecture, requirement
from critests.validation.documents.harmless_use import DocumentBreach
from critests.validation.documents.images_in_use import ImageUser

pytestmark = [documents, disruptive]
LEVELS = (1, 100)
"""How many indexes are nested in an index."""


@pytest.fixture(scope="module")
def image_user(module_runtime: OwnRuntime) -> ImageUser:
    """Images of this module."""
    return ImageUser(module_runtime)


def foreign(entry: dict[str, object]) -> dict[str, object]:
    """Return an entry for another platform, whose manifest does not exist."""
    return {**entry, "digest": f"sha256:{'6' * 64}", "platform": {"os": "linux", "architecture": "x"}}


def index_of(entry: dict[str, object]) -> dict[str, object]:
    """Return an index with one manifest for this machine, and one for another."""
    other = foreign(entry)
    return {
        "schemaVersion": 2,
        "mediaType": INDEX[Dialect.OCI],
        "manifests": [entry, other],
        "subject": {key: value for key, value in other.items() if key != "platform"},
        "annotations": {"com.example.a": "b"},
    }


def variants_of_indexes(image_user: ImageUser) -> Iterator[Variant]:
    """Yield the variants of an index of the valid image, and indexes with unusual entries."""
    entry = image_user.image.top.descriptor(Platform(machine_architecture()))
    unknown = {**foreign(entry), "mediaType": "application/vnd.critests.unknown+json"}
    yield from index_variants(index_of(entry))
    yield Variant(
        "manifests",
        "has an entry of an unknown media type",
        json_of({**index_of(entry), "manifests": [unknown, entry]}),
        Expected.ACCEPTED,
    )
    for levels in LEVELS:
        inner = entry
        for _ in range(levels):
            nested = Blob(INDEX[Dialect.OCI], json_of(index_of(inner)))
            image_user.put(nested)
            inner = nested.descriptor(Platform(machine_architecture()))
        yield Variant("manifests", f"has {levels} nested", json_of(index_of(inner)))


def json_of(document: dict[str, object]) -> bytes:
    """Return a document as text."""
    return json.dumps(document).encode()


def breaches(image_user: ImageUser, *expected: Expected) -> list[DocumentBreach]:
    """Use the indexes of which the specification expects this, and return what went wrong."""
    return image_user.documents.breaches(
        [each for each in variants_of_indexes(image_user) if each.expected in expected],
        lambda variant: image_user.pull_and_run(Blob(INDEX[Dialect.OCI], variant.content)),
    )


@requirement("DOC-03/harmless")
def test_an_unusual_image_index_does_no_harm(image_user: ImageUser) -> None:
    """An image index with an unusual value in any field MUST NOT end the daemon, escape to the node, leave
    anything there, or affect the next pod.

    Source: OCI image specification, image-index.md, which leaves open how a reader reports invalid indexes.
    """
    assert breaches(image_user, Expected.EITHER) == []


@requirement("DOC-03/meaning")
def test_an_unusual_but_valid_image_index_can_be_used(image_user: ImageUser) -> None:
    """PullImage MUST accept a valid image index without optional fields, with unknown ones, or with an entry
    of an unknown media type.

    Source: OCI image specification, image-index.md (`manifests`); considerations.md, extensibility.
    """
    assert breaches(image_user, Expected.ACCEPTED, Expected.REFUSED) == []
