"""CNC: concurrent calls about the same object."""

from collections.abc import Sequence
from typing import Any

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Container,
    Containers,
    OwnRuntime,
    RecordVariant,
    Runtime,
    Sandbox,
    Sandboxes,
    disruptive,
    refused_with,
    requirement,
)
from critests.validation.runtime.concurrent_calls import settled

FORM_SECONDS = 2.0
"""How long to wait for the second of two equal calls once the first has succeeded."""


def first_of(runtime: Runtime, calls: Sequence[Any]) -> Any:  # noqa: ANN401 - grpcio's future
    """Wait until one of several equal calls has succeeded, and return it: some runtimes block the others
    until their clients cancel.
    """
    return runtime.eventually(
        "the response to one of the calls",
        lambda: next((call for call in calls if call.done() and call.exception() is None), None),
        60,
        holds=lambda call: call is not None or all(each.done() for each in calls),
    )


def result_of_loser(runtime: Runtime, calls: Sequence[Any], winner: Any, name: str) -> str:  # noqa: ANN401 - grpcio's future
    """Return in words how the other one of two equal calls ends."""
    loser = next(call for call in calls if call is not winner)
    try:
        runtime.eventually("the other call to return", loser.done, FORM_SECONDS)
    except AssertionError:
        loser.cancel()
        return "waits"
    error = loser.exception()
    if error is not None:
        return refused_with(error).name
    return "the same id" if getattr(loser.result(), name) == getattr(winner.result(), name) else "another id"


@requirement("CNC-02/one")
@pytest.mark.usefixtures("sandbox")
def test_two_equal_run_pod_sandbox_calls_create_one_sandbox(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """One of two equal concurrent RunPodSandbox calls MUST succeed, and exactly one sandbox MUST exist
    afterwards.

    Source: PodSandboxMetadata, which makes a sandbox unique.
    """
    config = sandboxes.marked_config()

    calls = [runtime.stub.RunPodSandbox.future(sandboxes.creation(config)) for _ in range(2)]

    winner = first_of(runtime, calls)
    assert winner is not None, [call.details() for call in calls]
    pod = sandboxes.adopt(winner.result().pod_sandbox_id, config)
    result_of_loser(runtime, calls, winner, "pod_sandbox_id")
    assert [item.id for item in sandboxes.created_from(config)] == [pod.id]


@requirement("CNC-02/form")
@pytest.mark.usefixtures("sandbox")
def test_response_to_the_second_of_two_equal_run_pod_sandbox_calls(
    runtime: Runtime, sandboxes: Sandboxes, record_variant: RecordVariant
) -> None:
    """The other one of two equal concurrent RunPodSandbox calls MAY fail, return the same id, or block.

    Source: RunPodSandbox; the CRI leaves it open.
    """
    config = sandboxes.marked_config()

    calls = [runtime.stub.RunPodSandbox.future(sandboxes.creation(config)) for _ in range(2)]

    winner = first_of(runtime, calls)
    assert winner is not None, [call.details() for call in calls]
    sandboxes.adopt(winner.result().pod_sandbox_id, config)
    record_variant(result_of_loser(runtime, calls, winner, "pod_sandbox_id"))


@requirement("CNC-03/one")
def test_two_equal_create_container_calls_create_one_container(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """One of two equal concurrent CreateContainer calls MUST succeed, and exactly one container MUST exist
    afterwards.

    Source: ContainerMetadata, which makes a container unique in its sandbox.
    """
    request = containers.creation(containers.config(), own_sandbox)

    calls = [runtime.stub.CreateContainer.future(request) for _ in range(2)]

    winner = first_of(runtime, calls)
    assert winner is not None, [call.details() for call in calls]
    created = containers.adopt(winner.result().container_id, request.config, own_sandbox)
    result_of_loser(runtime, calls, winner, "container_id")
    inside = cri.ContainerFilter(pod_sandbox_id=own_sandbox.id)
    listed = runtime.stub.ListContainers(cri.ListContainersRequest(filter=inside)).containers
    assert [item.id for item in listed] == [created.id]


@requirement("CNC-03/form")
def test_response_to_the_second_of_two_equal_create_container_calls(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, record_variant: RecordVariant
) -> None:
    """The other one of two equal concurrent CreateContainer calls MAY fail, return the same id, or block.

    Source: CreateContainer; the CRI leaves it open.
    """
    request = containers.creation(containers.config(), own_sandbox)

    calls = [runtime.stub.CreateContainer.future(request) for _ in range(2)]

    winner = first_of(runtime, calls)
    assert winner is not None, [call.details() for call in calls]
    containers.adopt(winner.result().container_id, request.config, own_sandbox)
    record_variant(result_of_loser(runtime, calls, winner, "container_id"))


@requirement("CNC-04")
@disruptive
def test_container_with_two_concurrent_starts_runs_once(own_runtime: OwnRuntime) -> None:
    """A container with two concurrent StartContainer calls MUST run, and its process MUST be started once.

    Source: StartContainer. Not stated by the CRI; the later call has nothing to do. The test has a runtime of
    its own, as some hold a lock on the container while the second call waits, and block statistics of all
    containers.
    """
    containers = own_runtime.containers
    # a process that is started twice prints twice
    container = containers.created(first="echo begun")
    request = cri.StartContainerRequest(container_id=container.id)

    calls = [own_runtime.stub.StartContainer.future(request) for _ in range(2)]

    assert settled(calls)
    assert containers.until_logged(container, "begun") == ["begun"]
    assert container.state() == cri.CONTAINER_RUNNING


@requirement("CNC-05")
def test_concurrent_removals_of_a_container_remove_it(runtime: Runtime, running_container: Container) -> None:
    """Concurrent StopContainer and RemoveContainer calls for one container MUST end, and the container MUST
    be removed by them or by the next call.

    Source: StopContainer and RemoveContainer, which are idempotent by the API.
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

    # some runtimes block until the process exits or the client cancels
    settled(calls, grpc.StatusCode.DEADLINE_EXCEEDED)
    runtime.retry_until_ok("RemoveContainer", lambda: stub.RemoveContainer(removal, timeout=runtime.one_try))
    assert running_container.entries() == []


@requirement("CNC-05")
@disruptive
def test_concurrent_removals_of_a_sandbox_remove_it(own_runtime: OwnRuntime) -> None:
    """Concurrent StopPodSandbox and RemovePodSandbox calls for one sandbox MUST end, and the sandbox MUST be
    removed by them or by the next call.

    Source: StopPodSandbox and RemovePodSandbox, which are idempotent by the API. The test has a runtime of
    its own, as some daemons crash when a sandbox is removed concurrently with its containers.
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

    # some runtimes block until the process exits or the client cancels
    settled(calls, grpc.StatusCode.DEADLINE_EXCEEDED)
    own_runtime.retry_until_ok(
        "RemovePodSandbox", lambda: stub.RemovePodSandbox(removal, timeout=own_runtime.one_try)
    )
    assert pod.entries() == []
