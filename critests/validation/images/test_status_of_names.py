"""IMS: what ImageStatus makes of names that leave something out, and what stands beside an image."""

from critests.fixtures.images import Images, Registry
from critests.fixtures.runtime import Runtime
from critests.fixtures.session import Observe
from critests.lifecycle.requests import ImageName
from critests.run.marks import requirement


@requirement("IMS-03")
def test_status_takes_the_name_that_was_pulled(runtime: Runtime, registry: Registry, images: Images) -> None:
    """ImageStatus by a name without a tag SHOULD find the image that a pull by that name brought.

    Source: ImageStatusRequest.image, PullImageRequest.image. Names that leave out the registry as well lead
    to one that only a configuration names.
    """
    minted = registry.mint(tags=["latest"])
    runtime.images.PullImage(images.pull_request(minted.name))

    assert images.id_of(minted.name) == images.id_of(minted.by_digest) != ""


@requirement("IMS-08/spec")
def test_specification_of_an_image_in_its_status(image: ImageName, images: Images, observe: Observe) -> None:
    """An image MAY have the specification by which it was pulled.

    Source: Image.spec; the CRI does not say when it is set.
    """
    found = images.look_up(image.written)

    assert found is not None
    observe("spec is set" if found.HasField("spec") else "spec is absent")
