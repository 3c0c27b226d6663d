"""CNC-13: calls that race with the exit of a process, as when a job is deleted that is just complete."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import Container, Containers, Runtime, refused_with, requirement
from critests.validation.runtime.concurrent_calls import settled

AT_ONCE = 2
EXITS = 40  # four with each number of reads
MOST_READS = 10  # calls between start and race: 0 to 9, as runtimes notice the exit sooner or later
Result = TypeVar("Result")


def race_with_exits(containers: Containers, race: Callable[[Container, int], Result]) -> list[Result]:
    """Create many containers that exit at once, let `race` start each and race with its exit, and return its
    results.

    Args:
        containers: creates them.
        race: gets a container, and a number of calls to make between its start and the call that races with
            its exit. The number spreads the calls over the time in which the runtime notices the exit.
    """
    results: list[Result] = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for first in range(0, EXITS, AT_ONCE):
            reads = [number % MOST_READS for number in range(first, first + AT_ONCE)]
            results += pool.map(race, [containers.created(command=["/bin/true"]) for _ in reads], reads)
    return results


def refusal_of(call: Callable[..., object], request: object) -> grpc.StatusCode | None:
    """Make a call, and return the code of its rejection; None if it succeeded."""
    try:
        call(request)
    except grpc.RpcError as error:
        return refused_with(error)
    return None


def refusal_of_a_stop(container: Container, reads: int) -> grpc.StatusCode | None:
    """Start a container, stop it after some reads, and return the code of the stop's rejection."""
    stub = container.connection.runtime
    stub.StartContainer(cri.StartContainerRequest(container_id=container.id))
    for _ in range(reads):
        container.status()
    return refusal_of(stub.StopContainer, cri.StopContainerRequest(container_id=container.id, timeout=30))


@requirement("CNC-13/stop")
def test_stop_succeeds_while_the_process_exits(containers: Containers) -> None:
    """StopContainer MUST succeed at the very moment at which the process exits by itself.

    Source: StopContainer, for which a container that is already stopped is no error.
    """
    refusals = race_with_exits(containers, refusal_of_a_stop)

    assert [code for code in refusals if code] == []


@requirement("CNC-13/state")
def test_container_stopped_while_it_exits_is_reported_as_exited(
    runtime: Runtime, containers: Containers
) -> None:
    """A container whose StopContainer has succeeded MUST be reported as EXITED, also if its process exited by
    itself at that moment.

    Source: StopContainer, ContainerStatus.
    """

    def state(container: Container, reads: int) -> str | None:
        if refusal_of_a_stop(container, reads):
            return None
        request = cri.ContainerStatusRequest(container_id=container.id)
        return cri.ContainerState.Name(runtime.stub.ContainerStatus(request).status.state)

    states = race_with_exits(containers, state)

    assert [name for name in states if name not in {None, "CONTAINER_EXITED"}] == []


@requirement("CNC-13/removal")
def test_container_stopped_while_it_exits_can_be_removed(runtime: Runtime, containers: Containers) -> None:
    """RemoveContainer MUST succeed once StopContainer has, also if the process exited by itself at that
    moment.

    Source: RemoveContainer, which removes even a running container.
    """

    def refusal(container: Container, reads: int) -> grpc.StatusCode | None:
        if refusal_of_a_stop(container, reads):
            return None
        return refusal_of(runtime.stub.RemoveContainer, cri.RemoveContainerRequest(container_id=container.id))

    refusals = race_with_exits(containers, refusal)

    assert [code for code in refusals if code] == []


@requirement("CNC-13/answer")
@pytest.mark.parametrize("race", ["RemoveContainer", "ExecSync"])
def test_calls_return_while_the_process_exits(runtime: Runtime, containers: Containers, race: str) -> None:
    """RemoveContainer and ExecSync at the very moment at which the process exits by itself MUST succeed or be
    rejected.

    Source: RemoveContainer, ExecSync.
    """
    # several, as only some of the calls come at the moment of the exit
    instant = [containers.created(command=["/bin/true"]) for _ in range(8)]
    race_with: Callable[[Container], Any] = {
        "RemoveContainer": lambda container: runtime.stub.RemoveContainer.future(
            cri.RemoveContainerRequest(container_id=container.id)
        ),
        "ExecSync": lambda container: runtime.stub.ExecSync.future(container.exec_request("true")),
    }[race]

    calls = []
    for container in instant:
        runtime.stub.StartContainer(cri.StartContainerRequest(container_id=container.id))
        calls.append(race_with(container))

    settled(calls)
    for container in instant:
        # a removed container has no status
        assert race == "RemoveContainer" or container.exited().exit_code == 0
