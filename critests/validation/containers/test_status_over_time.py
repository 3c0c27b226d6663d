"""CTA: ContainerStatus and ListContainers follow the changes of a container."""

from critests.api import api_pb2 as cri
from critests.testing import Container, Containers, Registry, Runtime, may_be_refused, requirement


def listed_states(container: Container) -> list[int]:
    """Return the state of a container in ListContainers as a list, which is empty if it is not listed."""
    return [entry.state for entry in container.entries()]


@requirement("CTA-26")
def test_states_never_go_back(runtime: Runtime, containers: Containers) -> None:
    """ContainerStatus and ListContainers MUST NOT report RUNNING after EXITED, nor CREATED after either.

    Source: ContainerState; StartContainer, which starts a created container; no RPC leads back to an earlier
    state. The kubelet derives events from the changes.
    """
    # long enough for RUNNING to be observed
    container = containers.created(script="sleep 0.3")
    states = [container.state()]
    starting = runtime.stub.StartContainer.future(cri.StartContainerRequest(container_id=container.id))

    def record_states() -> int:
        states.extend([container.state(), *listed_states(container)])
        return states[-1]

    runtime.eventually(
        "the container to exit", record_states, holds=lambda state: state == cri.CONTAINER_EXITED
    )
    starting.result()
    # after the exit, no earlier state may return
    for _ in range(3):
        record_states()

    # CREATED, RUNNING and EXITED are 0, 1 and 2
    assert states == sorted(states)
    assert states[0] == cri.CONTAINER_CREATED
    assert cri.CONTAINER_UNKNOWN not in states


@requirement("CTA-27")
def test_a_start_is_visible_at_once(runtime: Runtime, container: Container) -> None:
    """ContainerStatus and ListContainers MUST report RUNNING as soon as StartContainer has returned.

    Source: StartContainer, ContainerStatus.state, Container.state.
    """
    before = (container.state(), listed_states(container))

    runtime.stub.StartContainer(cri.StartContainerRequest(container_id=container.id))

    after = (container.state(), listed_states(container))
    assert before == (cri.CONTAINER_CREATED, [cri.CONTAINER_CREATED])
    assert after == (cri.CONTAINER_RUNNING, [cri.CONTAINER_RUNNING])


@requirement("CTA-27")
def test_a_stop_is_visible_at_once(runtime: Runtime, running_container: Container) -> None:
    """ContainerStatus and ListContainers MUST report EXITED as soon as StopContainer has returned.

    Source: StopContainer, ContainerStatus.state, Container.state.
    """
    before = (running_container.state(), listed_states(running_container))

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=running_container.id, timeout=0))

    after = (running_container.state(), listed_states(running_container))
    assert before == (cri.CONTAINER_RUNNING, [cri.CONTAINER_RUNNING])
    assert after == (cri.CONTAINER_EXITED, [cri.CONTAINER_EXITED])


@requirement("CTA-27")
def test_a_removal_is_visible_at_once(runtime: Runtime, containers: Containers) -> None:
    """ListContainers MUST NOT return a container after RemoveContainer has returned.

    Source: RemoveContainer, ListContainers.
    """
    container = containers.exited()
    before = listed_states(container)

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert before == [cri.CONTAINER_EXITED]
    assert listed_states(container) == []


@requirement("CTA-28")
def test_status_reports_an_image_that_was_removed(
    runtime: Runtime, registry: Registry, containers: Containers
) -> None:
    """ContainerStatus MUST report the image of a container even if the image was removed or has lost its tag.

    Source: ContainerStatus.image and image_ref. A runtime may reject the removal of an image in use.
    """
    name = registry.pull(registry.mint())
    container = containers.running(image=name)

    with may_be_refused():
        runtime.images.RemoveImage(cri.RemoveImageRequest(image=cri.ImageSpec(image=name.written)))

    status = runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=container.id)).status
    assert status.image.image
    assert status.image_ref


@requirement("CTA-29")
def test_times_of_a_running_container(runtime: Runtime, running_container: Container) -> None:
    """ContainerStatus MUST report `started_at` and no `finished_at` while the container runs, and both, with
    `started_at` unchanged, when it has exited.

    Source: ContainerStatus.started_at and finished_at.
    """
    running = running_container.status()

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=running_container.id, timeout=0))

    exited = running_container.status()
    assert running.started_at > 0
    assert running.finished_at == 0
    assert exited.started_at == running.started_at
    assert exited.finished_at > 0


@requirement("CTA-30")
def test_status_of_an_exited_container_does_not_change(runtime: Runtime, exited_container: Container) -> None:
    """ContainerStatus MUST report the same exit code and times of an exited container in every call.

    Source: ContainerStatus.exit_code, started_at and finished_at.
    """
    statuses = [
        runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=exited_container.id)).status
        for _ in range(3)
    ]

    assert [status.exit_code for status in statuses] == [3, 3, 3]
    assert len({(status.started_at, status.finished_at) for status in statuses}) == 1
