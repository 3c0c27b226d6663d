"""IMS: removal of images, and what it removes with them."""

from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Containers,
    Images,
    OwnRuntime,
    RecordVariant,
    Registry,
    Runtime,
    disruptive,
    may_be_refused,
    refused_with,
    requirement,
    setting_up,
    unsupported,
)


@requirement("IMS-14")
@pytest.mark.parametrize("form", ["tag", "digest", "id"])
def test_removed_image_is_gone(runtime: Runtime, registry: Registry, images: Images, form: str) -> None:
    """RemoveImage by tag, by digest or by id MUST remove the image from ImageStatus and ListImages.

    Source: RemoveImage.
    """
    minted = registry.mint()
    registry.pull(minted)
    names = {
        "tag": minted.reference,
        "digest": minted.by_digest,
        # the reference that PullImage returns may be a name with a digest instead
        "id": images.id_of(minted.reference),
    }

    runtime.images.RemoveImage(images.removal_request(names[form]))

    assert {name: images.look_up(name) for name in names.values()} == dict.fromkeys(names.values())
    assert images.listed(minted) == []


@requirement("IMS-15")
def test_removal_by_one_tag_removes_all_names(runtime: Runtime, registry: Registry, images: Images) -> None:
    """RemoveImage by one tag MUST remove every tag and digest of an unused image, in every repository.

    Source: RemoveImage.
    """
    # equal salts make equal images
    here = registry.mint(repository="here", tags=["1", "2"], salt=registry.prefix)
    there = registry.mint(repository="there", salt=registry.prefix)
    for reference in (*here.references, *there.references):
        registry.pull(here, reference)

    runtime.images.RemoveImage(images.removal_request(here.references[0]))

    assert [images.look_up(name) for name in (*here.references, *there.references)] == [None] * 3
    assert images.listed(here) + images.listed(there) == []


@requirement("IMS-16")
def test_removal_of_an_absent_image_succeeds(runtime: Runtime, registry: Registry, images: Images) -> None:
    """RemoveImage of an image that has never been present MUST succeed.

    Source: RemoveImage.
    """
    absent = registry.mint()

    runtime.images.RemoveImage(images.removal_request(absent.reference))

    assert images.look_up(absent.reference) is None


@requirement("IMS-16")
@pytest.mark.parametrize("form", ["tag", "id"])
def test_removal_of_an_image_is_idempotent(
    runtime: Runtime, registry: Registry, images: Images, form: str
) -> None:
    """RemoveImage of an image that has been removed before MUST succeed.

    Source: RemoveImage.
    """
    minted = registry.mint()
    registry.pull(minted)
    reference = {"tag": minted.reference, "id": images.id_of(minted.reference)}[form]
    runtime.images.RemoveImage(images.removal_request(reference))

    runtime.images.RemoveImage(images.removal_request(reference))

    assert images.look_up(reference) is None


@requirement("IMS-18")
def test_removal_of_an_image_in_use_leaves_its_container_alone(
    runtime: Runtime,
    registry: Registry,
    images: Images,
    containers: Containers,
    record_variant: RecordVariant,
) -> None:
    """RemoveImage of an image that a container runs from MAY be rejected or remove its names; the container
    MUST continue to run.

    Source: RemoveImage.
    """
    minted = registry.mint()
    container = containers.running(image=registry.pull(minted))

    try:
        runtime.images.RemoveImage(images.removal_request(minted.reference))
        form = "the image loses its names"
    except grpc.RpcError as error:
        refused_with(error)
        form = "refused"

    assert container.state() == cri.CONTAINER_RUNNING
    # a file of the layer that is this image's alone
    assert container.output("cat", "/critests-salt") != ""
    record_variant(form)


@requirement("IMS-21")
def test_layers_that_another_image_shares_remain(
    runtime: Runtime, registry: Registry, images: Images, containers: Containers
) -> None:
    """RemoveImage MUST leave layers that the removed image shares with another image usable for the other.

    Source: OCI image specification, layers are shared by digest.
    """
    # one layer that only these two images have, below the one that makes each unique
    removed, remaining = (
        registry.mint(repository=name, changes={"files": [{"path": "shared", "content": registry.prefix}]})
        for name in ("removed", "kept")
    )
    registry.pull(removed)
    config = containers.config(image=registry.pull(remaining), first="cat /shared; echo")

    runtime.images.RemoveImage(images.removal_request(removed.reference))

    response = runtime.stub.CreateContainer(containers.creation(config))
    container = containers.adopt(response.container_id, config)
    container.start()
    assert container.wait_for_log(registry.prefix) == [registry.prefix]


