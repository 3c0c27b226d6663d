"""IMG: pulls by each form of a reference, and the image that they result in."""

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Images,
    MintedImage,
    RecordVariant,
    Registry,
    Runtime,
    Sandbox,
    requirement,
)

FORMS = ["digest", "digest of the platform's manifest"]


def reference_of(image: MintedImage, form: str) -> str:
    """Return a reference of an image in one of the forms that references have."""
    return {
        "tag": image.reference,
        "no tag": image.name,
        "digest": image.by_digest,
        "digest of the platform's manifest": f"{image.name}@{image.manifest_digest}",
    }[form]


@requirement("IMG-01")
def test_pulled_image_is_found_by_its_tag(runtime: Runtime, registry: Registry, images: Images) -> None:
    """PullImage by tag MUST return an image_ref, and ImageStatus MUST then find the image by that tag.

    Source: PullImageResponse.image_ref, ImageStatus.
    """
    minted = registry.mint()

    response = runtime.images.PullImage(images.pull_request(minted.reference))

    assert response.image_ref != ""
    found = images.look_up(minted.reference)
    assert found is not None
    assert minted.reference in found.repo_tags


@requirement("IMG-02")
def test_pull_without_a_tag_means_latest(runtime: Runtime, registry: Registry, images: Images) -> None:
    """PullImage of a name without a tag MUST pull the tag `latest`.

    Source: PullImageRequest.image; critest pulls such names. `latest` is the default of image references.
    """
    minted = registry.mint(tags=["latest"])
    # another tag of the repository, which the pull must leave alone
    registry.mint(tags=["1"])

    runtime.images.PullImage(images.pull_request(minted.name))

    found = images.look_up(f"{minted.name}:latest")
    assert found is not None
    assert list(found.repo_tags) == [f"{minted.name}:latest"]
    assert "1" not in {request.reference for request in registry.requests(minted)}


@requirement("IMG-03")
def test_pull_by_digest_keeps_the_digest(runtime: Runtime, registry: Registry, images: Images) -> None:
    """Image.repo_digests of an image that was pulled by digest MUST have that digest.

    Source: PullImageRequest.image, Image.repo_digests.
    """
    minted = registry.mint(tags=[])

    runtime.images.PullImage(images.pull_request(minted.by_digest))

    found = images.look_up(minted.by_digest)
    assert found is not None
    assert minted.by_digest in found.repo_digests


@requirement("IMG-04")
def test_digest_takes_precedence_over_a_tag(runtime: Runtime, registry: Registry, images: Images) -> None:
    """PullImage of `name:tag@digest` SHOULD pull the digest, wherever the tag points.

    Source: reference rules of the OCI distribution project; the kubelet passes such names on unchanged.
    """
    # both have the same tag, which points to the newer image now
    older, newer = registry.mint(), registry.mint()

    response = runtime.images.PullImage(images.pull_request(f"{older.reference}@{older.digest}"))

    found = images.look_up(response.image_ref)
    assert found is not None
    assert older.by_digest in found.repo_digests
    assert newer.by_digest not in found.repo_digests


@requirement("IMG-05")
@pytest.mark.parametrize("form", FORMS)
def test_multi_arch_image_is_pulled_by_digest(
    runtime: Runtime, registry: Registry, images: Images, form: str
) -> None:
    """PullImage MUST pull a multi-platform image by the digest of its index and by that of its own manifest,
    and repo_digests MUST have the digest of the request.

    Source: PullImageRequest.image, Image.repo_digests; OCI image index.
    """
    minted = registry.mint("index", tags=[])
    reference = reference_of(minted, form)

    runtime.images.PullImage(images.pull_request(reference))

    found = images.look_up(reference)
    assert found is not None
    assert reference in found.repo_digests


