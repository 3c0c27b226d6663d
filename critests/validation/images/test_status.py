"""IMS: what a runtime reports about the images that it has."""

from collections.abc import Callable

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Containers,
    ImageName,
    Images,
    RecordVariant,
    Registry,
    Runtime,
    Sandbox,
    objects_of,
    refused_with,
    requirement,
    requires,
)

Entry = Callable[[str], cri.Image]

NO_FILTER = {
    "no filter": None,
    "empty filter": cri.ImageFilter(),
    "filter with an empty image": cri.ImageFilter(image=cri.ImageSpec()),
}
USERS = {
    "number": ("user-number", 1000, ""),
    "number and group": ("user-number-group", 1000, ""),
    "number of root": ("user-root", 0, ""),
    "name": ("user-name", None, "tester"),
    "name and group": ("user-name-group", None, "tester"),
    "none": ("plain", None, ""),
}


def value_of(image: cri.Image, field: str) -> object:
    """Return a field of an image in a form that compares: lists sorted, None for a uid that is not set."""
    if field == "uid":
        return image.uid.value if image.HasField("uid") else None
    value = getattr(image, field)
    return sorted(value) if field.startswith("repo_") else value


@pytest.fixture
def entry(runtime: Runtime) -> Entry:
    """Return a function that finds the only entry with an id in the list of all images."""

    def find(image_id: str) -> cri.Image:
        found = [
            image
            for image in runtime.images.ListImages(cri.ListImagesRequest()).images
            if image.id == image_id
        ]
        assert len(found) == 1, f"ListImages has {len(found)} entries with the id {image_id}"
        return found[0]

    return find


@requirement("IMS-01")
def test_status_of_an_absent_image_is_empty(runtime: Runtime, image: ImageName) -> None:
    """ImageStatus of an image that is absent MUST succeed, with a response without an image.

    Source: ImageStatusResponse.image.
    """
    # another tag of a repository that the runtime knows
    absent = f"{image.written}-absent"

    response = runtime.images.ImageStatus(cri.ImageStatusRequest(image=cri.ImageSpec(image=absent)))

    assert not response.HasField("image")


@requirement("IMS-02/found")
def test_image_status_finds_an_image_by_its_name(runtime: Runtime, image: ImageName) -> None:
    """ImageStatus MUST find an image by the name that it was pulled by.

    Source: ImageStatusRequest.image.
    """
    response = runtime.images.ImageStatus(cri.ImageStatusRequest(image=cri.ImageSpec(image=image.written)))

    assert response.HasField("image")
    assert image.is_among(response.image.repo_tags)


@requirement("IMS-02/found")
@pytest.mark.parametrize("form", ["repo digest", "id", "image_ref of the pull"])
def test_image_status_finds_an_image_by_what_the_runtime_returned(
    runtime: Runtime, image: ImageName, images: Images, form: str
) -> None:
    """ImageStatus MUST find an image by its digest, by its id and by the image_ref of its pull, exactly as
    the runtime returned them.

    Source: ImageStatusRequest.image, Image.id, PullImageResponse.image_ref.
    """
    by_name = images.look_up(image.written)
    assert by_name is not None
    reference = {
        "repo digest": next(iter(by_name.repo_digests), ""),
        "id": by_name.id,
        "image_ref of the pull": image.reference,
    }[form]

    response = runtime.images.ImageStatus(cri.ImageStatusRequest(image=cri.ImageSpec(image=reference)))

    assert response.image == by_name


@requirement("IMS-02/prefix")
def test_image_status_may_find_an_id_with_and_without_its_algorithm(
    runtime: Runtime, image: ImageName, images: Images, record_variant: RecordVariant
) -> None:
    """ImageStatus MAY find an image by its id with `sha256:` added or removed; if so, it is the same image.

    Source: ImageStatusRequest.image.
    """
    by_name = images.look_up(image.written)
    assert by_name is not None
    # runtimes differ as to whether image ids begin with the name of the algorithm
    prefixed = by_name.id.startswith("sha256:")
    other_form = by_name.id.removeprefix("sha256:") if prefixed else f"sha256:{by_name.id}"

    try:
        response = runtime.images.ImageStatus(cri.ImageStatusRequest(image=cri.ImageSpec(image=other_form)))
    except grpc.RpcError as error:
        code = refused_with(error).name
        record_variant(f"an id {'without' if prefixed else 'with'} sha256: in front is refused with {code}")
        return

    assert response.image in (by_name, cri.Image())
    record_variant(
        f"an id is {'found' if response.HasField('image') else 'not found'}"
        f" {'without' if prefixed else 'with'} sha256: in front"
    )