@requirement("IMS-23")
def test_pull_during_a_removal_ends_in_one_state(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage and RemoveImage of one image at the same time MUST leave it either present or absent, in both
    ImageStatus and ListImages.

    Source: PullImage, RemoveImage.
    """
    minted = registry.mint()
    registry.pull(minted)

    calls = (
        runtime.images.RemoveImage.future(images.removal_request(minted.reference)),
        runtime.images.PullImage.future(images.pull_request(minted.reference)),
    )
    for call in calls:
        with may_be_refused():  # either may fail
            call.result()

    found = images.look_up(minted.reference)
    assert [image.id for image in images.listed(minted)] == ([found.id] if found else [])
    runtime.images.PullImage(images.pull_request(minted.reference))
    assert images.look_up(minted.reference) is not None


@requirement("IMS-24")
def test_removals_of_one_image_at_once_all_succeed(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """RemoveImage of one unused image, called several times at once by name and by id, MUST always succeed,
    and ImageStatus MUST NOT report the image after any of these calls has returned.

    Source: RemoveImage.
    """
    minted = registry.mint(tags=["1", "2"])
    pulled = [registry.pull(minted, reference) for reference in minted.references]
    # each name twice, so that one of the two calls finds the image removed
    references = (*minted.references, minted.by_digest, pulled[0].reference) * 2

    def remove_and_look(reference: str) -> bool:
        runtime.images.RemoveImage(images.removal_request(reference))
        return images.look_up(reference) is not None

    with ThreadPoolExecutor(len(references)) as executor:
        found_afterwards = list(executor.map(remove_and_look, references))

    assert found_afterwards == [False] * len(references)
    assert images.listed(minted) == []


@requirement("IMS-25")
def test_pulled_image_is_visible_at_once(runtime: Runtime, registry: Registry, images: Images) -> None:
    """ImageStatus and ListImages MUST report an image as soon as PullImage has returned.

    Source: ImageStatus, whose response has no image only if it is absent, and PullImage. The kubelet creates
    the container next.
    """
    minted = registry.mint()
    before = (images.look_up(minted.reference), images.listed(minted))

    runtime.images.PullImage(images.pull_request(minted.reference))

    assert images.look_up(minted.reference) is not None
    assert [minted.reference in image.repo_tags for image in images.listed(minted)] == [True]
    # the image came with this pull
    assert before == (None, [])


@requirement("IMS-25")
def test_removed_image_is_gone_at_once(runtime: Runtime, registry: Registry, images: Images) -> None:
    """ImageStatus and ListImages MUST stop reporting an image as soon as RemoveImage has returned.

    Source: RemoveImage.
    """
    minted = registry.mint()
    registry.pull(minted)
    assert images.look_up(minted.reference) is not None
    assert images.listed(minted) != []

    runtime.images.RemoveImage(images.removal_request(minted.reference))

    assert images.look_up(minted.reference) is None
    assert images.listed(minted) == []


@requirement("IMS-09")
@disruptive
def test_a_pinned_image_that_nothing_uses_can_be_removed(own_runtime: OwnRuntime) -> None:
    """RemoveImage of a pinned image that no sandbox and no container uses MUST succeed and remove the image.

    Source: Image.pinned, which keeps the kubelet from removing an image; RemoveImage makes no exception.
    """
    # the sandbox image, on a runtime that has no sandbox yet
    assert own_runtime.daemon.pid
    spec = cri.ImageSpec(image=own_runtime.context.sandbox_image)
    with setting_up():
        own_runtime.images.PullImage(cri.PullImageRequest(image=spec))
        image = own_runtime.images.ImageStatus(cri.ImageStatusRequest(image=spec)).image
    if not image.pinned:
        unsupported("pinning by configuration: not even the sandbox image is reported as pinned")

    own_runtime.images.RemoveImage(cri.RemoveImageRequest(image=spec))

    listed = own_runtime.images.ListImages(cri.ListImagesRequest()).images
    assert image.id not in [each.id for each in listed]
