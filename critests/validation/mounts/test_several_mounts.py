"""MNT: several mounts of one container, mounts over the runtime's own, and leftovers on the host."""

import os
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.lifecycle.mount_points import uppermost
from critests.testing import (
    Capability,
    Container,
    Containers,
    HostMounts,
    RecordVariant,
    Runtime,
    Sandboxes,
    blocked,
    lingering,
    may_be_refused,
    not_under,
    refused_with,
    requirement,
    requires,
)

MOUNTS = 200


def folders(host_folder: Path, *names: str) -> list[Path]:
    """Create directories on the host, each with a file of its own name."""
    created = [host_folder / name for name in names]
    for folder in created:
        folder.mkdir()
        (folder / folder.name).write_text(f"of {folder.name}\n")
    return created


@requirement("MNT-18")
@requires(Capability.SAME_HOST)
@pytest.mark.parametrize("order", [("parent", "child"), ("child", "parent")], ids=" first, ".join)
def test_nested_mounts_are_visible_in_any_order(
    containers: Containers, host_folder: Path, order: tuple[str, str]
) -> None:
    """A mount whose path lies inside that of another mount MUST be visible in it, in whatever order the
    request lists them.

    Source: Mount.container_path; the kubelet lists the volumes of a pod in any order.
    """
    parent, child = folders(host_folder, "parent", "child")
    (parent / "nested").mkdir()
    paths = {"parent": ("/mounted", parent), "child": ("/mounted/nested", child)}

    container = containers.exited(
        mounts=[
            cri.Mount(container_path=inside, host_path=str(outside))
            for inside, outside in (paths[name] for name in order)
        ],
        script=lingering("cat /mounted/parent /mounted/nested/child"),
    )

    assert container.log_lines("stdout") == ["of parent", "of child"]


@requirement("MNT-19")
@requires(Capability.SAME_HOST)
def test_form_of_two_mounts_at_one_path(
    containers: Containers, host_folder: Path, record_variant: RecordVariant
) -> None:
    """A runtime MAY use either of two mounts with the same `container_path`, or reject them.

    Source: ContainerConfig.mounts; the CRI does not say.
    """
    mounts = [
        cri.Mount(container_path="/mounted", host_path=str(folder))
        for folder in folders(host_folder, "first", "last")
    ]
    container = None

    with may_be_refused():
        container = containers.attempt(containers.config(mounts=mounts))

    found = "refused" if container is None else container.output("ls", "/mounted")
    record_variant(found)
    assert found in {"refused", "first", "last"}


@requirement("MNT-34")
@requires(Capability.SAME_HOST)
def test_the_choice_of_two_mounts_at_one_path_is_stable(containers: Containers, host_folder: Path) -> None:
    """The choice between two mounts at one path SHOULD NOT depend on the number of other mounts.

    Source: ContainerConfig.mounts. Not stated by the CRI; a pod would change with an unrelated volume.
    """
    first, last = folders(host_folder, "first", "last")
    others = folders(host_folder, *(f"number-{number}" for number in range(40)))
    chosen = set()

    # Go's sort.Sort is stable for up to 12 elements (insertion sort), and only for those
    for many in (0, 13, 40):
        # at different depths: a runtime may sort mounts by depth
        mounts = [
            cri.Mount(container_path=f"/{folder.name}" + "/below" * (number % 4), host_path=str(folder))
            for number, folder in enumerate(reversed(others[:many]))
        ]
        for place, folder in ((0, first), (len(mounts) + 1, last)):
            mounts.insert(place, cri.Mount(container_path="/mounted", host_path=str(folder)))
        with may_be_refused():
            chosen.add(containers.attempt(containers.config(mounts=mounts)).output("ls", "/mounted"))

    assert len(chosen) <= 1


@requirement("MNT-20")
@requires(Capability.SAME_HOST)
@pytest.mark.parametrize("path", ["/etc/hosts", "/etc/resolv.conf", "/dev/shm", "/sys/fs/cgroup"])  # noqa: S108 - in the container
def test_requested_mounts_replace_those_of_the_runtime(
    containers: Containers, host_folder: Path, path: str
) -> None:
    """A mount of the request MUST replace the runtime's own mount at the same path.

    Source: ContainerConfig.mounts; the kubelet mounts /etc/hosts in this way, and an emptyDir at /dev/shm.
    """
    (folder,) = folders(host_folder, "mine")
    is_file = path.startswith("/etc")

    container = containers.exited(
        mounts=[cri.Mount(container_path=path, host_path=str(folder / "mine" if is_file else folder))],
        script=lingering(f"cat {path if is_file else path + '/mine'}"),
    )

    assert container.log_lines("stdout") == ["of mine"]