@requirement("IMS-04")
def test_id_of_an_image_is_the_same_in_every_response(image: ImageName, images: Images, entry: Entry) -> None:
    """Image.id MUST NOT be empty, and MUST be the same in the responses of PullImage, ImageStatus and
    ListImages.

    Source: Image.id, PullImageResponse.image_ref.
    """
    # twice, as an id must also be stable
    first, again = images.look_up(image.written), images.look_up(image.written)

    assert first is not None
    assert again is not None
    assert first.id != ""
    assert [first.id, again.id, image.reference] == [entry(first.id).id] * 3


@requirement("IMS-04")
def test_containers_report_the_id_of_their_image(
    runtime: Runtime, image: ImageName, images: Images, containers: Containers
) -> None:
    """ContainerStatus and ListContainers MUST report the image id of a container as ImageStatus does.

    Source: ContainerStatus.image_id, Container.image_id.
    """
    found = images.look_up(image.written)
    assert found is not None
    container = containers.created()

    status = runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=container.id)).status

    listed = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(id=container.id))
    ).containers
    assert status.image_id == found.id
    assert [each.image_id for each in listed] == [found.id]


@requirement("IMS-05")
def test_size_of_an_image_is_plausible(registry: Registry, images: Images, entry: Entry) -> None:
    """Image.size MUST be between the downloaded size and a few times that, and MUST NOT change.

    Source: Image.size. The runtime chooses whether it is the compressed or the unpacked size.
    """
    minted = registry.mint()
    registry.pull(minted)

    found = images.look_up(minted.reference)

    assert found is not None
    # 0.9: some bytes, such as the manifest's, may not count; 4: unpacked layers are a few times as large
    assert 0.9 * minted.size <= found.size <= 4 * minted.size
    assert entry(found.id).size == found.size


@requirement("IMS-06")
@pytest.mark.parametrize(("name", "uid", "username"), USERS.values(), ids=USERS)
def test_user_of_an_image_is_reported(
    images: Images, entry: Entry, name: str, uid: int | None, username: str
) -> None:
    """An Image MUST have uid if the image's user is a number, username if it is a name, and neither if it has
    no user.

    Source: Image.uid, Image.username.
    """
    pulled = images.pull(name)

    found = images.look_up(pulled.written)

    assert found is not None
    for image in (found, entry(found.id)):
        assert (value_of(image, "uid"), image.username) == (uid, username)


@requirement("IMS-07")
def test_names_of_an_image_are_full_and_unique(registry: Registry, images: Images) -> None:
    """repo_tags and repo_digests MUST contain each name once, in full, and no placeholder.

    Source: Image.repo_tags, Image.repo_digests.
    """
    minted = registry.mint(tags=["1", "2"])
    for reference in minted.references:
        registry.pull(minted, reference)

    listed = images.listed(minted)

    tags = [tag for image in listed for tag in image.repo_tags]
    digests = [digest for image in listed for digest in image.repo_digests]
    assert sorted(tags) == sorted(minted.references)
    assert sorted(digests) == sorted(set(digests))
    assert [digest for digest in digests if not digest.startswith(f"{minted.name}@sha256:")] == []


@requirement("IMS-07")
def test_image_without_a_tag_has_no_placeholder_for_one(registry: Registry, images: Images) -> None:
    """Image.repo_tags of an image that was pulled by digest MUST be empty, without a placeholder.

    Source: Image.repo_tags.
    """
    minted = registry.mint(tags=[])
    registry.pull(minted)

    listed = images.listed(minted)

    assert [list(image.repo_tags) for image in listed] == [[]]
    assert [list(image.repo_digests) for image in listed] == [[minted.by_digest]]


