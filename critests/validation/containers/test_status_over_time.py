"""CTA: what is reported of a container changes as its life goes on, and only then."""

from critests.api import api_pb2 as cri
from critests.fixtures.containers import Containers
from critests.fixtures.images import Registry
from critests.fixtures.runtime import Runtime, may_be_refused
from critests.lifecycle.containers import Container
from critests.run.marks import requirement


def listed_states(container: Container) -> list[int]:
    """Return the state of a container in the list of all; none where it is not in the list."""
    return [entry.state for entry in container.entries()]


@requirement("CTA-26")
def test_states_never_go_back(runtime: Runtime, containers: Containers) -> None:
    """The states that ContainerStatus and ListContainers tell one after the other MUST never go back from
    EXITED or RUNNING.

    Source: ContainerState; StartContainer, which starts what was created, and no other RPC leads back. The
    kubelet makes events of the changes.
    """
    container = containers.created(script="sleep 0.3")
    seen = [container.state()]
    starting = runtime.stub.StartContainer.future(cri.StartContainerRequest(container_id=container.id))

    def look() -> int:
        seen.extend([container.state(), *listed_states(container)])
        return seen[-1]

    runtime.eventually("the container's end", look, holds=lambda state: state == cri.CONTAINER_EXITED)
    starting.result()
    for _ in range(3):
        look()

    # CREATED, RUNNING and EXITED are 0, 1 and 2
    assert seen == sorted(seen)
    assert seen[0] == cri.CONTAINER_CREATED
    assert cri.CONTAINER_UNKNOWN not in seen


@requirement("CTA-27")
def test_a_start_is_seen_at_once(runtime: Runtime, container: Container) -> None:
    """ContainerStatus and ListContainers MUST tell RUNNING as soon as StartContainer has returned.

    Source: StartContainer, ContainerStatus.state, Container.state.
    """
    before = (container.state(), listed_states(container))

    runtime.stub.StartContainer(cri.StartContainerRequest(container_id=container.id))

    after = (container.state(), listed_states(container))
    assert before == (cri.CONTAINER_CREATED, [cri.CONTAINER_CREATED])
    assert after == (cri.CONTAINER_RUNNING, [cri.CONTAINER_RUNNING])


@requirement("CTA-27")
def test_a_stop_is_seen_at_once(runtime: Runtime, running_container: Container) -> None:
    """ContainerStatus and ListContainers MUST tell EXITED as soon as StopContainer has returned.

    Source: StopContainer, ContainerStatus.state, Container.state.
    """
    before = (running_container.state(), listed_states(running_container))

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=running_container.id, timeout=0))

    after = (running_container.state(), listed_states(running_container))
    assert before == (cri.CONTAINER_RUNNING, [cri.CONTAINER_RUNNING])
    assert after == (cri.CONTAINER_EXITED, [cri.CONTAINER_EXITED])


@requirement("CTA-27")
def test_a_removal_is_seen_at_once(runtime: Runtime, containers: Containers) -> None:
    """ListContainers MUST NOT tell of a container any more as soon as RemoveContainer has returned.

    Source: RemoveContainer, ListContainers.
    """
    container = containers.exited()
    before = listed_states(container)

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))

    assert before == [cri.CONTAINER_EXITED]
    assert listed_states(container) == []


@requirement("CTA-28")
def test_status_names_an_image_that_was_removed(
    runtime: Runtime, registry: Registry, containers: Containers
) -> None:
    """ContainerStatus MUST name the image of a container even when the image has lost its name or was
    removed.

    Source: ContainerStatus.image and image_ref. That a runtime refuses to remove an image in use is left
    open.
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
    """A running container MUST have the time of its start and none of an end; when it has ended it MUST have
    both, the start unchanged.

    Source: ContainerStatus.started_at and finished_at.
    """
    alive = running_container.status()

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=running_container.id, timeout=0))

    ended = running_container.status()
    assert alive.started_at > 0
    assert alive.finished_at == 0
    assert ended.started_at == alive.started_at
    assert ended.finished_at > 0


@requirement("CTA-30")
def test_status_of_an_exited_container_does_not_change(runtime: Runtime, ended_container: Container) -> None:
    """The exit code and the times of a container that has ended MUST be the same whenever they are asked for.

    Source: ContainerStatus.exit_code, started_at and finished_at.
    """
    answers = [
        runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=ended_container.id)).status
        for _ in range(3)
    ]

    assert [status.exit_code for status in answers] == [3, 3, 3]
    assert len({(status.started_at, status.finished_at) for status in answers}) == 1
