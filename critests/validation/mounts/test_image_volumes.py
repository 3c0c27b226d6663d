"""VOL: images mounted as volumes: what they show, and which requests are rejected."""

from pathlib import Path

import grpc

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Containers,
    ImageName,
    Images,
    RecordVariant,
    Registry,
    Runtime,
    SetUpFailed,
    lingering,
    may_be_refused,
    refused_with,
    requirement,
    requires,
    setting_up,
    unsupported,
)

HELLO = "hello from the image"
"""The text of the file `hello` of the image `volume`."""


def volume(image: ImageName, path: str = "/volume", **settings: object) -> cri.Mount:
    """Return the mount of an image as the kubelet requests it, with further settings."""
    return cri.Mount(
        **{"container_path": path, "image": image.spec(), "readonly": True, **settings}  # type: ignore[arg-type]  # settings of a message
    )


@requirement("VOL-01")
@requires(Capability.IMAGE_VOLUMES)
def test_an_image_is_mounted_at_the_requested_path(containers: Containers, images: Images) -> None:
    """A mount with `image` MUST show the root of that image at `container_path`.

    Source: Mount.image.
    """
    mount = volume(images.pull("volume"))
    config = containers.config(mounts=[mount], script="cat /volume/hello /volume/sub/inside; ls /volume")

    container = containers.attempt(config)

    container.exited()
    assert container.log_lines("stdout") == [HELLO, "inside", "absolute-escape", "escape", "hello", "sub"]


@requirement("VOL-02")
@requires(Capability.IMAGE_VOLUMES)
def test_an_image_volume_is_never_writable(containers: Containers, images: Images) -> None:
    """A mount with `image` and without `readonly` MUST be read-only nevertheless, or be rejected.

    Source: Mount.image, Mount.readonly.
    """
    mount = volume(images.pull("volume"), readonly=False)
    container = None

    with may_be_refused():
        container = containers.attempt(containers.config(mounts=[mount]))

    if container is not None:
        response = container.exec("touch", "/volume/new")
        # root may write to any file system that is not read-only
        assert (response.exit_code != 0, b"Read-only file system" in response.stderr) == (True, True)
        assert container.output("cat", "/volume/hello") == HELLO


def found_with_host_path(containers: Containers, images: Images, folder: Path) -> str:
    """Return the files in a mount of both an image and a host path; empty if it is rejected."""
    (folder / "of-the-host").touch()
    mount = volume(images.pull("volume"), host_path=str(folder))
    try:
        container = containers.attempt(containers.config(mounts=[mount]))
    except grpc.RpcError as error:
        refused_with(error)
        return ""
    return container.output("ls", "/volume")


@requirement("VOL-03/host-path")
@requires(Capability.IMAGE_VOLUMES, Capability.SAME_HOST)
def test_an_image_volume_shows_no_host_path(
    containers: Containers, images: Images, host_folder: Path
) -> None:
    """A mount with both `image` and `host_path` MUST NOT show the host path.

    Source: Mount.image, which replaces `host_path`.
    """
    assert "of-the-host" not in found_with_host_path(containers, images, host_folder)


@requirement("VOL-03/form")
@requires(Capability.IMAGE_VOLUMES, Capability.SAME_HOST)
def test_form_of_a_mount_of_an_image_and_a_host_path(
    containers: Containers, images: Images, host_folder: Path, record_variant: RecordVariant
) -> None:
    """A mount with both `image` and `host_path` MAY be rejected, or show the image.

    Source: Mount.image; the CRI leaves it to the caller not to set both.
    """
    found = found_with_host_path(containers, images, host_folder)

    record_variant("the image is mounted" if found else "refused")
    assert not found or "hello" in found


@requirement("VOL-04")
@requires(Capability.IMAGE_VOLUMES)
def test_a_missing_image_is_not_pulled_for_a_volume(
    containers: Containers, registry: Registry, images: Images
) -> None:
    """A mount of an image that the runtime does not have MUST be rejected, and the runtime MUST NOT pull the
    image.

    Source: Mount.image: the caller has pulled it.
    """
    image = registry.mint("volume")
    mount = volume(ImageName(image.reference, image.reference))

    containers.refusal(containers.config(mounts=[mount]))

    assert registry.requests(image) == []
    assert images.look_up(image.reference) is None