@requirement("IMG-05")
@pytest.mark.parametrize("forms", [FORMS, FORMS[::-1]], ids=["index first", "manifest first"])
def test_image_is_known_by_the_digests_of_both_pulls(
    runtime: Runtime, registry: Registry, images: Images, forms: list[str]
) -> None:
    """After pulls of a multi-platform image by the digest of its index and by that of its own manifest,
    repo_digests MUST have both digests, and ImageStatus MUST find the image by either of them.

    Source: PullImageRequest.image, Image.repo_digests; OCI image index.
    """
    minted = registry.mint("index", tags=[])
    references = [reference_of(minted, form) for form in forms]

    for reference in references:
        runtime.images.PullImage(images.pull_request(reference))

    found = [images.look_up(reference) for reference in references]
    digests = [set(image.repo_digests) if image else set() for image in found]
    assert [set(references) - each for each in digests] == [set(), set()]


@requirement("IMG-43")
@pytest.mark.parametrize("form", ["tag", *FORMS])
def test_digests_of_a_multi_arch_image(
    runtime: Runtime, registry: Registry, images: Images, record_variant: RecordVariant, form: str
) -> None:
    """The image of one pull of a multi-platform image MAY be known by the digest of its index, by that of its
    own manifest, or by both; ImageStatus MUST find it by each digest that repo_digests has.

    Source: Image.repo_digests, ImageStatus; the CRI does not state which digests a pull adds.
    """
    minted = registry.mint("index")

    response = runtime.images.PullImage(images.pull_request(reference_of(minted, form)))

    found = images.look_up(response.image_ref)
    assert found is not None
    known = [each for each in FORMS if reference_of(minted, each) in found.repo_digests]
    record_variant(" and ".join(known))
    assert known
    assert [images.id_of(each) for each in found.repo_digests] == [found.id] * len(found.repo_digests)


