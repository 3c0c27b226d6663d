"""CNC-13: calls that meet the end of a process, as where a job is deleted that is just done."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime, refused_with
from critests.lifecycle.containers import Container
from critests.run.marks import requirement
from critests.validation.runtime.calls import settled

AT_ONCE = 2
ENDS = 40
MOST_READS = 10
Seen = TypeVar("Seen")


def at_each_end(containers: Containers, meet: Callable[[Container, int], Seen]) -> list[Seen]:
    """Hand many containers that end at once when they are started to what starts them and meets their end;
    return what it saw of each.

    Args:
        containers: makes them.
        meet: gets a container, and the number of calls to make between its start and what shall meet its end.
            They spread the moments over the time in which the runtime learns of the end, as fast as it is.
    """
    seen: list[Seen] = []
    with ThreadPoolExecutor(AT_ONCE) as beside:
        for first in range(0, ENDS, AT_ONCE):
            reads = [number % MOST_READS for number in range(first, first + AT_ONCE)]
            seen += beside.map(meet, [containers.created(command=["/bin/true"]) for _ in reads], reads)
    return seen


def refusal_of(call: Callable[..., object], request: object) -> grpc.StatusCode | None:
    """Make a call, and return how it was refused; nothing where it succeeded."""
    try:
        call(request)
    except grpc.RpcError as error:
        return refused_with(error)
    return None


def refusal_of_a_stop(container: Container, reads: int) -> grpc.StatusCode | None:
    """Start a container, stop it after some reads, and return how the stop was refused."""
    stub = container.connection.runtime
    stub.StartContainer(cri.StartContainerRequest(container_id=container.id))
    for _ in range(reads):
        container.status()
    return refusal_of(stub.StopContainer, cri.StopContainerRequest(container_id=container.id, timeout=30))


@requirement("CNC-13/stop")
def test_a_stop_that_meets_the_end_of_a_process_succeeds(containers: Containers) -> None:
    """A stop MUST succeed at the very moment at which the process ends by itself.

    Source: StopContainer, for which it is no error that a container has been stopped.
    """
    refusals = at_each_end(containers, refusal_of_a_stop)

    assert [code for code in refusals if code] == []


@requirement("CNC-13/state")
def test_what_was_stopped_while_it_ended_is_told_as_ended(runtime: Runtime, containers: Containers) -> None:
    """A container whose stop has succeeded MUST be told as ended, also where its process ended by itself
    meanwhile.

    Source: StopContainer, ContainerStatus.
    """

    def state(container: Container, reads: int) -> str | None:
        if refusal_of_a_stop(container, reads):
            return None
        request = cri.ContainerStatusRequest(container_id=container.id)
        return cri.ContainerState.Name(runtime.stub.ContainerStatus(request).status.state)

    states = at_each_end(containers, state)

    assert [name for name in states if name not in {None, "CONTAINER_EXITED"}] == []


@requirement("CNC-13/removal")
def test_what_was_stopped_while_it_ended_can_be_removed(runtime: Runtime, containers: Containers) -> None:
    """A removal MUST succeed once a stop has, also where the process ended by itself meanwhile.

    Source: RemoveContainer, which removes even what runs.
    """

    def refusal(container: Container, reads: int) -> grpc.StatusCode | None:
        if refusal_of_a_stop(container, reads):
            return None
        return refusal_of(runtime.stub.RemoveContainer, cri.RemoveContainerRequest(container_id=container.id))

    refusals = at_each_end(containers, refusal)

    assert [code for code in refusals if code] == []


@requirement("CNC-13/answer")
@pytest.mark.parametrize("race", ["RemoveContainer", "ExecSync"])
def test_calls_that_meet_the_end_of_a_process_are_answered(
    runtime: Runtime, containers: Containers, race: str
) -> None:
    """A removal or a command at the very moment at which the process ends by itself MUST succeed or be
    refused.

    Source: RemoveContainer, ExecSync.
    """
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
        assert race == "RemoveContainer" or container.exited().exit_code == 0
