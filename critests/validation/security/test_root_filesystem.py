"""SEC: the root file system of a container: writable or not, its own, and kept until it is removed."""

from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime, may_be_refused
from critests.fixtures.shared_containers import SharedContainers
from critests.lifecycle.evidence import first_process, of_process
from critests.lifecycle.process import EXEC
from critests.run.marks import requirement, requires
from critests.run.outcomes import blocked
from critests.validation.security.contexts import context, outcome, pod_context, system_call

WRITE_ONLY_AND_MAKE = 0o101
NO_DIRECTORY = -100
READ_ONLY_FILE_SYSTEM = 30
SHARED_MEMORY = "shared memory"
# what a container finds there
PLACES = {"the root": "", "etc": "/etc", "home": "/root", SHARED_MEMORY: "/dev/shm"}  # noqa: S108 - see above
IN_THE_ROOT = ("the root", "etc", "home")
WRITING = {
    name: system_call("openat", NO_DIRECTORY, f"{place}/written", WRITE_ONLY_AND_MAKE, 0o600)
    for name, place in PLACES.items()
}
"""Attempts to make a file, by where."""
DESCRIPTORS = {
    "open files": "for file in /proc/$$/fd/*; do kind=file; [ -d $file/. ] && kind=directory;"
    ' echo "${file##*/} $kind"; done'
}
CLIMBING = "cd ./../../../../../../../../../../.. && stat -c '%d %i' . && stat -c '%d %i' /"


@requirement("SEC-01")
@pytest.mark.parametrize("place", IN_THE_ROOT)
def test_a_read_only_root_cannot_be_written(shared: SharedContainers, seen_from: str, place: str) -> None:
    """With readonly_rootfs no process MUST be able to write in the root file system, root as little as
    anybody.

    Source: LinuxContainerSecurityContext.readonly_rootfs.
    """
    process = shared.process(seen_from, questions=WRITING, security_context=context(readonly_rootfs=True))

    assert outcome(process.answer(place)) == (-1, READ_ONLY_FILE_SYSTEM)


@requirement("SEC-01")
def test_shared_memory_stays_writable_on_a_read_only_root(shared: SharedContainers, seen_from: str) -> None:
    """With readonly_rootfs /dev/shm MUST stay writable: it is a file system of its own.

    Source: LinuxContainerSecurityContext.readonly_rootfs, which is about the root file system.
    """
    process = shared.process(seen_from, questions=WRITING, security_context=context(readonly_rootfs=True))

    assert outcome(process.answer(SHARED_MEMORY))[0] >= 0


@requirement("SEC-01")
@requires(Capability.SAME_HOST)
def test_mounts_of_the_caller_stay_writable_on_a_read_only_root(
    containers: Containers, host_folder: Path
) -> None:
    """With readonly_rootfs a mount that is not readonly MUST stay writable.

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

    found = {file.name: file.read_text() for file in host_folder.iterdir()}
    assert found == {"first": "from the first\n", "command": "from a command\n"}


@requirement("SEC-02")
@pytest.mark.parametrize("place", IN_THE_ROOT)
def test_the_root_is_writable_unless_asked_for(shared: SharedContainers, seen_from: str, place: str) -> None:
    """Without readonly_rootfs a process MUST be able to write in the root file system.

    Source: LinuxContainerSecurityContext.readonly_rootfs.
    """
    process = shared.process(seen_from, questions=WRITING)

    assert outcome(process.answer(place))[0] >= 0


@requirement("SEC-02")
def test_what_a_container_writes_is_its_own(containers: Containers) -> None:
    """What a container writes in its root file system MUST NOT appear in another one of the same image.

    Source: LinuxContainerSecurityContext.readonly_rootfs; a container is made from an image, which stays.
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
def test_what_was_written_is_there_until_the_container_is_removed(
    runtime: Runtime, containers: Containers
) -> None:
    """What a container wrote in its root file system MUST be kept when it is stopped, until it is removed.

    Source: StopContainer and RemoveContainer; the upper directory of its overlay is seen on the machine.
    """
    mark = f"layer-{id(containers):x}"
    container = containers.running(first=f"echo kept > /written; : {mark}", on_term="")
    upper = _upper_directory(runtime, mark)

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=0))
    container.exited()
    kept = (upper / "written").read_text()
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert kept == "kept\n"
    runtime.eventually("the layer to be gone", lambda: not (upper / "written").exists())


def _upper_directory(runtime: Runtime, mark: str) -> Path:
    """Return where the overlay of a container keeps what was written."""
    root = of_process(first_process(mark)).mount_at("/")
    options = root.super_options if root is not None else frozenset()
    upper = [option.removeprefix("upperdir=") for option in options if option.startswith("upperdir=")]
    if not upper or not upper[0].startswith("/"):
        blocked("needs a root file system that is an overlay whose upper directory can be seen")
    return runtime.seen_by_daemon(Path(upper[0]))


@requirement("SEC-10")
def test_a_read_only_sandbox_leaves_containers_writable(shared: SharedContainers) -> None:
    """The readonly_rootfs of a sandbox SHOULD be about its own process, and not about its containers.

    Source: LinuxSandboxSecurityContext.readonly_rootfs.
    """
    pod = shared.sandbox(security_context=pod_context(readonly_rootfs=True))

    process = shared.process(EXEC, in_sandbox=pod, questions=WRITING)

    assert outcome(process.answer("etc"))[0] >= 0


@requirement("SEC-12")
def test_the_security_context_of_a_sandbox_is_not_that_of_its_containers(
    shared: SharedContainers, seen_from: str
) -> None:
    """User, groups and a read-only root of a sandbox MUST NOT be those of containers that name none.

    Source: LinuxSandboxSecurityContext, which does not apply to containers.
    """
    pod = shared.sandbox(security_context=pod_context(1000, supplemental_groups=[3100], readonly_rootfs=True))

    inside = shared.process(seen_from, in_sandbox=pod, questions=WRITING)
    elsewhere = shared.process(seen_from, questions=WRITING)

    assert (inside.status.uids, inside.status.gids) == ((0,) * 4, (0,) * 4)
    assert inside.status.groups == elsewhere.status.groups
    assert outcome(inside.answer("etc"))[0] >= 0
    assert inside.status.seccomp_mode == elsewhere.status.seccomp_mode


@requirement("SEC-15")
def test_no_process_inherits_a_directory_of_the_host(shared: SharedContainers, seen_from: str) -> None:
    """A process MUST NOT be given an open directory.

    Source: not stated by the CRI; a directory of the host that was left open led out of containers
    (CVE-2024-21626).
    """
    listed = shared.process(seen_from, questions=DESCRIPTORS).answer("open files").splitlines()

    kinds = dict(line.split() for line in listed)
    assert kinds.keys() >= {"0", "1", "2"}
    assert [number for number, kind in kinds.items() if kind == "directory"] == []


@requirement("SEC-15")
@pytest.mark.parametrize("number", [3, 5, 6, 7, 8, 9, 10])
def test_an_open_file_as_working_directory_leads_nowhere(containers: Containers, number: int) -> None:
    """A working_dir among the runtime's own open files MUST be refused, or lead to no directory outside of
    the container.

    Source: ContainerConfig.working_dir; not stated by the CRI (CVE-2024-21626).
    """
    config = containers.config(working_dir=f"/proc/self/fd/{number}", script=CLIMBING)

    with may_be_refused():
        container = containers.attempt(config)
        climbed = container.final_log_lines()
        # device and inode of the topmost directory from there, and of the container's root
        assert len(set(climbed)) <= 1 or container.status().exit_code != 0