@requirement("MNT-22")
@requires(Capability.SAME_HOST)
def test_a_container_has_hundreds_of_mounts(containers: Containers, host_folder: Path) -> None:
    """A container SHOULD see all mounts of its request, also if there are hundreds.

    Source: ContainerConfig.mounts; some pods have that many files of secrets and config maps.
    """
    created = folders(host_folder, *(f"number-{number}" for number in range(MOUNTS)))

    container = containers.exited(
        mounts=[
            cri.Mount(container_path=f"/mounted/{folder.name}", host_path=str(folder), readonly=True)
            for folder in created
        ],
        script=lingering("cat /mounted/*/* | sort | uniq | wc -l"),
    )

    assert container.log_lines("stdout") == [str(MOUNTS)]


@requirement("MNT-30")
@not_under("user-namespaces", reason="Linux maps no ids of proc and sysfs")
def test_a_node_agent_can_mount_the_whole_host(
    containers: Containers, host_folder: Path, host_mounts: HostMounts
) -> None:
    """A container SHOULD be able to mount the host's /, /proc and /sys, as node agents do.

    Source: Mount.host_path.
    """
    (folder,) = folders(host_folder, "mine")
    places = {"/": "/host", "/proc": "/host-proc", "/sys": "/host-sys"}
    mounts = [cri.Mount(container_path=inside, host_path=path) for path, inside in places.items()]
    try:
        container = containers.attempt(containers.config(mounts=mounts))
    except grpc.RpcError as error:
        refused_with(error)
        # a shared root is no reason to reject the mount
        if uppermost(host_mounts.mount_table())["/"].propagation:
            raise
        blocked(f"the root of this machine is a private mount, which a runtime may reject: {error.details()}")

    # this process is only in the process table of the host
    ours = container.exec("cat", f"/host-proc/{os.getpid()}/cmdline").stdout

    assert container.output("cat", f"/host{folder}/mine") == "of mine"
    assert ours == Path("/proc/self/cmdline").read_bytes()
    assert container.exec("test", "-d", "/host-sys/kernel").exit_code == 0


@requirement("MNT-31")
def test_a_tmpfs_of_the_host_retains_its_options(
    containers: Containers, host_folder: Path, host_mounts: HostMounts
) -> None:
    """A mount of a tmpfs of the host SHOULD retain the tmpfs options `size` and `noswap`.

    Source: Mount.host_path; the kubelet mounts emptyDir volumes with the medium Memory in this way.
    """
    try:
        place = host_mounts.tmpfs(host_folder / "memory", "size=2m,noswap")
    except OSError as error:
        blocked(f"the kernel has no tmpfs option noswap (Linux 6.4): {error}")
    container = containers.running(mounts=[cri.Mount(container_path="/mounted", host_path=str(place))])

    found = container.mounts()

    assert "/mounted" in found
    assert found["/mounted"].kind == "tmpfs"
    # the kernel shows the size in KiB
    assert found["/mounted"].super_options >= {"size=2048k", "noswap"}


def mounts_on_host(host_mounts: HostMounts, container: Container, layers: set[str]) -> list[str]:
    """Return the mounts of the host that belong to a container, by its ids or its writable layer."""
    ids = (container.id, container.sandbox.id)
    return [
        mount.place
        for mount in host_mounts.mount_table()
        if any(each in mount.place for each in ids) or layers & mount.super_options
    ]


@requirement("MNT-32")
def test_removed_containers_and_sandboxes_leave_no_mounts(
    runtime: Runtime,
    sandboxes: Sandboxes,
    containers: Containers,
    host_folder: Path,
    host_mounts: HostMounts,
) -> None:
    """A removed container and its removed sandbox MUST NOT leave anything in the host's mount table.

    Source: RemoveContainer and RemovePodSandbox. Not stated by the CRI; leftover mounts prevent the removal
    of files, and accumulate.
    """
    sandbox = sandboxes.ready()
    container = containers.running(
        in_sandbox=sandbox, mounts=[cri.Mount(container_path="/mounted", host_path=str(host_folder))]
    )
    # the mount of a writable layer has its path in an option of overlayfs
    layers = {option for option in container.mount_at("/").super_options if option.startswith("upperdir=")}
    assert mounts_on_host(host_mounts, container, layers), "nothing of the container is mounted on the host"

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id))
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=sandbox.id))
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox.id))

    assert mounts_on_host(host_mounts, container, layers) == []
