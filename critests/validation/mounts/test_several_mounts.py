"""MNT: mounts beside, below and over each other, over what the runtime mounts, and what is left of them."""

import os
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers, lingering
from critests.fixtures.host_mounts import HostMounts
from critests.fixtures.runtime import Runtime, may_be_refused, refused_with
from critests.fixtures.sandboxes import Sandboxes
from critests.fixtures.session import Observe
from critests.lifecycle.containers import Container
from critests.lifecycle.mount_points import uppermost
from critests.run.marks import requirement, requires
from critests.run.outcomes import blocked

MANY = 200


def folders(host_folder: Path, *names: str) -> list[Path]:
    """Make folders on the host, each with a file of its own name."""
    made = [host_folder / name for name in names]
    for folder in made:
        folder.mkdir()
        (folder / folder.name).write_text(f"of {folder.name}\n")
    return made


@requirement("MNT-18")
@requires(Capability.SAME_HOST)
@pytest.mark.parametrize("order", [("parent", "child"), ("child", "parent")], ids=" first, ".join)
def test_a_mount_inside_another_is_found_whatever_their_order(
    containers: Containers, host_folder: Path, order: tuple[str, str]
) -> None:
    """A mount whose path lies inside another one's MUST be found in it, whichever of them is named first.

    Source: Mount.container_path, where each of them is found; volumes of a pod come in any order.
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
def test_two_mounts_in_one_place(containers: Containers, host_folder: Path, observe: Observe) -> None:
    """Of two mounts at one path a runtime MAY take either, or refuse them.

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
    observe(found)
    assert found in {"refused", "first", "last"}


@requirement("MNT-34")
@requires(Capability.SAME_HOST)
def test_mounts_in_one_place_come_in_one_order(containers: Containers, host_folder: Path) -> None:
    """Which of two mounts at one path is seen SHOULD NOT depend on how many others the container has.

    Source: ContainerConfig.mounts. Not stated by the CRI; a pod would change with a volume that it does not
    use.
    """
    first, last = folders(host_folder, "first", "last")
    others = folders(host_folder, *(f"number-{number}" for number in range(40)))
    seen = set()

    for many in (0, 13, 40):
        # at different depths, by which a runtime may sort them
        mounts = [
            cri.Mount(container_path=f"/{folder.name}" + "/below" * (number % 4), host_path=str(folder))
            for number, folder in enumerate(reversed(others[:many]))
        ]
        for place, folder in ((0, first), (len(mounts) + 1, last)):
            mounts.insert(place, cri.Mount(container_path="/mounted", host_path=str(folder)))
        with may_be_refused():
            seen.add(containers.attempt(containers.config(mounts=mounts)).output("ls", "/mounted"))

    assert len(seen) <= 1


@requirement("MNT-20")
@requires(Capability.SAME_HOST)
@pytest.mark.parametrize("path", ["/etc/hosts", "/etc/resolv.conf", "/dev/shm", "/sys/fs/cgroup"])  # noqa: S108 - in the container
def test_mounts_of_the_caller_replace_those_of_the_runtime(
    containers: Containers, host_folder: Path, path: str
) -> None:
    """A mount at a path where the runtime mounts something of its own MUST replace that.

    Source: ContainerConfig.mounts; the kubelet mounts /etc/hosts so, and an emptyDir at /dev/shm.
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
    """Hundreds of mounts of one container SHOULD all be there.

    Source: ContainerConfig.mounts; pods with that many files of secrets and settings are met in practice.
    """
    made = folders(host_folder, *(f"number-{number}" for number in range(MANY)))

    container = containers.exited(
        mounts=[
            cri.Mount(container_path=f"/mounted/{folder.name}", host_path=str(folder), readonly=True)
            for folder in made
        ],
        script=lingering("cat /mounted/*/* | sort | uniq | wc -l"),
    )

    assert container.log_lines("stdout") == [str(MANY)]


@requirement("MNT-30")
def test_an_agent_of_the_node_sees_the_whole_host(
    containers: Containers, host_folder: Path, host_mounts: HostMounts
) -> None:
    """A container SHOULD be able to mount the host's /, /proc and /sys, as agents of a node do.

    Source: Mount.host_path.
    """
    (folder,) = folders(host_folder, "mine")
    places = {"/": "/host", "/proc": "/host-proc", "/sys": "/host-sys"}
    mounts = [cri.Mount(container_path=inside, host_path=path) for path, inside in places.items()]
    try:
        container = containers.attempt(containers.config(mounts=mounts))
    except grpc.RpcError as error:
        refused_with(error)
        if uppermost(host_mounts.seen())["/"].propagation:
            raise
        blocked(f"the root of this machine is a private mount, which a runtime may refuse: {error.details()}")

    ours = container.exec("cat", f"/host-proc/{os.getpid()}/cmdline").stdout

    assert container.output("cat", f"/host{folder}/mine") == "of mine"
    assert ours == Path("/proc/self/cmdline").read_bytes()
    assert container.exec("test", "-d", "/host-sys/kernel").exit_code == 0


@requirement("MNT-31")
def test_what_the_host_has_in_memory_keeps_its_options(
    containers: Containers, host_folder: Path, host_mounts: HostMounts
) -> None:
    """A file system in memory that the host mounted SHOULD keep its size and that it is never swapped.

    Source: Mount.host_path; the kubelet mounts volumes with the medium Memory so.
    """
    try:
        place = host_mounts.tmpfs(host_folder / "memory", "size=2m,noswap")
    except OSError as error:
        blocked(f"the kernel has no file system in memory that is never swapped (Linux 6.4): {error}")
    container = containers.running(mounts=[cri.Mount(container_path="/mounted", host_path=str(place))])

    found = container.mounts()

    assert "/mounted" in found
    assert found["/mounted"].kind == "tmpfs"
    assert found["/mounted"].super_options >= {"size=2048k", "noswap"}


def traces_on_host(host_mounts: HostMounts, container: Container, layers: set[str]) -> list[str]:
    """Return the mounts of the host that belong to a container: by its ids, or by its writable layer."""
    ids = (container.id, container.sandbox.id)
    return [
        mount.place
        for mount in host_mounts.seen()
        if any(each in mount.place for each in ids) or layers & mount.super_options
    ]


@requirement("MNT-32")
def test_nothing_stays_mounted_of_what_was_removed(
    runtime: Runtime,
    sandboxes: Sandboxes,
    containers: Containers,
    host_folder: Path,
    host_mounts: HostMounts,
) -> None:
    """Once a container and its sandbox are removed, nothing of them MUST be left in the host's mount table.

    Source: RemoveContainer and RemovePodSandbox. Not stated by the CRI; what stays keeps files from being
    removed, and adds up.
    """
    sandbox = sandboxes.ready()
    container = containers.running(
        in_sandbox=sandbox, mounts=[cri.Mount(container_path="/mounted", host_path=str(host_folder))]
    )
    layers = {option for option in container.mount_at("/").super_options if option.startswith("upperdir=")}
    assert traces_on_host(host_mounts, container, layers), "nothing of the container is mounted on the host"

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id))
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=sandbox.id))
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox.id))

    assert traces_on_host(host_mounts, container, layers) == []
