"""DOC: unusual values in every field of image manifests and their descriptors."""

from collections.abc import Callable, Iterator

import pytest

from critests.documents.document_fields import Expected
from critests.documents.image_manifests import descriptor_variants, manifest_variants
from critests.documents.variants import Variant
from critests.images.oci_image import MANIFEST, Blob, Dialect
from critests.testing import OwnRuntime, disruptive, documents, requirement
from critests.validation.documents.harmless_use import DocumentBreach
from critests.validation.documents.images_in_use import ImageUser

pytestmark = [documents, disruptive]


@pytest.fixture(scope="module")
def image_user(module_runtime: OwnRuntime) -> ImageUser:
    """Images of this module."""
    return ImageUser(module_runtime)


def breaches(
    images: ImageUser, variants: Callable[..., Iterator[Variant]], *expected: Expected
) -> list[DocumentBreach]:
    """Use the manifests of which the specification expects this, and return what went wrong."""
    subject = images.image.top.descriptor() | {"digest": f"sha256:{'5' * 64}"}
    manifest = {**images.manifest, "subject": subject, "annotations": {"com.example.a": "b"}}
    return images.documents.breaches(
        [each for each in variants(manifest) if each.expected in expected],
        lambda variant: images.pull_and_run(Blob(MANIFEST[Dialect.OCI], variant.content)),
    )


@requirement("DOC-01/harmless")
def test_an_unusual_image_manifest_does_no_harm(image_user: ImageUser) -> None:
    """An image manifest with an unusual value in any field MUST NOT end the daemon, escape to the node, leave
    anything there, or affect the next pod.

    Source: OCI image specification, manifest.md, which leaves open how a reader reports invalid manifests.
    """
    assert breaches(image_user, manifest_variants, Expected.EITHER) == []


@requirement("DOC-01/meaning")
def test_an_unusual_but_valid_image_manifest_can_be_used(image_user: ImageUser) -> None:
    """PullImage MUST accept a valid image manifest without optional fields or with unknown ones.

    Source: OCI image specification, manifest.md; considerations.md, extensibility.
    """
    assert breaches(image_user, manifest_variants, Expected.ACCEPTED, Expected.REFUSED) == []


@requirement("DOC-02/harmless")
def test_an_unusual_descriptor_does_no_harm(image_user: ImageUser) -> None:
    """A descriptor with an unusual value in any field MUST NOT end the daemon, escape to the node, leave
    anything there, or affect the next pod.

    Source: OCI image specification, descriptor.md.
    """
    assert breaches(image_user, descriptor_variants, Expected.EITHER) == []


@requirement("DOC-02/meaning")
def test_an_unusual_but_valid_descriptor_can_be_used(image_user: ImageUser) -> None:
    """PullImage MUST accept a valid descriptor without optional fields or with unknown ones.

    Source: OCI image specification, descriptor.md; considerations.md, extensibility.
    """
    assert breaches(image_user, descriptor_variants, Expected.ACCEPTED, Expected.REFUSED) == []
