"""SEC: the root file system of a container: writable or not, separate, and preserved until removal."""

from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.lifecycle.process_evidence import of_process
from critests.testing import (
    EXEC,
    Capability,
    Containers,
    Registry,
    Runtime,
    SharedContainers,
    blocked,
    first_process,
    may_be_refused,
    requirement,
    requires,
)
from critests.validation.security.contexts import context, error_of, pod_context, system_call

WRITE_ONLY_AND_CREATE = 0o101  # O_WRONLY | O_CREAT
AT_FDCWD = -100
SHARED_MEMORY = "shared memory"
# directories of a container
PLACES = {"the root": "", "etc": "/etc", "home": "/root", SHARED_MEMORY: "/dev/shm"}  # noqa: S108 - in the container
IN_THE_ROOT = ("the root", "etc", "home")
WRITE_ATTEMPTS = {
    name: system_call("openat", AT_FDCWD, f"{place}/written", WRITE_ONLY_AND_CREATE, 0o600)
    for name, place in PLACES.items()
}
"""Attempts to create a file, by place."""
DESCRIPTORS = {
    "open files": "for file in /proc/$$/fd/*; do kind=file; [ -d $file/. ] && kind=directory;"
    ' echo "${file##*/} $kind"; done'
}
# far beyond the depth of any directory: the parent of a root directory is that directory
CLIMB = "cd ./../../../../../../../../../../.. && stat -c '%d %i' . && stat -c '%d %i' /"


@requirement("SEC-01")
@pytest.mark.parametrize("place", IN_THE_ROOT)
def test_a_read_only_root_cannot_be_written(
    shared_containers: SharedContainers, seen_from: str, place: str
) -> None:
    """A container with `readonly_rootfs` MUST NOT be able to write to its root file system, not even as root.

    Source: LinuxContainerSecurityContext.readonly_rootfs.
    """
    process = shared_containers.process(
        seen_from, questions=WRITE_ATTEMPTS, security_context=context(readonly_rootfs=True)
    )

    assert error_of(process.answer(place)) == "EROFS"


@requirement("SEC-18")
@pytest.mark.parametrize("place", ["etc", "data"])
def test_directories_of_the_image_keep_their_owner_and_mode(
    containers: Containers, registry: Registry, host_folder: Path, place: str
) -> None:
    """A directory of the image MUST have the owner and mode of the image, even if the runtime adds files or
    mounts to it.

    Source: OCI image specification, file attributes of layers.
    """
    minted = registry.mint(
        changes={"files": [{"path": place, "kind": "directory", "mode": 0o751, "uid": 1234, "gid": 4321}]}
    )
    (host_folder / "file").touch()
    mount = cri.Mount(container_path=f"/{place}/added", host_path=str(host_folder / "file"))

    container = containers.running(image=registry.pull(minted), mounts=[mount])

    assert container.output("stat", "-c", "%u:%g %a", f"/{place}") == "1234:4321 751"


@requirement("SEC-01")
def test_shared_memory_stays_writable_on_a_read_only_root(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """The file system at /dev/shm MUST stay writable with `readonly_rootfs`.

    Source: LinuxContainerSecurityContext.readonly_rootfs, which concerns the root file system alone.
    """
    process = shared_containers.process(
        seen_from, questions=WRITE_ATTEMPTS, security_context=context(readonly_rootfs=True)
    )

    assert error_of(process.answer(SHARED_MEMORY)) == ""


@requirement("SEC-01")
@requires(Capability.SAME_HOST)
def test_mounts_of_the_caller_stay_writable_on_a_read_only_root(
    containers: Containers, host_folder: Path
) -> None:
    """A mount without `readonly` MUST stay writable with `readonly_rootfs`.

    Source: LinuxContainerSecurityContext.readonly_rootfs, Mount.readonly.
    """
    mount = cri.Mount(container_path="/mounted", host_path=str(host_folder))
    container = containers.running(
        first="echo from the first > /mounted/first",
        on_term="",
        mounts=[mount],
        security_context=context(readonly_rootfs=True),
    )

    container.output("sh", "-c", "echo from a command > /mounted/command")

    written = {file.name: file.read_text() for file in host_folder.iterdir()}
    assert written == {"first": "from the first\n", "command": "from a command\n"}


@requirement("SEC-02")
@pytest.mark.parametrize("place", IN_THE_ROOT)
def test_the_root_is_writable_by_default(
    shared_containers: SharedContainers, seen_from: str, place: str
) -> None:
    """A container without `readonly_rootfs` MUST be able to write to its root file system.

    Source: LinuxContainerSecurityContext.readonly_rootfs.
    """
    process = shared_containers.process(seen_from, questions=WRITE_ATTEMPTS)

    assert error_of(process.answer(place)) == ""


@requirement("SEC-02")
def test_changes_are_not_visible_in_other_containers(containers: Containers) -> None:
    """Changes in the root file system of a container MUST NOT appear in another container of the same image.

    Source: LinuxContainerSecurityContext.readonly_rootfs; an image does not change with its containers.
    """
    first, second = containers.running(), containers.running()

    first.output("sh", "-c", "echo changed > /etc/passwd; echo new > /new")
    third = containers.running()

    assert first.output("cat", "/etc/passwd", "/new") == "changed\nnew"
    for other in (second, third):
        assert other.exec("test", "-e", "/new").exit_code == 1
        assert "changed" not in other.output("cat", "/etc/passwd")


@requirement("SEC-03")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_changes_are_preserved_until_the_container_is_removed(
    runtime: Runtime, containers: Containers
) -> None:
    """Files in the root file system of a container MUST be preserved when it is stopped, until it is removed.

    Source: StopContainer and RemoveContainer; the test reads the overlay's upper directory on the machine.
    """
    # identifies the process in the process table
    mark = f"layer-{id(containers):x}"
    container = containers.running(first=f"echo preserved > /written; : {mark}", on_term="")
    upper = _upper_directory(runtime, mark)

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=0))
    container.exited()
    content = (upper / "written").read_text()
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert content == "preserved\n"
    runtime.eventually("the layer to be gone", lambda: not (upper / "written").exists())


