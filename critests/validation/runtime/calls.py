"""Calls that are made at the same time, and all that can be asked about a container."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import grpc

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.runtime import Runtime, refused_with
from critests.lifecycle.containers import Container
from critests.run.outcomes import blocked

ANSWER_SECONDS = 4.0
"""Within which whatever only reads is answered, before scaling: far more than it takes."""


def all_of(calls: Sequence[Any]) -> list[Any]:
    """Wait for the answers of calls that must all succeed."""
    return [call.result() for call in calls]


def settled(calls: Sequence[Any], *allowed: grpc.StatusCode) -> list[Any]:
    """Wait until each call has succeeded or was refused, and return those that have succeeded.

    Args:
        calls: under way.
        allowed: codes beside refusals that a call may end with.
    """
    succeeded = []
    for call in calls:
        error = call.exception()
        if error is None:
            succeeded.append(call)
        else:
            refused_with(error, *allowed)
    return succeeded


def questions(runtime: Runtime, container: Container) -> Iterator[tuple[str, Callable[..., Any], Any]]:
    """Yield everything that can be asked about a container and its pod, by name."""
    stub, pod = runtime.stub, container.sandbox
    yield (
        "ContainerStatus",
        stub.ContainerStatus,
        cri.ContainerStatusRequest(container_id=container.id, verbose=True),
    )
    yield (
        "PodSandboxStatus",
        stub.PodSandboxStatus,
        cri.PodSandboxStatusRequest(pod_sandbox_id=pod.id, verbose=True),
    )
    this = cri.ContainerFilter(id=container.id)
    yield "ListContainers", stub.ListContainers, cri.ListContainersRequest(filter=this)
    yield (
        "ListPodSandbox",
        stub.ListPodSandbox,
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id=pod.id)),
    )
    yield "ContainerStats", stub.ContainerStats, cri.ContainerStatsRequest(container_id=container.id)
    yield (
        "ListContainerStats",
        stub.ListContainerStats,
        cri.ListContainerStatsRequest(filter=cri.ContainerStatsFilter(id=container.id)),
    )
    if runtime.has(Capability.POD_STATS):
        yield "PodSandboxStats", stub.PodSandboxStats, cri.PodSandboxStatsRequest(pod_sandbox_id=pod.id)


def unanswered(runtime: Runtime, container: Container, change: Any) -> list[str]:  # noqa: ANN401 - grpcio's future
    """Ask everything about a container while a call changes something, and return what was not answered in
    time. A refusal is an answer. Ends the test where that call is over too soon to ask anything.
    """
    late = []
    for number, (name, call, request) in enumerate(questions(runtime, container)):
        if change.done():
            if not number:
                blocked("what was to be slow was over at once")
            break
        try:
            call(request, timeout=ANSWER_SECONDS * runtime.scale)
        except grpc.RpcError as error:
            code = refused_with(error, grpc.StatusCode.DEADLINE_EXCEEDED)
            if code is grpc.StatusCode.DEADLINE_EXCEEDED:
                late.append(name)
    return late
