"""IMG, VOL: artifacts: manifests in a registry that are no runnable images."""

import secrets
from dataclasses import replace

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.images import oci_image
from critests.images.build import Builder
from critests.images.catalogue import image_spec
from critests.images.platforms import NATIVE_VARIANT, Platform
from critests.testing import (
    Architecture,
    Capability,
    Containers,
    ImageName,
    Images,
    MintedImage,
    Registry,
    Runtime,
    machine_architecture,
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


def pull(runtime: Runtime, images: Images, reference: str) -> ImageName:
    """Pull an artifact; the test is unsupported if the runtime does not pull artifacts."""
    try:
        response = runtime.images.PullImage(images.pull_request(reference))
    except grpc.RpcError as error:
        unsupported(f"artifacts: PullImage refuses one with {refused_with(error).name}")
    return ImageName(response.image_ref, reference)


@pytest.fixture
def pulled(runtime: Runtime, images: Images, artifact: MintedImage) -> ImageName:
    """The artifact, which the runtime has pulled; unsupported if it does not pull artifacts."""
    return pull(runtime, images, artifact.reference)


def mounted_files(containers: Containers, artifact: ImageName) -> dict[str, str]:
    """Return the contents of the files that a container finds where an artifact is mounted, by path; the test
    is unsupported if there are none.
    """
    mount = cri.Mount(container_path="/volume", image=artifact.spec(), readonly=True)
    try:
        container = containers.attempt(containers.config(mounts=[mount]))
    except grpc.RpcError as error:
        unsupported(f"the runtime rejects an artifact as a volume with {refused_with(error).name}")
    paths = container.exec("find", "/volume", "-type", "f").stdout.decode().split()
    if not paths:
        unsupported("the runtime mounts an artifact, but shows none of its files")
    return {path: container.exec("cat", path).stdout.decode() for path in paths}


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
    files = mounted_files(containers, pulled)

    beginnings = {f"/volume/{name}": content for name, content in FILES.items()}
    assert {path: text[: len(beginnings.get(path, ""))] for path, text in files.items()} == beginnings


@requirement("VOL-10")
@requires(Capability.IMAGE_VOLUMES)
def test_the_artifact_for_the_platform_is_mounted(
    runtime: Runtime, containers: Containers, images: Images, registry: Registry, artifact: MintedImage
) -> None:
    """A mount of an index of artifacts MUST show the files of the artifact for the node's platform, if the
    runtime mounts artifacts.

    Source: Mount.image; OCI image index, platform.
    """
    own, salt = machine_architecture(), secrets.token_hex(8)
    # not the node's platform first, so that the first artifact is the wrong one
    built = {
        platform: Builder(own).build(
            image_spec("artifact").changed({"files": [{"path": "platform", "content": platform}]}), salt=salt
        )
        for platform in sorted(Architecture, key=own.__eq__)
    }
    top = oci_image.index([(each.top, Platform(name, NATIVE_VARIANT[name])) for name, each in built.items()])
    blobs = [blob for each in built.values() for blob in (each.top, *each.blobs)]
    registry.client.put(artifact.repository, "index", top, blobs)
    index = replace(artifact, tags=("index",), digest=top.digest, config_digest="")
    registry.minted.append(index)

    files = mounted_files(containers, pull(runtime, images, index.reference))

    # the salt is the end of each file
    assert files.get("/volume/platform") == own + salt


@requirement("VOL-18")
@requires(Capability.IMAGE_VOLUMES)
def test_an_image_is_not_mounted_on_a_file(containers: Containers, images: Images) -> None:
    """CreateContainer or StartContainer SHOULD fail for a mount of an image at the path of a file of the
    container's own image.

    Source: Mount.image; not stated by the CRI, a directory cannot be mounted on a file.
    """
    mount = cri.Mount(container_path="/etc/passwd", image=images.pull("volume").spec(), readonly=True)

    containers.refusal(containers.config(mounts=[mount]))
