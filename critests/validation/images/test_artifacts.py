"""IMG, VOL: artifacts: manifests in a registry that are no runnable images."""

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Containers,
    ImageName,
    Images,
    MintedImage,
    Registry,
    Runtime,
    refused_with,
    requirement,
    requires,
    unsupported,
)

FILES = {"note": "x\n", "second": "y"}
"""The files of the artifact, and how their contents begin."""


@pytest.fixture
def artifact(registry: Registry) -> MintedImage:
    """An artifact with two files, each in its own layer."""
    return registry.mint("artifact", changes={"files": [{"path": "second", "content": FILES["second"]}]})


@pytest.fixture
def pulled(runtime: Runtime, images: Images, artifact: MintedImage) -> ImageName:
    """The artifact, which the runtime has pulled; unsupported if it does not pull artifacts."""
    try:
        response = runtime.images.PullImage(images.pull_request(artifact.reference))
    except grpc.RpcError as error:
        unsupported(f"artifacts: PullImage refuses one with {refused_with(error).name}")
    return ImageName(response.image_ref, artifact.reference)


@requirement("IMG-45/found")
def test_a_pulled_artifact_is_found_by_each_of_its_names(
    images: Images, artifact: MintedImage, pulled: ImageName
) -> None:
    """ImageStatus MUST find an artifact that PullImage has pulled, by the reference that PullImage returned,
    its tag, its digest and its id, with its size, and not pinned.

    Source: PullImageResponse.image_ref, ImageStatus, Image.size, Image.pinned.
    """
    found = images.look_up(pulled.reference)

    assert found is not None
    assert (list(found.repo_tags), list(found.repo_digests)) == ([artifact.reference], [artifact.by_digest])
    assert (found.size > 0, found.pinned) == (True, False)
    names = (artifact.reference, artifact.by_digest, found.id)
    assert [images.id_of(name) for name in names] == [found.id] * len(names)


@requirement("IMG-45/found")
def test_a_pulled_artifact_is_listed(images: Images, artifact: MintedImage, pulled: ImageName) -> None:
    """ListImages MUST list an artifact that PullImage has pulled, once, with the id of its status.

    Source: ListImages, Image.id.
    """
    assert [image.id for image in images.listed(artifact)] == [images.id_of(pulled.reference)]


@requirement("IMG-45/removed")
@pytest.mark.parametrize("form", ["tag", "digest", "id"])
def test_an_artifact_is_removed(
    runtime: Runtime, images: Images, artifact: MintedImage, pulled: ImageName, form: str
) -> None:
    """RemoveImage MUST remove an artifact from ImageStatus and ListImages.

    Source: RemoveImage.
    """
    identity = images.id_of(pulled.reference)
    names = {"tag": artifact.reference, "digest": artifact.by_digest, "id": identity}

    runtime.images.RemoveImage(images.removal_request(names[form]))

    assert [images.look_up(name) for name in names.values()] == [None] * len(names)
    assert images.listed(artifact) == []


@requirement("VOL-10")
@requires(Capability.IMAGE_VOLUMES)
def test_all_files_of_an_artifact_are_mounted(containers: Containers, pulled: ImageName) -> None:
    """A mount of an artifact MUST show the file of each of its layers, by the name in the layer's annotation,
    if the runtime mounts artifacts.

    Source: Mount.image; not stated by the CRI for artifacts, guidance for artifacts in the OCI image
    specification.
    """
    mount = cri.Mount(container_path="/volume", image=pulled.spec(), readonly=True)
    try:
        container = containers.attempt(containers.config(mounts=[mount]))
    except grpc.RpcError as error:
        unsupported(f"the runtime rejects an artifact as a volume with {refused_with(error).name}")
    found = container.exec("find", "/volume", "-type", "f").stdout.decode().split()
    if not found:
        unsupported("the runtime mounts an artifact, but shows none of its files")

    assert sorted(found) == [f"/volume/{name}" for name in FILES]
    contents = {name: container.exec("cat", f"/volume/{name}").stdout.decode() for name in FILES}
    assert {name: text[: len(FILES[name])] for name, text in contents.items()} == FILES


@requirement("VOL-18")
@requires(Capability.IMAGE_VOLUMES)
def test_an_image_is_not_mounted_on_a_file(containers: Containers, images: Images) -> None:
    """CreateContainer or StartContainer SHOULD fail for a mount of an image at the path of a file of the
    container's own image.

    Source: Mount.image; not stated by the CRI, a directory cannot be mounted on a file.
    """
    mount = cri.Mount(container_path="/etc/passwd", image=images.pull("volume").spec(), readonly=True)

    containers.refusal(containers.config(mounts=[mount]))
