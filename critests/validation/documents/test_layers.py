"""DOC: layers with unusual members, headers, structure and compression."""

from collections.abc import Callable, Iterator

import pytest

from critests.documents.document_fields import Expected
from critests.documents.layer_archives import archives, compressions, pax_headers
from critests.documents.layer_members import headers, links, names, numbers, whiteouts
from critests.documents.layers import LayerVariant
from critests.images.oci_image import Blob
from critests.run.object_cleanup import ObjectCleanup
from critests.testing import OwnRuntime, disruptive, documents, requirement, setting_up
from critests.validation.documents.harmless_use import DocumentBreach
from critests.validation.documents.images_in_use import EXIT_CODE, ImageUser

pytestmark = [documents, disruptive]
PARTS: dict[str, Callable[[str], Iterator[LayerVariant]]] = {
    "names": lambda _: names(),
    "links": links,
    "whiteouts": whiteouts,
    "numbers": lambda _: numbers(),
    "headers": lambda _: headers(),
    "pax": lambda _: pax_headers(),
    "archives": lambda _: archives(),
    "compressions": lambda _: compressions(),
}
"""The variants by what is unusual; some name a file of the machine."""


@pytest.fixture(scope="module")
def image_user(module_runtime: OwnRuntime) -> ImageUser:
    """Images of this module. The runtime keeps the valid one, so that each pull brings one new layer."""
    user = ImageUser(module_runtime)
    with setting_up():
        user.pull(user.reference, ObjectCleanup())
    return user


def use(image_user: ImageUser, variant: LayerVariant) -> None:
    """Pull an image with this layer on top, and run a container of it."""
    layer = Blob(variant.media_type, variant.content)
    document = image_user.config
    document["rootfs"]["diff_ids"].append(variant.diff_id)
    document.pop("history", None)
    manifest, config = image_user.with_config(document, layer)
    image = image_user.pull(image_user.put(manifest, config, layer))
    image_user.run(image, ("/bin/sh", "-c", f"{variant.condition} && exit {EXIT_CODE}"))


def breaches(image_user: ImageUser, part: str, *expected: Expected) -> list[DocumentBreach]:
    """Use the layers of which the specification expects this, and return what went wrong."""
    every = PARTS[part](str(image_user.documents.outside.canary))
    return image_user.documents.breaches(
        [each for each in every if each.expected in expected], lambda variant: use(image_user, variant)
    )


@requirement("DOC-05/harmless")
@pytest.mark.parametrize("part", PARTS)
def test_an_unusual_layer_does_no_harm(image_user: ImageUser, part: str) -> None:
    """A layer with unusual members, headers, structure or compression MUST NOT end the daemon, escape to the
    node, leave anything there, or affect the next pod.

    Source: OCI image specification, layer.md, which leaves open how a reader reports invalid layers.
    """
    assert breaches(image_user, part, Expected.EITHER) == []


@requirement("DOC-05/meaning")
def test_an_unusual_but_valid_layer_is_unpacked_as_it_says(image_user: ImageUser) -> None:
    """A container MUST have the files of a valid layer with the owners, modes and whiteouts that it states,
    whatever optional form its archive and its compression have.

    Source: OCI image specification, layer.md; POSIX pax; RFC 1952; RFC 8878.
    """
    assert [each for part in PARTS for each in breaches(image_user, part, Expected.ACCEPTED)] == []