@requirement("VOL-05")
@requires(Capability.IMAGE_VOLUMES)
def test_an_image_is_mounted_by_the_reference_of_its_pull(
    runtime: Runtime, containers: Containers, images: Images, registry: Registry
) -> None:
    """A mount MUST accept the reference that PullImage returned for its image.

    Source: Mount.image, PullImageResponse.image_ref.
    """
    minted = registry.mint("volume")
    pulled = runtime.images.PullImage(images.pull_request(minted.reference))

    container = containers.exited(
        mounts=[volume(ImageName(pulled.image_ref, minted.reference))], script=lingering("cat /volume/hello")
    )

    assert container.log_lines("stdout") == [HELLO]


@requirement("VOL-09")
@requires(Capability.IMAGE_VOLUMES)
def test_images_are_mounted_several_times_and_together(
    containers: Containers, images: Images, image: ImageName
) -> None:
    """A container MUST find every image volume: one image at two paths and in two containers, a second image,
    and the container's own image.

    Source: Mount.image.
    """
    mounts = [
        volume(images.pull("volume"), "/first"),
        volume(images.pull("volume"), "/second"),
        volume(images.pull("docker"), "/third"),
        volume(image, "/own"),
    ]
    script = "cat /first/hello /second/hello /third/docker; test -x /own/bin/sh && echo own"

    outputs = [
        containers.exited(mounts=mounts, script=lingering(script)).log_lines("stdout") for _ in range(2)
    ]

    assert outputs == [[HELLO, HELLO, "docker", "own"]] * 2


@requirement("VOL-10")
@requires(Capability.IMAGE_VOLUMES)
def test_an_artifact_is_mounted_as_a_volume(containers: Containers, images: Images) -> None:
    """A mount of an artifact, an OCI manifest that is not a runnable image, MUST show the files of its layers
    if the runtime pulls artifacts.

    Source: Mount.image; not stated by the CRI for artifacts.
    """
    try:
        artifact = images.pull("artifact")
        container = containers.attempt(containers.config(mounts=[volume(artifact)]))
    except (SetUpFailed, grpc.RpcError) as refusal:
        error = refusal.__cause__ if isinstance(refusal, SetUpFailed) else refusal
        # a pull that timed out or did not reach the registry is not a rejection
        if not isinstance(error, grpc.RpcError):
            raise
        unsupported(
            f"the runtime rejects an artifact as a volume with {refused_with(error).name}: {error.details()}"
        )
    found = container.exec("find", "/volume", "-type", "f").stdout.decode().split()
    if not found:
        unsupported("the runtime pulls and mounts an artifact, but shows none of its files")

    assert found == ["/volume/note"]
    assert container.output("cat", "/volume/note") == "x"


@requirement("VOL-11")
@requires(Capability.IMAGE_VOLUMES)
def test_running_a_program_from_a_volume(
    containers: Containers, image: ImageName, record_variant: RecordVariant
) -> None:
    """A program in an image volume MAY be executable, or not.

    Source: the CRI does not say; Kubernetes documents that such volumes are mounted `noexec`.
    """
    container = containers.running(mounts=[volume(image)])

    response = container.exec("/volume/bin/busybox", "echo", "it runs")
    noexec = "noexec" in container.mount_at("/volume").options

    record_variant(
        f"it {'runs' if response.exit_code == 0 else 'does not run'}, {'noexec' if noexec else 'no noexec'}"
    )
    assert (response.stdout == b"it runs\n") is not noexec


@requirement("VOL-12/image")
@requires(Capability.IMAGE_VOLUMES)
def test_status_reports_which_image_is_mounted(containers: Containers, images: Images) -> None:
    """ContainerStatus SHOULD report the image of each image volume, and no other `user_specified_image` than
    that of the request.

    Source: ContainerStatus.mounts, Mount.image, ImageSpec.user_specified_image.
    """
    pulled = images.pull("volume")
    container = containers.created(mounts=[volume(pulled)])

    reported = [mount.image for mount in container.status().mounts if mount.container_path == "/volume"]

    assert all(image.image for image in reported)
    # by its id or by a digest: both name the image
    assert [images.id_of(image.image) for image in reported] == [images.id_of(pulled.reference)]
    assert {image.user_specified_image for image in reported} <= {"", pulled.written}


