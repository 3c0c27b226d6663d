"""VOL: directories inside images, mounted as volumes."""

from collections.abc import Callable

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Container,
    Containers,
    Images,
    RecordVariant,
    Registry,
    Sandbox,
    may_be_refused,
    requirement,
    requires,
)

pytestmark = requires(Capability.IMAGE_SUB_PATHS)

OUTSIDE = {
    "parents": "../../../../etc",
    # begins inside the image, so that a check of the beginning is not enough
    "parents-inside": "sub/../../../../etc",
    "absolute": "/etc",
    "link": "escape",
    "absolute-link": "absolute-escape",
}
"""By case: an `image_sub_path` that would resolve outside the image `volume`."""


MISSING = "no/such/directory"
ConfigWith = Callable[[str], cri.ContainerConfig]
RunWith = Callable[[str], Container]


@pytest.fixture
def config_with(containers: Containers, images: Images) -> ConfigWith:
    """Configures containers with a directory of the image `volume`, by its path, at /volume."""
    image = images.pull("volume").spec()

    def config(path: str) -> cri.ContainerConfig:
        mount = cri.Mount(container_path="/volume", image=image, image_sub_path=path, readonly=True)
        return containers.config(mounts=[mount])

    return config


@pytest.fixture
def run_with(containers: Containers, config_with: ConfigWith, own_sandbox: Sandbox) -> RunWith:
    """Runs such containers by calls that may be rejected, in a sandbox of the test's own, so that leftovers
    of a rejected mount affect no other test.
    """
    return lambda path: containers.attempt(config_with(path), in_sandbox=own_sandbox)


@requirement("VOL-06")
def test_a_directory_inside_an_image_is_mounted(run_with: RunWith) -> None:
    """A mount with `image_sub_path` MUST show that directory of the image, and nothing else of the image.

    Source: Mount.image_sub_path.
    """
    container = run_with("sub")

    assert container.output("cat", "/volume/inside") == "inside"
    assert container.output("ls", "-A", "/volume").splitlines() == ["deep", "inside"]


@requirement("VOL-07/error")
def test_a_missing_image_sub_path_is_refused(
    containers: Containers, config_with: ConfigWith, own_sandbox: Sandbox
) -> None:
    """CreateContainer or StartContainer MUST reject an `image_sub_path` that the image does not have.

    Source: Mount.image_sub_path.
    """
    containers.refusal(config_with(MISSING), own_sandbox)


@requirement("VOL-07/text")
def test_the_error_for_a_missing_image_sub_path_has_its_reason(
    containers: Containers, config_with: ConfigWith, own_sandbox: Sandbox
) -> None:
    """The error for an `image_sub_path` that the image lacks SHOULD contain `ImageVolumeMountFailed`, by
    which the kubelet recognizes it.

    Source: Mount.image_sub_path, and the errors package of the CRI.
    """
    refusal = containers.refusal(config_with(MISSING), own_sandbox)

    assert "ImageVolumeMountFailed" in refusal.words


@requirement("VOL-07/next")
def test_a_mount_is_complete_after_a_refused_sub_path(run_with: RunWith, registry: Registry) -> None:
    """A mount of an image MUST show the image's root after an `image_sub_path` of that image was rejected in
    the same sandbox.

    Source: Mount.image. A runtime may collect the leftovers of the rejected mount only later, with its next
    garbage collection, so the test removes another image in between.
    """
    with may_be_refused():
        run_with(MISSING)
    container = run_with("")
    registry.pull(registry.mint())
    registry.discard()

    found = container.output("ls", "-A", "/volume").splitlines()
    assert found == ["absolute-escape", "escape", "hello", "sub"]


@requirement("VOL-08/no-escape")
@pytest.mark.parametrize("path", OUTSIDE.values(), ids=OUTSIDE)
def test_no_sub_path_leads_out_of_the_image(run_with: RunWith, path: str) -> None:
    """An `image_sub_path` that leaves the image through `..`, an absolute path or a symbolic link MUST NOT
    show anything that is not in the image.

    Source: Mount.image_sub_path: a directory inside the image.
    """
    found: list[str] = []

    with may_be_refused():
        # without the mount itself
        found = run_with(path).output("find", "/volume", "-mindepth", "1").splitlines()

    image_files = {"absolute-escape", "escape", "hello", "sub", "sub/deep", "sub/inside", "inside", "deep"}
    assert {line.removeprefix("/volume/") for line in found} - image_files == set()


@requirement("VOL-08/form")
@pytest.mark.parametrize("path", ["hello", "../etc"], ids=["a-file", "outside"])
def test_form_of_other_image_sub_paths(run_with: RunWith, path: str, record_variant: RecordVariant) -> None:
    """An `image_sub_path` that leaves the image MAY be rejected or confined to it; one of a file MAY be
    rejected or mounted.

    Source: Mount.image_sub_path; the CRI does not say.
    """
    container = None

    with may_be_refused():
        container = run_with(path)

    record_variant("refused" if container is None else "mounted")
    if container is not None and path == "hello":
        assert container.output("cat", "/volume") == "hello from the image"
