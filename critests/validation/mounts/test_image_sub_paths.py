"""VOL: directories inside images, mounted as volumes."""

from collections.abc import Callable

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.images import Images, Registry
from critests.fixtures.runtime import may_be_refused
from critests.fixtures.session import Observe
from critests.lifecycle.containers import Container
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import requirement, requires

pytestmark = requires(Capability.IMAGE_SUB_PATHS)

OUTSIDE = {
    "parents": "../../../../etc",
    "parents-inside": "sub/../../../../etc",
    "absolute": "/etc",
    "link": "escape",
    "absolute-link": "absolute-escape",
}
"""Paths that would lead out of the image `volume`."""


NOWHERE = "no/such/directory"
Mounting = Callable[[str], cri.ContainerConfig]
Mounted = Callable[[str], Container]


@pytest.fixture
def mounting(containers: Containers, images: Images) -> Mounting:
    """Configures containers with a path inside the image `volume` at /volume."""
    image = images.pull("volume").spec()

    def mounting(path: str) -> cri.ContainerConfig:
        mount = cri.Mount(container_path="/volume", image=image, image_sub_path=path, readonly=True)
        return containers.config(mounts=[mount])

    return mounting


@pytest.fixture
def mounted(containers: Containers, mounting: Mounting, own_sandbox: Sandbox) -> Mounted:
    """Makes such containers by calls that may be refused, in a sandbox of the test's own, where what a
    refused mount leaves behind is in nobody's way.
    """
    return lambda path: containers.attempt(mounting(path), in_sandbox=own_sandbox)


@requirement("VOL-06")
def test_a_directory_inside_an_image_is_mounted(mounted: Mounted) -> None:
    """With `image_sub_path` the container MUST find that directory of the image, and nothing around it.

    Source: Mount.image_sub_path.
    """
    container = mounted("sub")

    assert container.output("cat", "/volume/inside") == "inside"
    assert container.output("ls", "-A", "/volume").splitlines() == ["deep", "inside"]


@requirement("VOL-07/error")
def test_a_directory_that_the_image_lacks_is_refused(
    containers: Containers, mounting: Mounting, own_sandbox: Sandbox
) -> None:
    """CreateContainer or StartContainer MUST refuse an `image_sub_path` that the image does not have.

    Source: Mount.image_sub_path.
    """
    containers.refusal(mounting(NOWHERE), own_sandbox)


@requirement("VOL-07/text")
def test_the_refusal_of_a_directory_that_the_image_lacks_is_named(
    containers: Containers, mounting: Mounting, own_sandbox: Sandbox
) -> None:
    """That refusal SHOULD carry the word `ImageVolumeMountFailed`, by which the kubelet knows it.

    Source: Mount.image_sub_path, and the errors package of the CRI.
    """
    refusal = containers.refusal(mounting(NOWHERE), own_sandbox)

    assert "ImageVolumeMountFailed" in refusal.words


@requirement("VOL-07/next")
def test_a_refused_sub_path_leaves_the_next_mount_whole(mounted: Mounted, registry: Registry) -> None:
    """After a refused `image_sub_path`, a mount of that image in the same sandbox MUST show the image's root.

    Source: Mount.image. What the refused one has left may go only when the runtime next looks for what nobody
    needs, so another image is removed in between.
    """
    with may_be_refused():
        mounted(NOWHERE)
    container = mounted("")
    registry.pull(registry.mint())
    registry.discard()

    found = container.output("ls", "-A", "/volume").splitlines()
    assert found == ["absolute-escape", "escape", "hello", "sub"]


@requirement("VOL-08/no-escape")
@pytest.mark.parametrize("path", OUTSIDE.values(), ids=OUTSIDE)
def test_no_sub_path_leads_out_of_the_image(mounted: Mounted, path: str) -> None:
    """An `image_sub_path` that leads out of the image, by `..`, from the root or over a symbolic link, MUST
    NOT show anything that is not in the image.

    Source: Mount.image_sub_path: a directory inside the image.
    """
    found: list[str] = []

    with may_be_refused():
        found = mounted(path).output("find", "/volume", "-mindepth", "1").splitlines()

    of_the_image = {"absolute-escape", "escape", "hello", "sub", "sub/deep", "sub/inside", "inside", "deep"}
    assert {line.removeprefix("/volume/") for line in found} - of_the_image == set()


@requirement("VOL-08/form")
@pytest.mark.parametrize("path", ["hello", "../etc"], ids=["a-file", "outside"])
def test_what_becomes_of_other_sub_paths(mounted: Mounted, path: str, observe: Observe) -> None:
    """An `image_sub_path` that leads outside MAY be refused or confined; one of a file refused or mounted.

    Source: Mount.image_sub_path; the CRI does not say.
    """
    container = None

    with may_be_refused():
        container = mounted(path)

    observe("refused" if container is None else "mounted")
    if container is not None and path == "hello":
        assert container.output("cat", "/volume") == "hello from the image"
