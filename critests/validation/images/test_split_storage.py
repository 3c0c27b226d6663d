"""IMF: where images and the writable layers of containers are stored, as configured."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from critests.api import api_pb2 as cri
from critests.testing import (
    IMAGE_FOLDER,
    Capability,
    ImageFolder,
    OwnRuntime,
    RecordVariant,
    SplitStorage,
    configured,
    disruptive,
    requirement,
    requires,
    setting_up,
    slow,
)

# every test starts a runtime with another configuration
pytestmark = disruptive

STATS_SECONDS = 65.0
"""Runtimes refresh their usage figures every 10 s or every 30 s."""
MIB = 1 << 20
WRITTEN_BYTES, FILES = 16 * MIB, 200
WRITE = (
    f"dd if=/dev/zero of=/large bs={MIB} count={WRITTEN_BYTES // MIB} 2>/dev/null;"
    f" mkdir /many; i=0; while [ $i -lt {FILES} ]; do echo $i > /many/$i; i=$((i+1)); done; sync"
)

FirstOf = Callable[[cri.ImageFsInfoResponse], Sequence[cri.FilesystemUsage]]


@dataclass(frozen=True)
class UsageGrowth:
    """The growth of a file system's usage while a container writes."""

    bytes: int
    inodes: int


def growth(runtime: OwnRuntime, filesystems: FirstOf) -> UsageGrowth:
    """Let a container write, and return the growth of the first of the file systems that are reported."""

    def read() -> cri.FilesystemUsage:
        listed = filesystems(runtime.images.ImageFsInfo(cri.ImageFsInfoRequest()))
        assert len(listed) > 0
        return listed[0]

    def read_refreshed() -> cri.FilesystemUsage:
        since = time.time_ns()
        return runtime.eventually(
            "refreshed usage of the file system",
            read,
            STATS_SECONDS,
            lambda reported: reported.timestamp >= since,
        )

    # before the first reading, so that its own layer does not count as growth
    container = runtime.container()
    before = read_refreshed()
    with setting_up():
        written = runtime.stub.ExecSync(container.script_request(WRITE))
        assert written.exit_code == 0, written.stderr
    after = read_refreshed()
    return UsageGrowth(
        after.used_bytes.value - before.used_bytes.value, after.inodes_used.value - before.inodes_used.value
    )


@requirement("IMF-09")
@configured(ImageFolder())
def test_images_are_in_the_configured_directory(own_runtime: OwnRuntime) -> None:
    """ImageFsInfo MUST report the directory that is configured for images, or one below it.

    Source: FilesystemIdentifier.mountpoint; the kubelet removes images by how full that file system is.
    """
    folder = own_runtime.daemon.root / IMAGE_FOLDER

    response = own_runtime.images.ImageFsInfo(cri.ImageFsInfoRequest())

    named = [Path(filesystem.fs_id.mountpoint) for filesystem in response.image_filesystems]
    assert named != []
    assert [path for path in named if not path.is_relative_to(folder)] == []


@requirement("IMF-05/split")
@requires(Capability.SAME_HOST)
@configured(SplitStorage())
def test_file_system_of_containers_is_reported(own_runtime: OwnRuntime) -> None:
    """If images are stored apart from writable layers, `container_filesystems` MUST list the directories of
    writable layers, which exist and differ from those of the images.

    Source: ImageFsInfoResponse.container_filesystems, FilesystemIdentifier.mountpoint; KEP-4191.
    """
    response = own_runtime.images.ImageFsInfo(cri.ImageFsInfoRequest())

    image_mountpoints, container_mountpoints = (
        [filesystem.fs_id.mountpoint for filesystem in filesystems]
        for filesystems in (response.image_filesystems, response.container_filesystems)
    )
    assert len(container_mountpoints) > 0
    assert [path for path in container_mountpoints if path in image_mountpoints] == []
    assert [
        path for path in container_mountpoints if not own_runtime.seen_by_daemon(Path(path)).is_dir()
    ] == []


@requirement("IMF-06/images")
@slow
@configured(SplitStorage())
def test_image_usage_does_not_include_what_a_container_writes(own_runtime: OwnRuntime) -> None:
    """used_bytes and inodes_used of the image file system MUST NOT grow with what a container writes if
    writable layers are stored elsewhere.

    Source: FilesystemUsage.used_bytes, FilesystemUsage.inodes_used: what images use.
    """
    grown = growth(own_runtime, lambda response: response.image_filesystems)

    # half: a runtime may store some metadata of the container with the images
    assert grown.bytes < WRITTEN_BYTES // 2
    assert grown.inodes < FILES // 2


@requirement("IMF-06/containers")
@slow
@configured(SplitStorage())
def test_form_of_the_usage_of_what_a_container_writes(
    own_runtime: OwnRuntime, record_variant: RecordVariant
) -> None:
    """used_bytes and inodes_used of `container_filesystems` MAY grow with what a container writes if images
    are stored elsewhere.

    Source: FilesystemUsage.used_bytes speaks of images alone.
    """
    grown = growth(own_runtime, lambda response: response.container_filesystems)

    counted = grown.bytes >= WRITTEN_BYTES and grown.inodes >= FILES
    record_variant("counted to the file system of containers" if counted else "not counted in ImageFsInfo")
