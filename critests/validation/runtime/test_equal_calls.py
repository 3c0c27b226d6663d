"""CNC: calls about the same object at the same time."""

from collections.abc import Sequence
from typing import Any

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.containers import Containers
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.runtime import Runtime, refused_with
from critests.fixtures.sandboxes import Sandboxes
from critests.fixtures.session import Observe
from critests.lifecycle.containers import Container
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import disruptive, requirement
from critests.validation.runtime.calls import settled

FORM_SECONDS = 2.0
"""How long the loser of two equal calls is given to say what it gets."""


def first_of(runtime: Runtime, calls: Sequence[Any]) -> Any:  # noqa: ANN401 - grpcio's future
    """Wait until one of several equal calls has succeeded, and return it: some runtimes keep the others until
    their clients give them up.
    """
    return runtime.eventually(
        "an answer to one of the calls",
        lambda: next((call for call in calls if call.done() and call.exception() is None), None),
        60,
        holds=lambda call: call is not None or all(each.done() for each in calls),
    )


def what_the_loser_gets(runtime: Runtime, calls: Sequence[Any], winner: Any, name: str) -> str:  # noqa: ANN401 - grpcio's future
    """Return in words what the other one of two equal calls gets."""
    loser = next(call for call in calls if call is not winner)
    try:
        runtime.eventually("the end of the other call", loser.done, FORM_SECONDS)
    except AssertionError:
        loser.cancel()
        return "waits"
    error = loser.exception()
    if error is not None:
        return refused_with(error).name
    return "the same id" if getattr(loser.result(), name) == getattr(winner.result(), name) else "another id"


