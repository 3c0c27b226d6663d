"""MNT: the direction in which later mounts propagate."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Container,
    Containers,
    HostMounts,
    OwnRuntime,
    Runtime,
    RuntimeSetup,
    disruptive,
    requirement,
    start_configured,
)

PRIVATE, IN, BOTH = (
    cri.PROPAGATION_PRIVATE,
    cri.PROPAGATION_HOST_TO_CONTAINER,
    cri.PROPAGATION_BIDIRECTIONAL,
)
MOUNT_INSIDE = "mkdir -p /mounted/inner && mount -t tmpfs of-the-container /mounted/inner"


def running_with(propagation: "cri.MountPropagation", containers: Containers, folder: Path) -> Container:
    """Run a container that may mount, with a directory of the host at /mounted."""
    return containers.running(
        security_context=cri.LinuxContainerSecurityContext(
            # mount(2) needs SYS_ADMIN
            capabilities=cri.Capability(add_capabilities=["SYS_ADMIN"]),
            # the default AppArmor profile denies mount(2)
            apparmor=cri.SecurityProfile(profile_type=cri.SecurityProfile.Unconfined),
        ),
        mounts=[cri.Mount(container_path="/mounted", host_path=str(folder), propagation=propagation)],
    )


def mount_on_host(host_mounts: HostMounts, shared: Path) -> None:
    """Mount a file system with one file on the host, below the container's mount."""
    (host_mounts.tmpfs(shared / "late") / "inside").write_text("of the host\n")


def read_inside(container: Container) -> str:
    """Return what the container reads from the host's later mount; empty if it does not find it."""
    return container.exec("cat", "/mounted/late/inside").stdout.decode()


@pytest.mark.parametrize(
    ("propagation", "inside", "on_the_host"),
    [
        pytest.param(PRIVATE, "", ["late"], marks=requirement("MNT-14"), id="private"),
        pytest.param(IN, "of the host\n", ["late"], marks=requirement("MNT-15"), id="host-to-container"),
        pytest.param(
            BOTH, "of the host\n", ["inner", "late"], marks=requirement("MNT-16"), id="bidirectional"
        ),
    ],
)
def test_mounts_propagate_as_requested(
    containers: Containers,
    host_mounts: HostMounts,
    propagation: "cri.MountPropagation",
    inside: str,
    on_the_host: list[str],
) -> None:
    """A mount with PROPAGATION_PRIVATE MUST NOT propagate later mounts below it; one with
    PROPAGATION_HOST_TO_CONTAINER MUST propagate mounts of the host to the container; one with
    PROPAGATION_BIDIRECTIONAL MUST propagate them both ways.

    Source: MountPropagation.
    """
    shared = host_mounts.bound("shared", shared=True)
    container = running_with(propagation, containers, shared)

    mount_on_host(host_mounts, shared)
    container.output("sh", "-c", MOUNT_INSIDE)

    # the second value shows that the mount of the container succeeded
    assert (read_inside(container), "/mounted/inner" in container.mounts()) == (inside, True)
    assert sorted(host_mounts.below(shared)) == [str(shared / name) for name in on_the_host]


@pytest.fixture
def parent(host_mounts: HostMounts) -> Path:
    """A shared mount of the host, with the directory `root` below it."""
    return host_mounts.bound("parent", shared=True)


@pytest.fixture
def inner_runtime(request: pytest.FixtureRequest, runtime: Runtime, parent: Path) -> Iterator[OwnRuntime]:
    """A runtime whose images and containers lie below `parent`."""
    # images and containers of the runtime are mounts below a mount of the container
    (parent / "root").mkdir()
    with start_configured(request, runtime, RuntimeSetup(root=parent / "root")) as own:
        yield own


@requirement("MNT-16")
@disruptive
def test_a_mount_above_the_root_of_the_runtime_propagates_both_ways(
    inner_runtime: OwnRuntime, host_mounts: HostMounts, parent: Path
) -> None:
    """A mount with PROPAGATION_BIDIRECTIONAL MUST propagate the container's mounts to the host, also if the
    runtime's root directory lies below it, as with /var.

    Source: MountPropagation.PROPAGATION_BIDIRECTIONAL.
    """
    container = running_with(BOTH, inner_runtime.containers, parent)

    mount_on_host(host_mounts, parent)
    container.output("sh", "-c", MOUNT_INSIDE)

    assert read_inside(container) == "of the host\n"
    assert str(parent / "inner") in host_mounts.below(parent)


@requirement("MNT-17")
@pytest.mark.parametrize("propagation", [IN, BOTH], ids=["host-to-container", "bidirectional"])
def test_propagation_of_a_private_mount_is_refused(
    containers: Containers, host_mounts: HostMounts, propagation: "cri.MountPropagation"
) -> None:
    """A mount with propagation SHOULD be rejected if its `host_path` lies on a private mount, which
    propagates nothing.

    Source: MountPropagation. Not stated by the CRI; the container would wait for mounts that never appear.
    """
    private = host_mounts.bound("private", shared=False)
    mount = cri.Mount(container_path="/mounted", host_path=str(private), propagation=propagation)

    containers.refusal(containers.config(mounts=[mount]))
