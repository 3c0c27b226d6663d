"""CTR: removing containers."""

import time

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.runtime import Runtime, may_be_refused
from critests.lifecycle.containers import Container
from critests.lifecycle.process import ProcessTree
from critests.node.capabilities import NO_SUCH_ID
from critests.run.marks import disruptive, requirement, requires, slow
from critests.run.outcomes import setting_up, unsupported

MIB = 1 << 20
WRITTEN_BYTES = 96 * MIB
WRITE = f"dd if=/dev/urandom of=/written bs={MIB} count={WRITTEN_BYTES // MIB} 2>/dev/null; sync"
USED_SECONDS = 65.0
"""Runtimes look at disks every ten seconds, or every thirty."""
STUBBORN = pytest.mark.parametrize(
    "state", [cri.CONTAINER_CREATED, cri.CONTAINER_RUNNING], ids=["never started", "running"]
)
"""States in which SIGTERM may be ignored: what waits in a container that was never started is the OCI
runtime's own process, and the first of its PID namespace, so that it ends only at signals that it handles.
"""


def stubborn(containers: Containers, state: "cri.ContainerState") -> Container:
    """Return a container whose process ignores SIGTERM, or is not yet its own."""
    return containers.running(on_term="") if state == cri.CONTAINER_RUNNING else containers.created()


@requirement("CTR-28/removed")
@pytest.mark.parametrize("state", [cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED], ids=["running", "ended"])
def test_remove_container_that_runs_or_has_ended(
    runtime: Runtime, containers: Containers, state: "cri.ContainerState"
) -> None:
    """RemoveContainer MUST remove a container that runs and one that has ended.

    Source: RemoveContainer.
    """
    # some runtimes ask before they kill, and kill late: the process has to end at SIGTERM
    container = (
        containers.running(on_term="exit 0") if state == cri.CONTAINER_RUNNING else containers.in_state(state)
    )

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert container.entries() == []


@requirement("CTR-28/removed")
@STUBBORN
def test_a_container_that_ignores_sigterm_can_be_removed(
    runtime: Runtime, containers: Containers, state: "cri.ContainerState"
) -> None:
    """RemoveContainer MUST remove a container that ignores SIGTERM, at the latest when it is called again.

    Source: RemoveContainer.
    """
    container = stubborn(containers, state)
    with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        # some runtimes give a process nearly all of the client's deadline, and kill it then
        runtime.stub.RemoveContainer(
            cri.RemoveContainerRequest(container_id=container.id), timeout=20 * runtime.scale
        )

    if container.entries():
        runtime.until_answered(
            # the first call may be at work still, and be in the way of the next
            "RemoveContainer asked again",
            lambda: runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id)),
        )

    assert container.entries() == []


@requirement("CTR-28/first-call")
@STUBBORN
def test_a_container_that_ignores_sigterm_is_removed_by_the_first_call(
    runtime: Runtime, containers: Containers, state: "cri.ContainerState"
) -> None:
    """RemoveContainer SHOULD remove a container that ignores SIGTERM on its first call, without using up the
    client's deadline.

    Source: RemoveContainer.
    """
    container = stubborn(containers, state)

    # some runtimes give a process nearly all of the client's deadline, and kill it then
    call = runtime.timed(
        runtime.stub.RemoveContainer,
        cri.RemoveContainerRequest(container_id=container.id),
        timeout=20 * runtime.scale,
    )

    assert container.entries() == []
    # a deadline that is nearly used up is missed as soon as the machine is busy
    assert call.seconds < 10 * runtime.scale


@requirement("CTR-29")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_remove_container_ends_every_process(runtime: Runtime, containers: Containers) -> None:
    """RemoveContainer of a running container MUST end all of its processes, also those that left its session.

    Source: RemoveContainer; seen in this machine's process table.
    """
    tree = ProcessTree()
    container = containers.running(script=tree.script, wait_for_log="ready")
    runtime.eventually(
        "three processes in the machine's table",
        tree.alive,
        holds=lambda found: len(found) >= tree.SIZE,
    )

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    runtime.eventually("no process of the container", tree.alive, 5, holds=lambda found: not found)


