"""IMF: images that are stored where the configuration says, apart from what containers write or not."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.own_runtime import OwnRuntime, shaped
from critests.fixtures.runtime import Runtime
from critests.fixtures.session import Observe
from critests.node.kinds.told import IMAGE_FOLDER, ImageFolder, SplitStorage
from critests.run.context import Shape
from critests.run.marks import disruptive, requirement, requires, slow
from critests.run.outcomes import setting_up

pytestmark = disruptive

STATS_SECONDS = 65.0
"""Runtimes look at what is used every ten seconds, or every thirty."""
MIB = 1 << 20
WRITTEN_BYTES, FILES = 16 * MIB, 200
WRITE = (
    f"dd if=/dev/zero of=/large bs={MIB} count={WRITTEN_BYTES // MIB} 2>/dev/null;"
    f" mkdir /many; i=0; while [ $i -lt {FILES} ]; do echo $i > /many/$i; i=$((i+1)); done; sync"
)

FirstOf = Callable[[cri.ImageFsInfoResponse], Sequence[cri.FilesystemUsage]]


@dataclass(frozen=True)
class Growth:
    """By how much what is used grew while a container wrote."""

    bytes: int
    inodes: int


@pytest.fixture
def split_runtime(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[OwnRuntime]:
    """A runtime that is told to store images elsewhere than what containers write."""
    with shaped(request, runtime, Shape(told=(SplitStorage(),))) as own:
        yield own


@pytest.fixture
def runtime_with_a_folder(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[OwnRuntime]:
    """A runtime that is told in which directory to store images."""
    with shaped(request, runtime, Shape(told=(ImageFolder(),))) as own:
        yield own


def growth(runtime: OwnRuntime, filesystems: FirstOf) -> Growth:
    """Let a container write, and return what more the first of some file systems tells then."""

    def look() -> cri.FilesystemUsage:
        listed = filesystems(runtime.images.ImageFsInfo(cri.ImageFsInfoRequest()))
        assert len(listed) > 0
        return listed[0]

    def look_anew() -> cri.FilesystemUsage:
        asked = time.time_ns()
        return runtime.eventually(
            "another look at the file system", look, STATS_SECONDS, lambda seen: seen.timestamp >= asked
        )

    container = runtime.container()
    before = look_anew()
    with setting_up():
        written = runtime.stub.ExecSync(container.script_request(WRITE))
        assert written.exit_code == 0, written.stderr
    after = look_anew()
    return Growth(
        after.used_bytes.value - before.used_bytes.value, after.inodes_used.value - before.inodes_used.value
    )


@requirement("IMF-09")
def test_images_are_where_they_are_configured_to_be(runtime_with_a_folder: OwnRuntime) -> None:
    """Where the configuration says in which directory images are stored, ImageFsInfo MUST name that one, or
    one below it.

    Source: FilesystemIdentifier.mountpoint; the kubelet removes images by how full that place is.
    """
    folder = runtime_with_a_folder.daemon.root / IMAGE_FOLDER

    answer = runtime_with_a_folder.images.ImageFsInfo(cri.ImageFsInfoRequest())

    named = [Path(filesystem.fs_id.mountpoint) for filesystem in answer.image_filesystems]
    assert named != []
    assert [place for place in named if not place.is_relative_to(folder)] == []


@requirement("IMF-05/split")
@requires(Capability.SAME_HOST)
def test_where_containers_are_stored_is_told(split_runtime: OwnRuntime) -> None:
    """Where images are stored elsewhere than what containers write, `container_filesystems` MUST name where
    the latter is, by directories that exist and are none of the images'.

    Source: ImageFsInfoResponse.container_filesystems, FilesystemIdentifier.mountpoint; KEP-4191.
    """
    answer = split_runtime.images.ImageFsInfo(cri.ImageFsInfoRequest())

    of_images, of_containers = (
        [filesystem.fs_id.mountpoint for filesystem in filesystems]
        for filesystems in (answer.image_filesystems, answer.container_filesystems)
    )
    assert len(of_containers) > 0
    assert [place for place in of_containers if place in of_images] == []
    assert [place for place in of_containers if not split_runtime.seen_by_daemon(Path(place)).is_dir()] == []


@requirement("IMF-06/images")
@slow
def test_what_a_container_writes_is_not_counted_to_the_images(split_runtime: OwnRuntime) -> None:
    """Where images are stored elsewhere than what containers write, the used bytes and inodes of the file
    system of images MUST NOT grow with what a container writes.

    Source: FilesystemUsage.used_bytes, FilesystemUsage.inodes_used: what images use.
    """
    grown = growth(split_runtime, lambda answer: answer.image_filesystems)

    # a runtime may note something about the container beside its images
    assert grown.bytes < WRITTEN_BYTES // 2
    assert grown.inodes < FILES // 2


@requirement("IMF-06/containers")
@slow
def test_what_a_container_writes_and_where_it_is_counted(split_runtime: OwnRuntime, observe: Observe) -> None:
    """Where images are stored elsewhere than what containers write, the file system of containers MAY count
    what a container writes.

    Source: FilesystemUsage.used_bytes speaks of images alone.
    """
    grown = growth(split_runtime, lambda answer: answer.container_filesystems)

    counted = grown.bytes >= WRITTEN_BYTES and grown.inodes >= FILES
    observe("counted to the file system of containers" if counted else "not counted in ImageFsInfo")
