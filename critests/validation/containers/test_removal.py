"""CTR: RemoveContainer."""

import time

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    NO_SUCH_ID,
    Capability,
    Container,
    Containers,
    OwnRuntime,
    ProcessTree,
    Runtime,
    disruptive,
    may_be_refused,
    requirement,
    requires,
    setting_up,
    slow,
    unsupported,
)

MIB = 1 << 20
WRITTEN_BYTES = 96 * MIB
# random, as a file system may compress zeros; `sync`, as some allocate blocks only when they write
WRITE = f"dd if=/dev/urandom of=/written bs={MIB} count={WRITTEN_BYTES // MIB} 2>/dev/null; sync"
USED_SECONDS = 65.0
"""Runtimes measure disk usage every ten or thirty seconds."""
IGNORING_SIGTERM = pytest.mark.parametrize(
    "state", [cri.CONTAINER_CREATED, cri.CONTAINER_RUNNING], ids=["never started", "running"]
)
"""States in which a process may ignore SIGTERM: in a container that was never started, the OCI runtime's own
process waits as the first of its PID namespace, to which the kernel delivers only signals that it handles.
"""


def ignoring_sigterm(containers: Containers, state: "cri.ContainerState") -> Container:
    """Return a container whose process ignores SIGTERM, running or never started."""
    return containers.running(on_term="") if state == cri.CONTAINER_RUNNING else containers.created()


@requirement("CTR-28/removed")
@pytest.mark.parametrize("state", [cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED], ids=["running", "exited"])
def test_remove_container_removes_running_and_exited_containers(
    runtime: Runtime, containers: Containers, state: "cri.ContainerState"
) -> None:
    """RemoveContainer MUST remove a running container and an exited one.

    Source: RemoveContainer.
    """
    # some runtimes send SIGTERM first and kill late, so the process exits at SIGTERM
    container = (
        containers.running(on_term="exit 0") if state == cri.CONTAINER_RUNNING else containers.in_state(state)
    )

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert container.entries() == []


@requirement("CTR-28/removed")
@IGNORING_SIGTERM
def test_a_container_that_ignores_sigterm_can_be_removed(
    runtime: Runtime, containers: Containers, state: "cri.ContainerState"
) -> None:
    """RemoveContainer MUST remove a container that ignores SIGTERM, at the latest on its second call.

    Source: RemoveContainer.
    """
    container = ignoring_sigterm(containers, state)
    with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        # some runtimes wait for most of the client's deadline before they kill the process
        runtime.stub.RemoveContainer(
            cri.RemoveContainerRequest(container_id=container.id), timeout=20 * runtime.scale
        )

    if container.entries():
        runtime.retry_until_ok(
            # the first call may still be in progress and block the second
            "the second RemoveContainer to succeed",
            lambda: runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id)),
        )

    assert container.entries() == []


@requirement("CTR-28/first-call")
@IGNORING_SIGTERM
def test_a_container_that_ignores_sigterm_is_removed_by_the_first_call(
    runtime: Runtime, containers: Containers, state: "cri.ContainerState"
) -> None:
    """RemoveContainer SHOULD remove a container that ignores SIGTERM on its first call, well within the
    client's deadline.

    Source: RemoveContainer.
    """
    container = ignoring_sigterm(containers, state)

    # some runtimes wait for most of the client's deadline before they kill the process
    call = runtime.timed(
        runtime.stub.RemoveContainer,
        cri.RemoveContainerRequest(container_id=container.id),
        timeout=20 * runtime.scale,
    )

    assert container.entries() == []
    # a call that takes most of its deadline exceeds it on a busy machine
    assert call.seconds < 10 * runtime.scale


@requirement("CTR-29")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_remove_container_ends_every_process(runtime: Runtime, containers: Containers) -> None:
    """RemoveContainer of a running container MUST end all its processes, also those that left its session.

    Source: RemoveContainer; observed in the host's process table.
    """
    tree = ProcessTree()
    container = containers.running(script=tree.script, wait_for_log="ready")
    runtime.eventually(
        "three processes in the host's process table",
        tree.alive,
        holds=lambda found: len(found) >= tree.SIZE,
    )

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    runtime.eventually("no process of the container", tree.alive, 5, holds=lambda found: not found)


