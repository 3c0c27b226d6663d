"""IMS: images that a runtime is configured to pin, by their names."""

import secrets
from collections.abc import Iterator

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    OwnRuntime,
    PinnedImages,
    Registry,
    Runtime,
    RuntimeSetup,
    disruptive,
    pulling,
    requirement,
    start_configured,
)

ORDINARY, PINNED = "ordinary", "pinned"


@pytest.fixture
def pinning_runtime(
    request: pytest.FixtureRequest, runtime: Runtime, registry: Registry
) -> Iterator[OwnRuntime]:
    """A runtime that is configured to pin the image in one of the test's repositories."""
    pinned = PinnedImages(f"{registry.client.address}/{registry.prefix}/{PINNED}")
    with start_configured(request, runtime, RuntimeSetup(settings=(pinned,))) as own:
        yield own


@requirement("IMS-08/named")
@disruptive
@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["pinned last", "pinned first"])
def test_an_image_is_pinned_by_any_of_its_names(
    pinning_runtime: OwnRuntime, registry: Registry, order: tuple[int, int]
) -> None:
    """Image.pinned MUST be true if one of several names of the image is configured to be pinned, in whichever
    order they were pulled.

    Source: Image.pinned; the configuration says which images are pinned; the kubelet may remove all others.
    """
    salt = secrets.token_hex(8)
    # equal salts make equal images, so both names belong to one image
    both = [registry.mint(repository=name, salt=salt) for name in (ORDINARY, PINNED)]
    for number in order:
        pinning_runtime.images.PullImage(pulling(both[number].reference))

    listed = pinning_runtime.images.ListImages(cri.ListImagesRequest()).images

    [image] = [each for each in listed if both[0].reference in each.repo_tags]
    assert both[1].reference in image.repo_tags
    assert image.pinned