@requirement("CTR-30")
def test_remove_container_twice_succeeds(runtime: Runtime, containers: Containers) -> None:
    """RemoveContainer of a container that has been removed MUST succeed.

    Source: RemoveContainer, which is idempotent.
    """
    container = containers.exited()
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert container.entries() == []


@requirement("CTR-30")
def test_remove_of_an_unknown_container_succeeds(runtime: Runtime) -> None:
    """RemoveContainer of an id that no container has MUST succeed.

    Source: RemoveContainer, which is idempotent.
    """
    answer = runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=NO_SUCH_ID))

    assert answer == cri.RemoveContainerResponse()


@requirement("CTR-31/error")
def test_a_removed_container_is_gone_from_status_and_lists(
    runtime: Runtime, ended_container: Container
) -> None:
    """After RemoveContainer ContainerStatus MUST fail and ListContainers MUST NOT name the container, even
    when asked for it.

    Source: ContainerStatus, ListContainers.
    """
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=ended_container.id))

    runtime.refusal(runtime.stub.ContainerStatus, cri.ContainerStatusRequest(container_id=ended_container.id))

    assert ended_container.entries() == []
    asked = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(id=ended_container.id))
    )
    assert list(asked.containers) == []


@requirement("CTR-31/code")
def test_status_of_a_removed_container_says_not_found(runtime: Runtime, ended_container: Container) -> None:
    """ContainerStatus of a removed container SHOULD fail with NotFound.

    Source: ContainerStatus, which names this code.
    """
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=ended_container.id))

    code = runtime.refusal(
        runtime.stub.ContainerStatus, cri.ContainerStatusRequest(container_id=ended_container.id)
    )

    assert code is grpc.StatusCode.NOT_FOUND


@requirement("CTR-33")
def test_remove_container_leaves_the_log_to_the_kubelet(runtime: Runtime, ended_container: Container) -> None:
    """RemoveContainer SHOULD leave the container's log file where it is.

    Source: ContainerConfig.log_path; not stated by the CRI, the kubelet removes logs itself.
    """
    printed = ended_container.log_lines()

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=ended_container.id))

    assert ended_container.log_path.exists()
    assert ended_container.log_lines() == printed


def filesystems(runtime: Runtime) -> list[cri.FilesystemUsage]:
    """Return what is told of the file systems of images and containers."""
    answer = runtime.images.ImageFsInfo(cri.ImageFsInfoRequest())
    return [*answer.image_filesystems, *answer.container_filesystems]


def used_on_disk(runtime: Runtime) -> int:
    """Return the bytes on the file systems of images and containers, each of which counts once."""
    found = filesystems(runtime)
    return sum({each.fs_id.mountpoint: each.used_bytes.value for each in found}.values())


@requirement("CTR-32")
@disruptive
@slow
def test_removal_frees_what_a_container_has_written(own_runtime: OwnRuntime) -> None:
    """RemoveContainer SHOULD free the space of what the container has written.

    Source: RemoveContainer, ImageFsInfo. Not stated by the CRI; a node would fill up.
    """
    container = own_runtime.container()
    before = used_on_disk(own_runtime)
    with setting_up():
        own_runtime.stub.ExecSync(container.script_request(WRITE))
    written_at = time.time_ns()
    with setting_up(awaits="IMF-02"):
        own_runtime.eventually(
            "figures of ImageFsInfo that are younger than what was written",
            lambda: [each.timestamp - written_at for each in filesystems(own_runtime)],
            USED_SECONDS,
            lambda ages: all(age > 0 for age in ages),
        )
    full = used_on_disk(own_runtime)
    if full < before + WRITTEN_BYTES:
        unsupported("writable layers: not counted in ImageFsInfo")

    container.kill()
    own_runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    own_runtime.eventually(
        f"{WRITTEN_BYTES} bytes less than {full}",
        lambda: used_on_disk(own_runtime),
        USED_SECONDS,
        lambda used: used <= full - WRITTEN_BYTES * 9 // 10,
    )
