"""IMS: ImageStatus by incomplete names, and the image specification in its response."""

from critests.testing import ImageName, Images, RecordVariant, Registry, Runtime, requirement


@requirement("IMS-03")
def test_image_status_finds_an_image_by_a_name_without_a_tag(
    runtime: Runtime, registry: Registry, images: Images
) -> None:
    """ImageStatus by a name without a tag SHOULD find the image that was pulled by that name.

    Source: ImageStatusRequest.image, PullImageRequest.image. Names without a registry are not tested: their
    registry is the runtime's configuration.
    """
    minted = registry.mint(tags=["latest"])
    runtime.images.PullImage(images.pull_request(minted.name))

    assert images.id_of(minted.name) == images.id_of(minted.by_digest) != ""


@requirement("IMS-08/spec")
def test_specification_of_an_image_in_its_status(
    image: ImageName, images: Images, record_variant: RecordVariant
) -> None:
    """Image.spec MAY be the specification by which the image was pulled.

    Source: Image.spec; the CRI does not say when it is set.
    """
    found = images.look_up(image.written)

    assert found is not None
    record_variant("spec is set" if found.HasField("spec") else "spec is absent")