@requirement("CTR-30")
def test_remove_container_twice_succeeds(runtime: Runtime, containers: Containers) -> None:
    """RemoveContainer of a removed container MUST succeed.

    Source: RemoveContainer, which is idempotent.
    """
    container = containers.exited()
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert container.entries() == []


@requirement("CTR-30")
def test_remove_of_an_unknown_container_succeeds(runtime: Runtime) -> None:
    """RemoveContainer of an unknown id MUST succeed.

    Source: RemoveContainer, which is idempotent.
    """
    response = runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=NO_SUCH_ID))

    assert response == cri.RemoveContainerResponse()


@requirement("CTR-31/error")
def test_a_removed_container_is_absent_from_status_and_lists(
    runtime: Runtime, exited_container: Container
) -> None:
    """ContainerStatus MUST fail after RemoveContainer, and ListContainers MUST NOT return the container, with
    or without its id in the filter.

    Source: ContainerStatus, ListContainers.
    """
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=exited_container.id))

    runtime.refusal(
        runtime.stub.ContainerStatus, cri.ContainerStatusRequest(container_id=exited_container.id)
    )

    assert exited_container.entries() == []
    filtered = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(id=exited_container.id))
    )
    assert list(filtered.containers) == []


@requirement("CTR-31/code")
def test_status_of_a_removed_container_fails_with_not_found(
    runtime: Runtime, exited_container: Container
) -> None:
    """ContainerStatus of a removed container SHOULD fail with NotFound.

    Source: ContainerStatus, which names this code.
    """
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=exited_container.id))

    code = runtime.refusal(
        runtime.stub.ContainerStatus, cri.ContainerStatusRequest(container_id=exited_container.id)
    )

    assert code is grpc.StatusCode.NOT_FOUND


@requirement("CTR-33")
def test_remove_container_leaves_the_log_to_the_kubelet(
    runtime: Runtime, exited_container: Container
) -> None:
    """RemoveContainer SHOULD NOT remove the container's log file.

    Source: ContainerConfig.log_path; not stated by the CRI, the kubelet removes logs itself.
    """
    printed = exited_container.log_lines()

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=exited_container.id))

    assert exited_container.log_path.exists()
    assert exited_container.log_lines() == printed


def filesystems(runtime: Runtime) -> list[cri.FilesystemUsage]:
    """Return the usage of the file systems of images and containers, from ImageFsInfo."""
    response = runtime.images.ImageFsInfo(cri.ImageFsInfoRequest())
    return [*response.image_filesystems, *response.container_filesystems]


def used_on_disk(runtime: Runtime) -> int:
    """Return the used bytes of the file systems of images and containers; each file system counts once."""
    # by mount point, as images and containers may be on the same file system
    return sum({each.fs_id.mountpoint: each.used_bytes.value for each in filesystems(runtime)}.values())


@requirement("CTR-32")
@disruptive
@slow
def test_removal_frees_the_disk_space_of_a_container(own_runtime: OwnRuntime) -> None:
    """RemoveContainer SHOULD free the disk space that the container has written.

    Source: RemoveContainer, ImageFsInfo. Not stated by the CRI; the node's disk would otherwise fill up.
    """
    container = own_runtime.container()
    # a runtime of the test's own, whose disk usage no other test changes
    before = used_on_disk(own_runtime)
    with setting_up():
        own_runtime.stub.ExecSync(container.script_request(WRITE))
    written_at = time.time_ns()
    with setting_up(awaits="IMF-02"):
        own_runtime.eventually(
            "usage of ImageFsInfo that is newer than the written data",
            lambda: [each.timestamp - written_at for each in filesystems(own_runtime)],
            USED_SECONDS,
            lambda ages: all(age > 0 for age in ages),
        )
    full = used_on_disk(own_runtime)
    if full < before + WRITTEN_BYTES:
        unsupported("writable layers: ImageFsInfo does not count them")

    container.kill()
    own_runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    own_runtime.eventually(
        f"{WRITTEN_BYTES} bytes less than {full}",
        lambda: used_on_disk(own_runtime),
        USED_SECONDS,
        # not all of it: other files on the file system may grow meanwhile
        lambda used: used <= full - WRITTEN_BYTES * 9 // 10,
    )