@requirement("VOL-12/details")
@requires(Capability.IMAGE_VOLUMES)
def test_status_reports_the_digest_of_a_mounted_image(containers: Containers, images: Images) -> None:
    """ContainerStatus MUST report an `image_ref` of the mounted image for an image volume, if it reports one.

    Source: ContainerStatus.mounts, ImageSpec.image_ref.
    """
    pulled = images.pull("volume")
    container = containers.created(mounts=[volume(pulled)])

    reported = [mount.image for mount in container.status().mounts if mount.container_path == "/volume"]

    if [image.image_ref for image in reported] == [""]:
        unsupported("ContainerStatus does not report the image_ref of an image volume")
    assert [images.id_of(image.image_ref) for image in reported] == [images.id_of(pulled.reference)]


@requirement("VOL-12/details")
@requires(Capability.IMAGE_SUB_PATHS)
def test_status_reports_which_part_of_an_image_is_mounted(containers: Containers, images: Images) -> None:
    """ContainerStatus MUST report the `image_sub_path` of an image volume as requested, if it reports one.

    Source: ContainerStatus.mounts, Mount.image_sub_path.
    """
    container = containers.created(mounts=[volume(images.pull("volume"), image_sub_path="sub")])

    reported = [
        mount.image_sub_path for mount in container.status().mounts if mount.container_path == "/volume"
    ]

    if reported == [""]:
        unsupported("ContainerStatus does not report the sub path of an image volume")
    assert reported == ["sub"]


@requirement("VOL-15/freed")
@requires(Capability.IMAGE_VOLUMES)
def test_a_mounted_image_can_be_removed_after_its_container(
    runtime: Runtime, containers: Containers, registry: Registry, images: Images
) -> None:
    """RemoveImage MUST succeed for an image that was mounted as a volume, once its container is removed.

    Source: Mount.image, RemoveContainer.
    """
    minted = registry.mint("volume")
    container = containers.running(mounts=[volume(registry.pull(minted))])
    assert container.output("cat", "/volume/hello") == HELLO
    with setting_up():
        container.discard()

    runtime.images.RemoveImage(images.removal_request(minted.reference))

    assert images.look_up(minted.reference) is None


@requirement("VOL-16/data")
@requires(Capability.IMAGE_VOLUMES)
def test_an_image_volume_stays_when_its_image_is_removed(
    runtime: Runtime, containers: Containers, registry: Registry, images: Images
) -> None:
    """An image volume of a running container SHOULD NOT change, whatever RemoveImage does to its image.

    Source: RemoveImage; not stated by the CRI for images in use.
    """
    minted = registry.mint("volume")
    container = containers.running(mounts=[volume(registry.pull(minted))])

    with may_be_refused():
        runtime.images.RemoveImage(images.removal_request(minted.reference))

    assert container.output("cat", "/volume/hello", "/volume/sub/inside").splitlines() == [HELLO, "inside"]


@requirement("VOL-16/form")
@requires(Capability.IMAGE_VOLUMES)
def test_removing_an_image_that_is_mounted(
    runtime: Runtime,
    containers: Containers,
    registry: Registry,
    images: Images,
    record_variant: RecordVariant,
) -> None:
    """RemoveImage of an image that a container has mounted MAY be rejected, or accepted.

    Source: RemoveImage; not stated by the CRI for images in use.
    """
    minted = registry.mint("volume")
    containers.running(mounts=[volume(registry.pull(minted))])
    accepted = False

    with may_be_refused():
        runtime.images.RemoveImage(images.removal_request(minted.reference))
        accepted = True

    record_variant("accepted" if accepted else "refused")
    if not accepted:
        assert images.look_up(minted.reference) is not None
