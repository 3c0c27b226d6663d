"""CNC: pulls, removals and lists of images at the same time."""

from collections import Counter

from critests.api import api_pb2 as cri
from critests.fixtures.images import Images, Registry
from critests.fixtures.runtime import Runtime
from critests.images.catalogue import Changes
from critests.images.faults import Fault, FaultKind, Scope
from critests.images.repositories import MintedImage
from critests.run.marks import requirement
from critests.validation.runtime.calls import all_of

AT_ONCE = 4
SLOW_LAYER = Fault(kind=FaultKind.DELAY, scope=Scope.LAYER, seconds=0.5)
"""Keeps the first pull at its layer while the others come."""


def downloads(registry: Registry, image: MintedImage) -> Counter[str]:
    """Return how often the content of each blob of an image was asked for, by digest."""
    return Counter(each.reference for each in registry.requests(image) if each.method == "GET")


@requirement("CNC-09")
def test_pulls_of_one_image_at_once_are_one_download(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """Pulls of the same image at the same time MUST all return the same image, and SHOULD download its layers
    once.

    Source: PullImage. Not stated by the CRI; the kubelet pulls for several pods at once.
    """
    minted = registry.mint()
    registry.fault(minted, SLOW_LAYER)

    answers = all_of(
        [runtime.images.PullImage.future(images.pull_request(minted.reference)) for _ in range(AT_ONCE)]
    )

    assert len({answer.image_ref for answer in answers}) == 1
    assert downloads(registry, minted)[minted.layer_digests[-1]] == 1


@requirement("CNC-10")
def test_pulls_of_images_with_a_layer_in_common_download_it_once(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """Pulls of different images at the same time SHOULD download a layer that they have in common once.

    Source: PullImage. Not stated by the CRI; a layer is named by its content.
    """
    in_common: Changes = {"files": [{"path": "common", "content": registry.prefix}]}
    minted = [registry.mint(repository=f"image-{n}", changes=in_common) for n in range(AT_ONCE)]
    # below the layer that makes each unique
    shared = minted[0].layer_digests[-2]

    answers = all_of(
        [runtime.images.PullImage.future(images.pull_request(each.reference)) for each in minted]
    )

    assert len({answer.image_ref for answer in answers}) == AT_ONCE
    assert sum(downloads(registry, each)[shared] for each in minted) == 1


@requirement("CNC-11")
def test_images_are_listed_while_others_are_removed(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """Removals of images, lists of images and the usage of their file systems MUST all be answered at the
    same time.

    Source: RemoveImage, ListImages, ImageFsInfo. Not stated by the CRI; the kubelet removes images for space
    while it looks at both.
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
    """A pull SHOULD succeed also when an image that has layers in common with it is removed meanwhile.

    Source: PullImage, RemoveImage. Not stated by the CRI; the kubelet removes images for space while it pulls
    others.
    """
    # a layer that both have and no other image, below the one that makes each unique
    in_common: Changes = {"files": [{"path": "shared", "content": registry.prefix}]}
    removed, wanted = (registry.mint(repository=name, changes=in_common) for name in ("removed", "wanted"))
    registry.pull(removed)
    registry.fault(wanted, Fault(kind=FaultKind.STALL, scope=Scope.LAYER))
    pull = runtime.images.PullImage.future(images.pull_request(wanted.reference))
    runtime.eventually(
        "a layer that is waited for", lambda: [each for each in registry.requests(wanted) if each.fault]
    )

    runtime.images.RemoveImage(images.removal_request(removed.reference))
    registry.clear_faults(wanted)

    assert pull.result().image_ref != ""
    assert images.look_up(wanted.reference) is not None