@requirement("IMG-06")
def test_variant_of_the_node_is_picked_from_an_index(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage of a multi-platform image MUST pull the variant for the node's platform.

    Source: OCI image index, `platform`. The registry records which configuration and layers are fetched.
    """
    minted = registry.mint("index")

    runtime.images.PullImage(images.pull_request(minted.reference))

    fetched = {request.reference for request in registry.requests(minted) if request.kind == "blob"}
    assert minted.config_digest in fetched
    # the top layer is unique to the image; another image of the node may have the others
    assert minted.layer_digests[-1] in fetched


@requirement("IMG-08")
@pytest.mark.parametrize("form", ["tag", "no tag", "digest"])
def test_image_ref_is_the_id_of_the_image(
    runtime: Runtime, registry: Registry, images: Images, form: str
) -> None:
    """PullImageResponse.image_ref MUST be the id of the image, whatever form the reference has.

    Source: PullImageResponse.image_ref, Image.id.
    """
    reference = reference_of(registry.mint(tags=["latest"]), form)

    response = runtime.images.PullImage(images.pull_request(reference))

    found = images.look_up(reference)
    assert found is not None
    assert response.image_ref == found.id


@requirement("IMG-09/same-ref")
def test_repeated_pull_returns_the_same_ref(runtime: Runtime, registry: Registry, images: Images) -> None:
    """PullImage of an image that is present MUST succeed and return the same image_ref as the first pull.

    Source: PullImageResponse.image_ref.
    """
    minted = registry.mint()
    first = registry.pull(minted)

    again = runtime.images.PullImage(images.pull_request(minted.reference))

    assert again.image_ref == first.reference


@requirement("IMG-09/no-download")
def test_repeated_pull_downloads_no_layer_again(runtime: Runtime, registry: Registry, images: Images) -> None:
    """PullImage of an image that is present SHOULD NOT download its layers again.

    Source: with the pull policy Always, the kubelet pulls at every start of a container.
    """
    minted = registry.mint()
    registry.pull(minted)
    registry.forget_requests(minted)

    runtime.images.PullImage(images.pull_request(minted.reference))

    assert [
        request for request in registry.requests(minted) if request.reference in minted.layer_digests
    ] == []


@requirement("IMG-10")
def test_tags_of_the_same_content_share_an_entry(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """ListImages MUST list two pulled tags of the same content as one image with both tags.

    Source: Image.repo_tags.
    """
    minted = registry.mint(tags=["1", "2"])

    for reference in minted.references:
        runtime.images.PullImage(images.pull_request(reference))

    assert [set(image.repo_tags) for image in images.listed(minted)] == [set(minted.references)]


@requirement("IMG-11")
def test_repositories_with_the_same_content_share_an_image(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """ListImages MUST list the same content from two repositories as one image with the digests of both.

    Source: Image.id, Image.repo_digests, RemoveImage.
    """
    # equal salts make equal images
    here, there = (registry.mint(repository=name, salt=registry.prefix) for name in ("here", "there"))

    for minted in (here, there):
        runtime.images.PullImage(images.pull_request(minted.reference))

    assert [image.id for image in images.listed(here)] == [image.id for image in images.listed(there)]
    assert [
        {here.by_digest, there.by_digest} <= set(image.repo_digests) for image in images.listed(here)
    ] == [True]


@requirement("IMG-12/moved")
def test_moved_tag_belongs_to_the_new_image_only(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """Image.repo_tags MUST have a moved tag only in the new image after the next pull of the tag.

    Source: Image.repo_tags.
    """
    old = registry.mint()
    registry.pull(old)
    new = registry.mint()

    response = runtime.images.PullImage(images.pull_request(new.reference))

    found = images.look_up(new.reference)
    assert found is not None
    assert new.by_digest in found.repo_digests
    assert [image.id for image in images.listed(new) if new.reference in image.repo_tags] == [found.id]
    assert response.image_ref != ""


@requirement("IMG-12/remains")
def test_image_whose_tag_has_moved_remains(runtime: Runtime, registry: Registry, images: Images) -> None:
    """An image whose tag has moved to another image MUST remain under its id, without the tag.

    Source: Image.id, Image.repo_tags; RemoveImage, which alone removes images. Containers may still run from
    it.
    """
    old = registry.mint()
    registry.pull(old)
    old_id = images.id_of(old.reference)
    new = registry.mint()

    runtime.images.PullImage(images.pull_request(new.reference))

    found = images.look_up(old_id)
    assert found is not None
    assert found.id == old_id
    assert old.reference not in found.repo_tags


@requirement("IMG-12/digest")
def test_image_whose_tag_has_moved_keeps_its_digest(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """ImageStatus SHOULD find an image by its digest after its tag has moved, and report the digest.

    Source: Image.repo_digests. Not stated by the CRI; otherwise a pod that names the digest has to pull the
    image again.
    """
    old = registry.mint()
    registry.pull(old)
    new = registry.mint()

    runtime.images.PullImage(images.pull_request(new.reference))

    found = images.look_up(old.by_digest)
    assert found is not None
    assert old.by_digest in found.repo_digests


@requirement("IMG-35")
def test_pull_accepts_the_configuration_of_a_sandbox(
    runtime: Runtime, registry: Registry, images: Images, sandbox: Sandbox
) -> None:
    """PullImage for a pod MUST accept the configuration of the pod's sandbox.

    Source: PullImageRequest.sandbox_config.
    """
    minted = registry.mint()
    spec = cri.ImageSpec(image=minted.reference, user_specified_image=minted.reference)

    response = runtime.images.PullImage(cri.PullImageRequest(image=spec, sandbox_config=sandbox.config))

    assert response.image_ref != ""
    assert images.look_up(minted.reference) is not None


@requirement("IMG-37")
def test_annotations_of_an_image_do_not_change_what_is_pulled(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """ImageSpec.annotations of a pull SHOULD have no effect on the content of the image.

    Source: ImageSpec.annotations.
    """
    minted = registry.mint()
    spec = cri.ImageSpec(
        image=minted.reference,
        user_specified_image=minted.reference,
        annotations={"critests.example/note": "x"},
    )

    runtime.images.PullImage(cri.PullImageRequest(image=spec))

    found = images.look_up(minted.reference)
    assert found is not None
    assert minted.by_digest in found.repo_digests


@requirement("IMG-38")
def test_user_specified_image_is_not_what_is_pulled(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """PullImage SHOULD pull `image`; `user_specified_image` is for messages and policies only.

    Source: ImageSpec.user_specified_image.
    """
    requested, written = registry.mint(repository="requested"), registry.mint(repository="written")
    spec = cri.ImageSpec(image=requested.reference, user_specified_image=written.reference)

    runtime.images.PullImage(cri.PullImageRequest(image=spec))

    assert images.look_up(requested.reference) is not None
    assert images.look_up(written.reference) is None
    assert registry.requests(written) == []
