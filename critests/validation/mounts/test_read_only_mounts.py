"""MNT: read-only mounts that have other mounts below them."""

from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import Capability, Containers, HostMounts, Runtime, requirement, requires, unsupported

WRITE_BELOW = "echo written > /mounted/below/new"


def mount_of(folder: Path, **settings: object) -> cri.Mount:
    """Return a read-only mount of a directory of the host, with further settings."""
    return cri.Mount(
        **{"container_path": "/mounted", "host_path": str(folder), "readonly": True, **settings}  # type: ignore[arg-type]  # settings of a message
    )


@requirement("MNT-04")
def test_a_mount_below_a_read_only_one_stays_writable(
    containers: Containers, host_folder: Path, host_mounts: HostMounts
) -> None:
    """A mount with `readonly` alone, not `recursive_read_only`, MUST leave the mounts below it writable.

    Source: Mount.recursive_read_only.
    """
    # a directory without a mount of its own would be read-only
    below = host_mounts.tmpfs(host_folder / "below")
    container = containers.running(mounts=[mount_of(host_folder)])

    response = container.exec("sh", "-c", WRITE_BELOW)

    assert (response.exit_code, (below / "new").exists()) == (0, True), response.stderr
    assert container.mount_at("/mounted").read_only


@requirement("MNT-05")
@requires(Capability.RECURSIVE_READ_ONLY_MOUNTS)
def test_recursive_read_only_applies_to_all_mounts_below(
    containers: Containers, host_folder: Path, host_mounts: HostMounts
) -> None:
    """A mount with `recursive_read_only` MUST make every mount below it read-only too.

    Source: Mount.recursive_read_only.
    """
    below = host_mounts.tmpfs(host_folder / "below")
    # two levels, as a runtime may change only the first
    host_mounts.tmpfs(below / "deeper")
    container = containers.running(mounts=[mount_of(host_folder, recursive_read_only=True)])

    responses = [
        container.exec("touch", f"/mounted/{place}new").stderr.decode()
        for place in ("", "below/", "below/deeper/")
    ]

    assert ["Read-only file system" in response for response in responses] == [True] * 3, responses
    assert [path.name for path in below.iterdir()] == ["deeper"]


@requirement("MNT-06")
@requires(Capability.RECURSIVE_READ_ONLY_MOUNTS, Capability.SAME_HOST)
def test_recursive_read_only_without_readonly_is_refused(containers: Containers, host_folder: Path) -> None:
    """A mount with `recursive_read_only` and without `readonly` MUST be rejected.

    Source: Mount.recursive_read_only, which needs `readonly`.
    """
    mount = mount_of(host_folder, recursive_read_only=True, readonly=False)

    containers.refusal(containers.config(mounts=[mount]))


@requirement("MNT-07")
@requires(Capability.RECURSIVE_READ_ONLY_MOUNTS)
@pytest.mark.parametrize(
    "propagation",
    [cri.PROPAGATION_HOST_TO_CONTAINER, cri.PROPAGATION_BIDIRECTIONAL],
    ids=["host-to-container", "bidirectional"],
)
def test_recursive_read_only_with_propagation_is_refused(
    containers: Containers, host_mounts: HostMounts, propagation: "cri.MountPropagation"
) -> None:
    """A mount with `recursive_read_only` and a propagation other than PROPAGATION_PRIVATE MUST be rejected.

    Source: Mount.recursive_read_only, which needs PROPAGATION_PRIVATE.
    """
    shared = host_mounts.bound("shared", shared=True)
    mount = mount_of(shared, recursive_read_only=True, propagation=propagation)

    containers.refusal(containers.config(mounts=[mount]))


@requirement("MNT-08/error")
@requires(Capability.SAME_HOST)
def test_unsupported_recursive_read_only_is_refused(
    runtime: Runtime, containers: Containers, host_folder: Path
) -> None:
    """A runtime handler that does not offer recursively read-only mounts MUST reject `recursive_read_only`,
    and MUST NOT ignore it.

    Source: Mount.recursive_read_only, RuntimeHandlerFeatures.recursive_read_only_mounts.
    """
    if runtime.has(Capability.RECURSIVE_READ_ONLY_MOUNTS):
        unsupported("the handler offers recursively read-only mounts, so it rejects none")
    mount = mount_of(host_folder, recursive_read_only=True)

    containers.refusal(containers.config(mounts=[mount]))


@requirement("MNT-08/text")
@requires(Capability.SAME_HOST)
def test_the_error_for_unsupported_recursive_read_only_has_its_reason(
    runtime: Runtime, containers: Containers, host_folder: Path
) -> None:
    """If the handler does not offer recursively read-only mounts, the error for `recursive_read_only` SHOULD
    contain `RROUnsupported`, by which the kubelet recognizes it.

    Source: Mount.recursive_read_only, and the errors package of the CRI.
    """
    if runtime.has(Capability.RECURSIVE_READ_ONLY_MOUNTS):
        unsupported("the handler offers recursively read-only mounts, so it rejects none")
    mount = mount_of(host_folder, recursive_read_only=True)

    refusal = containers.refusal(containers.config(mounts=[mount]))

    assert "RROUnsupported" in refusal.words
