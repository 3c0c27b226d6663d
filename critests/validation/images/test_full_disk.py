"""IMG: pulls that do not fit on the disk, on a runtime whose images are on a small disk."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Changes,
    HostMounts,
    OwnRuntime,
    Registry,
    Runtime,
    RuntimeSetup,
    disruptive,
    pulling,
    requirement,
    slow,
    start_configured,
)

MEBIBYTE = 1 << 20
DISK_BYTES = 48 * MEBIBYTE
SLACK_BYTES = 4 * MEBIBYTE
"""What a failed pull may leave on the disk: the runtime's database grows."""
TOO_LARGE: dict[str, Changes] = {
    "to be stored": {"filler_bytes": 64 * MEBIBYTE, "filler_layers": 1},
    # zeros: the compressed layer fits on the disk, and the unpacked file does not
    "to be unpacked": {"hollow_bytes": 64 * MEBIBYTE},
}


@pytest.fixture
def small_disk_runtime(
    request: pytest.FixtureRequest, runtime: Runtime, host_mounts: HostMounts, host_folder: Path
) -> Iterator[OwnRuntime]:
    """A runtime of this test whose images and snapshots are on a disk of 48 MiB."""
    disk = host_mounts.tmpfs(host_folder / "disk", f"size={DISK_BYTES}")
    with start_configured(request, runtime, RuntimeSetup(root=disk)) as own:
        yield own


def free_bytes(runtime: OwnRuntime) -> int:
    """Return how many bytes are free on a runtime's disk."""
    usage = os.statvfs(runtime.daemon.root)
    return usage.f_bavail * usage.f_frsize


@requirement("IMG-28")
@disruptive
@slow
@pytest.mark.parametrize("changes", TOO_LARGE.values(), ids=TOO_LARGE)
def test_an_image_that_does_not_fit_on_the_disk_takes_no_space(
    small_disk_runtime: OwnRuntime, registry: Registry, changes: Changes
) -> None:
    """PullImage SHOULD fail if the disk is too small for the image, and leave the daemon alive, the image
    unlisted, and the disk as free as before, so that a smaller image can be pulled.

    Source: PullImage. Not stated by the CRI; any user who creates a pod chooses its image.
    """
    large, small = registry.mint(repository="large", changes=changes), registry.mint(repository="small")
    before = free_bytes(small_disk_runtime)

    small_disk_runtime.refusal(small_disk_runtime.images.PullImage, pulling(large.reference))

    status_request = cri.ImageStatusRequest(image=cri.ImageSpec(image=large.reference))
    assert not small_disk_runtime.images.ImageStatus(status_request).HasField("image")
    small_disk_runtime.eventually(
        "the disk to be as free as before",
        lambda: free_bytes(small_disk_runtime),
        holds=lambda free: free >= before - SLACK_BYTES,
    )
    # space that a failed pull occupies for ever would let later pulls fail
    small_disk_runtime.images.PullImage(pulling(small.reference))
    assert small_disk_runtime.damage() == ""