@requirement("IMS-08/pinned")
@requires(Capability.SANDBOX_PROCESS)
def test_image_of_the_sandbox_is_pinned(runtime: Runtime, sandbox: Sandbox) -> None:
    """Image.pinned of the sandbox image SHOULD be true, so that the kubelet does not remove it.

    Source: Image.pinned. The CRI does not say which image that is. If the run has started the runtime, the
    image is the configured one; otherwise any image may be the pinned one once there is a sandbox.
    """
    assert sandbox.id != ""
    configured = runtime.context.sandbox_image

    listed = runtime.images.ListImages(cri.ListImagesRequest()).images

    candidates = [image for image in listed if not configured or configured in image.repo_tags]
    assert [image.id for image in candidates if image.pinned] != [], (
        f"none of {len(candidates)} images is pinned"
    )


@requirement("IMS-10")
def test_verbose_status_of_an_image_has_its_configuration(runtime: Runtime, registry: Registry) -> None:
    """ImageStatus with verbose SHOULD return the image's configuration, as JSON in `imageSpec` of `info`.

    Source: ImageStatusResponse.info.
    """
    minted = registry.mint(changes={"labels": {"critests.example/note": "noted"}})
    registry.pull(minted)

    response = runtime.images.ImageStatus(
        cri.ImageStatusRequest(image=cri.ImageSpec(image=minted.reference), verbose=True)
    )

    # an image configuration of the OCI, with labels in `config`
    images = [document.get("imageSpec", {}) for document in objects_of(response.info)]
    labels = [image.get("config", {}).get("Labels", {}) for image in images]
    assert "noted" in [each.get("critests.example/note") for each in labels]


@requirement("IMS-10")
def test_plain_status_of_an_image_has_no_info(runtime: Runtime, image: ImageName) -> None:
    """ImageStatus without verbose SHOULD return no info.

    Source: ImageStatusRequest.verbose, ImageStatusResponse.info.
    """
    response = runtime.images.ImageStatus(cri.ImageStatusRequest(image=cri.ImageSpec(image=image.written)))

    assert response.HasField("image")
    assert dict(response.info) == {}


@requirement("IMS-11/no-filter")
@pytest.mark.parametrize("selection", NO_FILTER.values(), ids=NO_FILTER)
def test_list_images_without_a_filter_lists_all(
    runtime: Runtime, image: ImageName, images: Images, selection: cri.ImageFilter | None
) -> None:
    """ListImages without a filter, or with an empty one, MUST list every image.

    Source: ListImagesRequest.filter.
    """
    expected = [image, images.pull("user-number")]

    response = runtime.images.ListImages(cri.ListImagesRequest(filter=selection))

    tags = {tag for listed in response.images for tag in listed.repo_tags}
    assert [each for each in expected if not each.is_among(tags)] == []


@requirement("IMS-11/filter")
def test_list_images_may_filter_by_image(
    runtime: Runtime, image: ImageName, images: Images, record_variant: RecordVariant
) -> None:
    """ListImages filtered by image MAY list only that image; it MUST list that image in any case.

    Source: ImageFilter.image.
    """
    other = images.pull("user-number")

    response = runtime.images.ListImages(
        cri.ListImagesRequest(filter=cri.ImageFilter(image=cri.ImageSpec(image=image.written)))
    )

    tags = {tag for listed in response.images for tag in listed.repo_tags}
    assert image.is_among(tags)
    record_variant("the filter is ignored" if other.is_among(tags) else "the filter selects")


@requirement("IMS-12")
@pytest.mark.parametrize("field", ["id", "repo_tags", "repo_digests", "size", "uid", "username", "pinned"])
def test_list_and_status_of_an_image_agree(
    registry: Registry, images: Images, entry: Entry, field: str
) -> None:
    """ListImages and ImageStatus MUST report the same values of the fields of an image.

    Source: Image.
    """
    minted = registry.mint("user-number")
    registry.pull(minted)

    status = images.look_up(minted.reference)

    assert status is not None
    assert value_of(entry(status.id), field) == value_of(status, field)


@requirement("IMS-13")
def test_list_images_lists_each_image_once(runtime: Runtime, registry: Registry) -> None:
    """ListImages MUST have exactly one entry for each id.

    Source: Image.id.
    """
    minted = registry.mint("tags")
    for reference in minted.references:
        registry.pull(minted, reference)

    response = runtime.images.ListImages(cri.ListImagesRequest())

    ids = [image.id for image in response.images]
    assert sorted(ids) == sorted(set(ids))
