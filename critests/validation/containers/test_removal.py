"""CTR: removing containers."""

import secrets

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import FOREVER, IGNORING, Containers
from critests.fixtures.runtime import Runtime, may_be_refused
from critests.lifecycle.containers import Container
from critests.lifecycle.process import host_processes
from critests.node.capabilities import NO_SUCH_ID
from critests.run.marks import requirement, requires

TREE = (
    "setsid sh -c 'sleep 1000; : {mark}' & sh -c 'sleep 1000; : {mark}' & trap 'exit 0' TERM; echo ready;"
    " wait"
)
"""A first process with a child and with one in a session of its own; all three carry the mark."""
HONOURING = {"script": f"trap 'exit 0' TERM; echo ready; {FOREVER}", "wait_for_log": "ready"}
"""A process that ends at SIGTERM, from the moment on at which it has said that it is ready."""
FIRST_CALL_SECONDS = 20.0
"""Some runtimes give a process nearly all of the client's deadline, and kill it then."""


def is_listed(runtime: Runtime, container: Container) -> bool:
    """Say whether ListContainers knows a container."""
    return container.id in {
        item.id for item in runtime.stub.ListContainers(cri.ListContainersRequest()).containers
    }


@requirement("CTR-28/removed")
@pytest.mark.parametrize(
    "state",
    [cri.CONTAINER_CREATED, cri.CONTAINER_RUNNING, cri.CONTAINER_EXITED],
    ids=["created", "running", "ended"],
)
def test_remove_container_in_any_state(
    runtime: Runtime, containers: Containers, state: "cri.ContainerState"
) -> None:
    """RemoveContainer MUST remove a container that was never started, one that runs and one that has ended.

    Source: RemoveContainer.
    """
    container = containers.in_state(state, **(HONOURING if state == cri.CONTAINER_RUNNING else {}))

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert not is_listed(runtime, container)


@requirement("CTR-28/removed")
def test_a_container_that_ignores_sigterm_can_be_removed(runtime: Runtime, containers: Containers) -> None:
    """RemoveContainer MUST remove a running container that ignores SIGTERM, at the latest when it is called
    again.

    Source: RemoveContainer.
    """
    container = containers.running(script=IGNORING)
    with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        runtime.stub.RemoveContainer(
            cri.RemoveContainerRequest(container_id=container.id), timeout=FIRST_CALL_SECONDS * runtime.scale
        )

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert not is_listed(runtime, container)


@requirement("CTR-28/first-call")
def test_a_container_that_ignores_sigterm_is_removed_by_the_first_call(
    runtime: Runtime, containers: Containers
) -> None:
    """RemoveContainer SHOULD remove a running container that ignores SIGTERM on its first call.

    Source: RemoveContainer.
    """
    container = containers.running(script=IGNORING)

    runtime.stub.RemoveContainer(
        cri.RemoveContainerRequest(container_id=container.id), timeout=FIRST_CALL_SECONDS * runtime.scale
    )

    assert not is_listed(runtime, container)


@requirement("CTR-29")
@requires(Capability.SAME_HOST, Capability.ROOT)
def test_remove_container_ends_every_process(runtime: Runtime, containers: Containers) -> None:
    """RemoveContainer of a running container MUST end all of its processes, also those that left its session.

    Source: RemoveContainer; seen in this machine's process table.
    """
    mark = "mark-" + secrets.token_hex(8)
    container = containers.running(script=TREE.format(mark=mark), wait_for_log="ready")
    runtime.eventually(
        "three processes in the machine's table",
        lambda: host_processes(mark),
        holds=lambda found: len(found) >= 3,
    )

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    runtime.eventually(
        "no process of the container", lambda: host_processes(mark), 5, holds=lambda found: not found
    )


@requirement("CTR-30")
def test_remove_container_twice_succeeds(runtime: Runtime, containers: Containers) -> None:
    """RemoveContainer of a container that has been removed MUST succeed.

    Source: RemoveContainer, which is idempotent.
    """
    container = containers.exited()
    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert not is_listed(runtime, container)


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

    assert not is_listed(runtime, ended_container)
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
