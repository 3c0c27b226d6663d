"""IMF: the file systems that hold images, and their usage."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Changes,
    ImageName,
    RecordVariant,
    Registry,
    Runtime,
    requirement,
    requires,
    slow,
    unsupported,
)

ReadUsage = Callable[[], cri.FilesystemUsage]
AwaitUsage = Callable[[str, Callable[[cri.FilesystemUsage], bool]], cri.FilesystemUsage]

STATS_SECONDS = 65.0
"""Runtimes refresh their usage figures every 10 s or every 30 s; this is time for two refreshes, because
other tests pull and remove images, too.
"""
MIB = 1 << 20
MANY_IMAGES = 50
"""Images in addition to those that are present anyway."""


def filling(mebibytes: int, files: int) -> Changes:
    """Return changes that make an image large in every measure, as runtimes choose what they count: the
    layers, or only the metadata about them.
    """
    return {
        "filler_bytes": mebibytes * MIB,
        "files": [{"path": f"many/{number}"} for number in range(files)],
        "labels": {"critests.example/filling": "x" * (files << 8)},
    }


# larger than everything that others may remove meanwhile, including TO_REMOVE of another run
TO_PULL = filling(64, 1000)
TO_REMOVE = filling(32, 500)


@pytest.fixture
def read_usage(runtime: Runtime) -> ReadUsage:
    """Return a function that reads the usage of the first image file system, as the kubelet does."""

    def read() -> cri.FilesystemUsage:
        listed = runtime.images.ImageFsInfo(cri.ImageFsInfoRequest()).image_filesystems
        assert len(listed) > 0, "ImageFsInfo names no image file system"
        return listed[0]

    return read


@pytest.fixture
def await_usage(runtime: Runtime, read_usage: ReadUsage) -> AwaitUsage:
    """Return a function that waits until the runtime has refreshed the usage and it fulfils a condition."""

    def fresh() -> cri.FilesystemUsage:
        since = time.time_ns()
        return runtime.eventually(
            "refreshed usage of the file system",
            read_usage,
            STATS_SECONDS,
            lambda reported: reported.timestamp >= since,
        )

    return lambda what, holds: runtime.eventually(what, fresh, STATS_SECONDS, holds)


@requirement("IMF-01")
def test_image_file_system_has_a_mount_point(runtime: Runtime) -> None:
    """ImageFsInfo MUST name at least one image file system, each by its mount point.

    Source: ImageFsInfoResponse.image_filesystems, FilesystemIdentifier.mountpoint.
    """
    response = runtime.images.ImageFsInfo(cri.ImageFsInfoRequest())

    mountpoints = [filesystem.fs_id.mountpoint for filesystem in response.image_filesystems]
    assert mountpoints != []
    assert [mountpoint for mountpoint in mountpoints if not mountpoint.startswith("/")] == []


@requirement("IMF-08")
def test_every_image_file_system_is_listed_once(runtime: Runtime) -> None:
    """ImageFsInfo SHOULD list each file system once: consumers add up the usage of all entries.

    Source: ImageFsInfoResponse.image_filesystems and container_filesystems.
    """
    response = runtime.images.ImageFsInfo(cri.ImageFsInfoRequest())

    for filesystems in (response.image_filesystems, response.container_filesystems):
        mountpoints = [filesystem.fs_id.mountpoint for filesystem in filesystems]
        assert sorted(set(mountpoints)) == sorted(mountpoints)


@requirement("IMF-01")
@requires(Capability.SAME_HOST)
def test_mount_point_of_the_image_file_system_exists(runtime: Runtime) -> None:
    """The mount point of an image file system MUST exist on the node.

    Source: FilesystemIdentifier.mountpoint.
    """
    response = runtime.images.ImageFsInfo(cri.ImageFsInfoRequest())

    mountpoints = [
        runtime.seen_by_daemon(Path(filesystem.fs_id.mountpoint)) for filesystem in response.image_filesystems
    ]
    assert mountpoints != []
    assert [mountpoint for mountpoint in mountpoints if not mountpoint.is_dir()] == []


@requirement("IMF-02")
def test_image_file_system_usage_is_recent(read_usage: ReadUsage) -> None:
    """FilesystemUsage.timestamp MUST be a recent time, in nanoseconds since the epoch.

    Source: FilesystemUsage.timestamp.
    """
    reported = read_usage()

    age_seconds = (time.time_ns() - reported.timestamp) / 1e9
    # -5 s: the clock may be set back a little; 120 s is several periods of refreshing
    assert -5 <= age_seconds <= 120


@slow
@requirement("IMF-03/grows")
# another test that fills the file system would change the same numbers
@pytest.mark.usefixtures("filling_alone")
def test_image_file_system_grows_with_a_pull(
    registry: Registry, image: ImageName, await_usage: AwaitUsage
) -> None:
    """used_bytes and inodes_used MUST be above zero if there are images, and grow with the pull of a new
    image; used_bytes by at most ten times its size, however the runtime stores layers.

    Source: FilesystemUsage.used_bytes, FilesystemUsage.inodes_used.
    """
    # there is at least this image
    assert image.reference != ""
    before = await_usage("use of the image file system", lambda reported: reported.used_bytes.value > 0)

    registry.pull(registry.mint("large", changes=TO_PULL))

    used, inodes = before.used_bytes.value, before.inodes_used.value
    assert inodes > 0
    after = await_usage(
        f"more than {used} bytes and {inodes} inodes in use",
        lambda reported: reported.used_bytes.value > used and reported.inodes_used.value > inodes,
    )
    assert after.used_bytes.value - used < 10 * TO_PULL["filler_bytes"]


@slow
@requirement("IMF-03/size")
@pytest.mark.usefixtures("filling_alone")
def test_form_of_the_growth_of_the_image_file_system(
    registry: Registry, image: ImageName, await_usage: AwaitUsage, record_variant: RecordVariant
) -> None:
    """used_bytes MAY grow with a pull by the size of the unpacked image, or by more or less: runtimes may
    store the compressed layers as well, or count only metadata.

    Source: FilesystemUsage.used_bytes.
    """
    assert image.reference != ""
    before = await_usage("use of the image file system", lambda reported: reported.used_bytes.value > 0)

    registry.pull(registry.mint("large", changes=TO_PULL))

    after = await_usage(
        f"more than {before.used_bytes.value} bytes in use",
        lambda reported: reported.used_bytes.value > before.used_bytes.value,
    )
    share = (after.used_bytes.value - before.used_bytes.value) / TO_PULL["filler_bytes"]
    # 0.8 and 1.5: others pull and remove small images meanwhile
    record_variant(
        "less than its size" if share < 0.8 else "its size" if share < 1.5 else "more than its size"
    )


@slow
@requirement("IMF-04")
@pytest.mark.usefixtures("filling_alone")
def test_image_file_system_shrinks_with_a_removal(
    runtime: Runtime, registry: Registry, await_usage: AwaitUsage
) -> None:
    """used_bytes SHOULD decrease after the removal of an image by most of the growth that its pull caused.

    Source: FilesystemUsage.used_bytes.
    """
    minted = registry.mint("large", changes=TO_REMOVE)
    empty = await_usage("usage before the pull", lambda reported: reported.timestamp > 0).used_bytes.value
    registry.pull(minted)
    full = await_usage(
        "use by the image", lambda reported: reported.used_bytes.value > empty
    ).used_bytes.value

    runtime.images.RemoveImage(cri.RemoveImageRequest(image=cri.ImageSpec(image=minted.reference)))

    # other pulls may add something meanwhile, but less than half of this image
    threshold = full - (full - empty) // 2
    await_usage("shrinking of the image file system", lambda reported: reported.used_bytes.value <= threshold)


def is_split(response: cri.ImageFsInfoResponse) -> bool:
    """Return whether containers are stored on another file system than images."""
    image_mountpoints, container_mountpoints = (
        {filesystem.fs_id.mountpoint for filesystem in filesystems}
        for filesystems in (response.image_filesystems, response.container_filesystems)
    )
    return not container_mountpoints <= image_mountpoints


@requirement("IMF-05/form")
def test_file_system_of_containers_stored_with_images(
    runtime: Runtime, record_variant: RecordVariant
) -> None:
    """`container_filesystems` MAY be empty or name the file system of images if containers are stored with
    the images.

    Source: ImageFsInfoResponse.container_filesystems.
    """
    response = runtime.images.ImageFsInfo(cri.ImageFsInfoRequest())
    if is_split(response):
        unsupported("container_filesystems name another file system")

    record_variant("the same file system" if response.container_filesystems else "empty")
    assert len(response.container_filesystems) <= len(response.image_filesystems)


@slow
@requirement("IMF-07")
def test_image_fs_info_returns_quickly_with_many_images(
    runtime: Runtime, registry: Registry, image: ImageName
) -> None:
    """ImageFsInfo SHOULD return within a second if there are many images.

    Source: not stated by the CRI; the kubelet calls it every ten seconds, and decides by the response whether
    to evict pods.
    """
    assert image.reference != ""
    for number in range(MANY_IMAGES):
        registry.pull(registry.mint(repository=f"many-{number}"))

    call = runtime.timed(runtime.images.ImageFsInfo, cri.ImageFsInfoRequest())

    assert sum(each.used_bytes.value for each in call.response.image_filesystems) > 0
    assert call.seconds < runtime.scale
