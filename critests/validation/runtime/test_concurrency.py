"""CNC: concurrent pulls, removals and lists of images."""

from collections import Counter

from critests.api import api_pb2 as cri
from critests.testing import (
    Changes,
    FaultKind,
    Images,
    MintedImage,
    Registry,
    RegistryFault,
    Runtime,
    Scope,
    requirement,
)
from critests.validation.runtime.concurrent_calls import all_of

AT_ONCE = 4
SLOW_LAYER = RegistryFault(kind=FaultKind.DELAY, scope=Scope.LAYER, seconds=0.5)
"""Holds the first pull at its layer until the others have begun."""


def downloads(registry: Registry, image: MintedImage) -> Counter[str]:
    """Return how often the content of each blob of an image was requested, by digest."""
    return Counter(each.reference for each in registry.requests(image) if each.method == "GET")


@requirement("CNC-09")
def test_concurrent_pulls_of_one_image_download_it_once(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """Concurrent PullImage calls for one image MUST all return the same image, and SHOULD download each layer
    once.

    Source: PullImage. Not stated by the CRI; the kubelet pulls for several pods at once.
    """
    minted = registry.mint()
    registry.fault(minted, SLOW_LAYER)

    responses = all_of(
        [runtime.images.PullImage.future(images.pull_request(minted.reference)) for _ in range(AT_ONCE)]
    )

    assert len({response.image_ref for response in responses}) == 1
    # the layer that makes the image unique: no earlier pull can have stored it
    assert downloads(registry, minted)[minted.layer_digests[-1]] == 1


@requirement("CNC-10")
def test_concurrent_pulls_download_a_common_layer_once(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """Concurrent PullImage calls for different images SHOULD download a common layer once.

    Source: PullImage. Not stated by the CRI; a layer is identified by its content.
    """
    in_common: Changes = {"files": [{"path": "common", "content": registry.prefix}]}
    minted = [registry.mint(repository=f"image-{n}", changes=in_common) for n in range(AT_ONCE)]
    # the layer below the one that makes each image unique
    shared = minted[0].layer_digests[-2]

    responses = all_of(
        [runtime.images.PullImage.future(images.pull_request(each.reference)) for each in minted]
    )

    assert len({response.image_ref for response in responses}) == AT_ONCE
    assert sum(downloads(registry, each)[shared] for each in minted) == 1


@requirement("CNC-11")
def test_images_are_listed_while_others_are_removed(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """RemoveImage, ListImages and ImageFsInfo MUST all succeed when they are called concurrently.

    Source: RemoveImage, ListImages, ImageFsInfo. Not stated by the CRI; the kubelet calls all three during
    image garbage collection.
    """
    minted = [registry.mint(repository=f"image-{n}") for n in range(AT_ONCE)]
    for each in minted:
        registry.pull(each)

    calls = []
    for each in minted:
        calls += [
            runtime.images.RemoveImage.future(images.removal_request(each.reference)),
            runtime.images.ListImages.future(cri.ListImagesRequest()),
            runtime.images.ImageFsInfo.future(cri.ImageFsInfoRequest()),
        ]

    all_of(calls)
    assert [images.look_up(each.reference) for each in minted] == [None] * AT_ONCE


@requirement("CNC-15")
def test_pull_succeeds_while_an_image_with_the_same_layers_is_removed(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage SHOULD succeed although an image with common layers is removed at the same time.

    Source: PullImage, RemoveImage. Not stated by the CRI; the kubelet's image garbage collection runs during
    pulls.
    """
    # a layer that only these two images have, below the one that makes each unique
    in_common: Changes = {"files": [{"path": "shared", "content": registry.prefix}]}
    removed, pulled = (registry.mint(repository=name, changes=in_common) for name in ("removed", "pulled"))
    registry.pull(removed)
    registry.fault(pulled, RegistryFault(kind=FaultKind.STALL, scope=Scope.LAYER))
    pull = runtime.images.PullImage.future(images.pull_request(pulled.reference))
    runtime.eventually(
        "a stalled request for a layer", lambda: [each for each in registry.requests(pulled) if each.fault]
    )

    runtime.images.RemoveImage(images.removal_request(removed.reference))
    registry.clear_faults(pulled)

    assert pull.result().image_ref != ""
    assert images.look_up(pulled.reference) is not None
