"""DOC: unusual values in every field of image configurations."""

import pytest

from critests.documents.document_fields import Expected
from critests.documents.image_configs import MEANS, config_variants
from critests.documents.variants import Variant
from critests.testing import OwnRuntime, disruptive, documents, requirement
from critests.validation.documents.harmless_use import DocumentBreach
from critests.validation.documents.images_in_use import EXIT_CODE, ImageUser

pytestmark = [documents, disruptive]
COMMANDS = ("config.Entrypoint", "config.Cmd")
NONE = ("is absent", "is null")


@pytest.fixture(scope="module")
def image_user(module_runtime: OwnRuntime) -> ImageUser:
    """Images of this module."""
    return ImageUser(module_runtime)


def use(image_user: ImageUser, variant: Variant) -> None:
    """Pull an image with this configuration, and run a container of it: with its own command where that is
    what is unusual.
    """
    manifest, config = image_user.with_config(variant.content)
    image = image_user.pull(image_user.put(manifest, config))
    condition = MEANS.get(str(variant), "true")
    command = ("/bin/sh", "-c", f"{condition} && exit {EXIT_CODE}")
    of_image = variant.field.startswith(COMMANDS) and variant.change not in NONE
    image_user.run(image, () if of_image else command)


def breaches(image_user: ImageUser, *expected: Expected) -> list[DocumentBreach]:
    """Use the configurations of which the specification expects this, and return what went wrong."""
    document = image_user.config
    document["config"] |= {
        "Entrypoint": ["/bin/sh"],
        "Cmd": ["-c", f"exit {EXIT_CODE}"],
        "Labels": {"com.example.a": "b"},
        "ExposedPorts": {"80/tcp": {}},
        "Volumes": {"/data": {}},
    }
    return image_user.documents.breaches(
        [each for each in config_variants(document) if each.expected in expected],
        lambda variant: use(image_user, variant),
    )


@requirement("DOC-04/harmless")
def test_an_unusual_image_configuration_does_no_harm(image_user: ImageUser) -> None:
    """An image configuration with an unusual value in any field MUST NOT end the daemon, escape to the node,
    leave anything there, or affect the next pod.

    Source: OCI image specification, config.md, which leaves open how a reader reports most invalid values.
    """
    assert breaches(image_user, Expected.EITHER) == []


@requirement("DOC-04/meaning")
def test_an_unusual_but_valid_image_configuration_is_used_as_it_says(image_user: ImageUser) -> None:
    """A container MUST run with the user, environment and working directory of a valid image configuration,
    also if optional fields are null or absent.

    Source: OCI image specification, config.md, properties.
    """
    assert breaches(image_user, Expected.ACCEPTED) == []


@requirement("DOC-04/meaning")
def test_an_image_with_an_unknown_type_of_root_filesystem_is_rejected(image_user: ImageUser) -> None:
    """PullImage, CreateContainer or StartContainer MUST fail for an image whose `rootfs.type` is not layers.

    Source: OCI image specification, config.md, `rootfs.type`: "Implementations MUST generate an error if they
    encounter an unknown value when verifying or unpacking an image."
    """
    assert breaches(image_user, Expected.REFUSED) == []