def _upper_directory(runtime: Runtime, mark: str) -> Path:
    """Return the upper directory of a container's overlay, which contains its changes."""
    root = of_process(first_process(mark)).mount_at("/")
    options = root.super_options if root is not None else frozenset()
    upper = [option.removeprefix("upperdir=") for option in options if option.startswith("upperdir=")]
    if not upper or not upper[0].startswith("/"):
        blocked("needs an overlay as root file system, whose mount options name its upper directory")
    return runtime.seen_by_daemon(Path(upper[0]))


@requirement("SEC-10")
def test_a_read_only_sandbox_leaves_containers_writable(shared_containers: SharedContainers) -> None:
    """A sandbox with `readonly_rootfs` SHOULD NOT make the root file systems of its containers read-only.

    Source: LinuxSandboxSecurityContext.readonly_rootfs.
    """
    pod = shared_containers.sandbox(security_context=pod_context(readonly_rootfs=True))

    process = shared_containers.process(EXEC, in_sandbox=pod, questions=WRITE_ATTEMPTS)

    assert error_of(process.answer("etc")) == ""


@requirement("SEC-12")
def test_the_security_context_of_a_sandbox_does_not_apply_to_containers(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """The user, groups and read-only root of a sandbox MUST NOT apply to containers without their own.

    Source: LinuxSandboxSecurityContext, which does not apply to containers.
    """
    pod = shared_containers.sandbox(
        security_context=pod_context(1000, supplemental_groups=[3100], readonly_rootfs=True)
    )

    in_pod = shared_containers.process(seen_from, in_sandbox=pod, questions=WRITE_ATTEMPTS)
    elsewhere = shared_containers.process(seen_from, questions=WRITE_ATTEMPTS)

    assert (in_pod.status.uids, in_pod.status.gids) == ((0,) * 4, (0,) * 4)
    assert in_pod.status.groups == elsewhere.status.groups
    assert error_of(in_pod.answer("etc")) == ""
    assert in_pod.status.seccomp_mode == elsewhere.status.seccomp_mode


@requirement("SEC-15")
def test_no_process_inherits_a_directory_of_the_host(
    shared_containers: SharedContainers, seen_from: str
) -> None:
    """A process MUST NOT inherit an open directory.

    Source: not stated by the CRI; a leaked descriptor of a host directory let processes leave their container
    (CVE-2024-21626).
    """
    listed = shared_containers.process(seen_from, questions=DESCRIPTORS).answer("open files").splitlines()

    kinds = dict(line.split() for line in listed)
    assert kinds.keys() >= {"0", "1", "2"}
    assert [number for number, kind in kinds.items() if kind == "directory"] == []


@requirement("SEC-15")
# the first numbers after the standard streams, where the runtime's own files are
@pytest.mark.parametrize("number", [3, 5, 6, 7, 8, 9, 10])
def test_working_directory_in_proc_self_fd_does_not_leave_the_container(
    containers: Containers, number: int
) -> None:
    """A `working_dir` in /proc/self/fd MUST be rejected, or resolve to no directory outside of the container.

    Source: ContainerConfig.working_dir; not stated by the CRI (CVE-2024-21626).
    """
    config = containers.config(working_dir=f"/proc/self/fd/{number}", script=CLIMB)

    with may_be_refused():
        container = containers.attempt(config)
        directories = container.final_log_lines()
        # device and inode of the topmost parent of the working directory, and of the container's root
        if container.status().exit_code == 0:
            assert len(set(directories)) <= 1
