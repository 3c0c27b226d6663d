"""VOL: directories inside images, mounted as volumes."""

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.images import Images
from critests.fixtures.runtime import Runtime, may_be_refused, must_be_refused
from critests.fixtures.session import Observe
from critests.run.marks import requirement, requires

OUTSIDE = {
    "parents": "../../../../etc",
    "parents-inside": "sub/../../../../etc",
    "absolute": "/etc",
    "link": "escape",
    "absolute-link": "absolute-escape",
}
"""Paths that would lead out of the image `volume`."""


def sub_path(images: Images, path: str) -> cri.Mount:
    """Return the mount of a path inside the image `volume`."""
    image = images.pull("volume").spec()
    return cri.Mount(container_path="/volume", image=image, image_sub_path=path, readonly=True)


@requirement("VOL-06")
@requires(Capability.IMAGE_SUB_PATHS)
def test_a_directory_inside_an_image_is_mounted(containers: Containers, images: Images) -> None:
    """With `image_sub_path` the container MUST find that directory of the image, and nothing around it.

    Source: Mount.image_sub_path.
    """
    container = containers.exited(
        mounts=[sub_path(images, "sub")], script="cat /volume/inside; ls -A /volume; ls -A /volume/.. | wc -l"
    )

    assert container.log_lines("stdout")[:3] == ["inside", "deep", "inside"]


@requirement("VOL-07/error")
@requires(Capability.IMAGE_SUB_PATHS)
def test_a_directory_that_the_image_lacks_is_refused(
    runtime: Runtime, containers: Containers, images: Images
) -> None:
    """CreateContainer or StartContainer MUST refuse an `image_sub_path` that the image does not have.

    Source: Mount.image_sub_path.
    """
    runtime.refusal(containers.attempt, containers.config(mounts=[sub_path(images, "no/such/directory")]))


@requirement("VOL-07/text")
@requires(Capability.IMAGE_SUB_PATHS)
def test_the_refusal_of_a_directory_that_the_image_lacks_is_named(
    containers: Containers, images: Images
) -> None:
    """That refusal SHOULD carry the word `ImageVolumeMountFailed`, by which the kubelet knows it.

    Source: Mount.image_sub_path, and the errors package of the CRI.
    """
    config = containers.config(mounts=[sub_path(images, "no/such/directory")])

    with must_be_refused() as refusal:
        containers.attempt(config)

    assert "ImageVolumeMountFailed" in refusal.words


@requirement("VOL-08/no-escape")
@requires(Capability.IMAGE_SUB_PATHS)
@pytest.mark.parametrize("path", OUTSIDE.values(), ids=OUTSIDE)
def test_no_sub_path_leads_out_of_the_image(containers: Containers, images: Images, path: str) -> None:
    """An `image_sub_path` that leads out of the image, by `..`, from the root or over a symbolic link, MUST
    NOT show anything that is not in the image.

    Source: Mount.image_sub_path: a directory inside the image.
    """
    found: list[str] = []

    with may_be_refused():
        container = containers.attempt(containers.config(mounts=[sub_path(images, path)]))
        found = container.output("find", "/volume", "-mindepth", "1").splitlines()

    of_the_image = {"absolute-escape", "escape", "hello", "sub", "sub/deep", "sub/inside", "inside", "deep"}
    assert {line.removeprefix("/volume/") for line in found} - of_the_image == set()


@requirement("VOL-08/form")
@requires(Capability.IMAGE_SUB_PATHS)
@pytest.mark.parametrize("path", ["hello", "../etc"], ids=["a-file", "outside"])
def test_what_becomes_of_other_sub_paths(
    containers: Containers, images: Images, path: str, observe: Observe
) -> None:
    """An `image_sub_path` that leads outside MAY be refused or confined; one of a file refused or mounted.

    Source: Mount.image_sub_path; the CRI does not say.
    """
    container = None

    with may_be_refused():
        container = containers.attempt(containers.config(mounts=[sub_path(images, path)]))

    observe("refused" if container is None else "mounted")
    if container is not None and path == "hello":
        assert container.output("cat", "/volume") == "hello from the image"