@requirement("CNC-02/one")
@pytest.mark.usefixtures("sandbox")
def test_two_equal_sandboxes_at_once_are_one(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """Of two equal calls of RunPodSandbox at the same time one MUST succeed, and one sandbox MUST come of it.

    Source: PodSandboxMetadata, which makes a sandbox unique.
    """
    config = sandboxes.marked_config()

    calls = [runtime.stub.RunPodSandbox.future(sandboxes.creation(config)) for _ in range(2)]

    winner = first_of(runtime, calls)
    assert winner is not None, [call.details() for call in calls]
    pod = sandboxes.adopt(winner.result().pod_sandbox_id, config)
    what_the_loser_gets(runtime, calls, winner, "pod_sandbox_id")
    assert [item.id for item in sandboxes.made_from(config)] == [pod.id]


@requirement("CNC-02/form")
@pytest.mark.usefixtures("sandbox")
def test_loser_of_two_equal_sandboxes(runtime: Runtime, sandboxes: Sandboxes, observe: Observe) -> None:
    """The other one of two equal calls of RunPodSandbox MAY fail, get the same id, or wait.

    Source: RunPodSandbox; the CRI leaves it open.
    """
    config = sandboxes.marked_config()

    calls = [runtime.stub.RunPodSandbox.future(sandboxes.creation(config)) for _ in range(2)]

    winner = first_of(runtime, calls)
    assert winner is not None, [call.details() for call in calls]
    sandboxes.adopt(winner.result().pod_sandbox_id, config)
    observe(what_the_loser_gets(runtime, calls, winner, "pod_sandbox_id"))


@requirement("CNC-03/one")
def test_two_equal_containers_at_once_are_one(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """Of two equal calls of CreateContainer at the same time one MUST succeed, and one container MUST come of
    it.

    Source: ContainerMetadata, which makes a container unique in its sandbox.
    """
    request = containers.creation(containers.config(), own_sandbox)

    calls = [runtime.stub.CreateContainer.future(request) for _ in range(2)]

    winner = first_of(runtime, calls)
    assert winner is not None, [call.details() for call in calls]
    made = containers.adopt(winner.result().container_id, request.config, own_sandbox)
    what_the_loser_gets(runtime, calls, winner, "container_id")
    inside = cri.ContainerFilter(pod_sandbox_id=own_sandbox.id)
    listed = runtime.stub.ListContainers(cri.ListContainersRequest(filter=inside)).containers
    assert [item.id for item in listed] == [made.id]


@requirement("CNC-03/form")
def test_loser_of_two_equal_containers(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, observe: Observe
) -> None:
    """The other one of two equal calls of CreateContainer MAY fail, get the same id, or wait.

    Source: CreateContainer; the CRI leaves it open.
    """
    request = containers.creation(containers.config(), own_sandbox)

    calls = [runtime.stub.CreateContainer.future(request) for _ in range(2)]

    winner = first_of(runtime, calls)
    assert winner is not None, [call.details() for call in calls]
    containers.adopt(winner.result().container_id, request.config, own_sandbox)
    observe(what_the_loser_gets(runtime, calls, winner, "container_id"))


@requirement("CNC-04")
@disruptive
def test_a_container_that_is_started_twice_at_once_runs_once(own_runtime: OwnRuntime) -> None:
    """A container that two calls start at the same time MUST run, and its process MUST be started once.

    Source: StartContainer. Not stated by the CRI; the call that comes too late has nothing to do. On a
    runtime of its own, as some keep the container to themselves for as long as the second call waits, and
    answer nobody else who asks for the statistics of all.
    """
    containers = own_runtime.containers
    container = containers.created(first="echo begun")
    request = cri.StartContainerRequest(container_id=container.id)

    calls = [own_runtime.stub.StartContainer.future(request) for _ in range(2)]

    assert settled(calls)
    assert containers.until_logged(container, "begun") == ["begun"]
    assert container.state() == cri.CONTAINER_RUNNING


@requirement("CNC-05")
def test_a_container_that_is_removed_many_times_at_once_is_gone(
    runtime: Runtime, running_container: Container
) -> None:
    """Calls that stop and remove a container at the same time MUST end, and it MUST be removed then or by the
    next call.

    Source: StopContainer and RemoveContainer, which the API calls idempotent.
    """
    removal = cri.RemoveContainerRequest(container_id=running_container.id)
    stop = cri.StopContainerRequest(container_id=running_container.id, timeout=1)
    stub = runtime.stub

    calls = [
        call
        for _ in range(3)
        for call in (
            stub.StopContainer.future(stop, timeout=runtime.one_try),
            stub.RemoveContainer.future(removal, timeout=runtime.one_try),
        )
    ]

    # some wait for the process until the client gives up
    settled(calls, grpc.StatusCode.DEADLINE_EXCEEDED)
    runtime.until_answered("RemoveContainer", lambda: stub.RemoveContainer(removal, timeout=runtime.one_try))
    assert running_container.entries() == []


@requirement("CNC-05")
@disruptive
def test_a_sandbox_that_is_removed_many_times_at_once_is_gone(own_runtime: OwnRuntime) -> None:
    """Calls that stop and remove a sandbox at the same time MUST end, and it MUST be removed then or by the
    next call.

    Source: StopPodSandbox and RemovePodSandbox, which the API calls idempotent. On a runtime of its own, as
    some daemons do not survive that a sandbox goes beside its containers.
    """
    pod = own_runtime.container().sandbox
    removal = cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id)
    stop = cri.StopPodSandboxRequest(pod_sandbox_id=pod.id)
    stub = own_runtime.stub

    calls = [
        call
        for _ in range(3)
        for call in (
            stub.StopPodSandbox.future(stop, timeout=own_runtime.one_try),
            stub.RemovePodSandbox.future(removal, timeout=own_runtime.one_try),
        )
    ]

    # some wait for the process until the client gives up
    settled(calls, grpc.StatusCode.DEADLINE_EXCEEDED)
    own_runtime.until_answered(
        "RemovePodSandbox", lambda: stub.RemovePodSandbox(removal, timeout=own_runtime.one_try)
    )
    assert pod.entries() == []
