"""IMS: images that get into a runtime other than by PullImage."""

from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.exit_codes import CannotTest
from critests.images.build import Builder
from critests.images.catalogue import image_spec
from critests.images.oci_layout import write_archive
from critests.node.starting.image_import import import_image
from critests.testing import OwnRuntime, blocked, disruptive, requirement

NAME = "critests.example/imported:1"
NOTICED_SECONDS = 10.0
"""Runtimes notice an image that another program has imported a moment later."""


@pytest.fixture
def imported(own_runtime: OwnRuntime, host_folder: Path) -> str:
    """The name of an image that another program of the node has imported into the runtime."""
    archive = host_folder / "image.tar"
    # another id than the sandbox image
    write_archive(archive, Builder().build(image_spec("pause"), labels={"name": NAME}), NAME)
    try:
        import_image(own_runtime.daemon, archive, NAME)
    except CannotTest as error:
        blocked(str(error))
    return NAME


@requirement("IMS-22")
@disruptive
def test_an_imported_image_is_listed(own_runtime: OwnRuntime, imported: str) -> None:
    """ListImages MUST list an image that a program of the node has imported, under its name, and as the same
    image that ImageStatus finds.

    Source: ListImages, ImageStatus. Not stated by the CRI; nodes without access to a registry import images.
    """
    request = cri.ImageStatusRequest(image=cri.ImageSpec(image=imported))

    listed = own_runtime.eventually(
        f"{imported} in ListImages",
        lambda: [
            each
            for each in own_runtime.images.ListImages(cri.ListImagesRequest()).images
            if imported in each.repo_tags
        ],
        NOTICED_SECONDS,
        lambda found: len(found) > 0,
    )

    status = own_runtime.images.ImageStatus(request).image
    assert [each.id for each in listed] == [status.id]
    assert list(status.repo_tags) == [imported]
