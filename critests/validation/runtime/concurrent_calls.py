"""Concurrent calls, and all reads about one container."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import grpc

from critests.api import api_pb2 as cri
from critests.testing import Capability, Container, Runtime, blocked, refused_with

READ_SECONDS = 4.0
"""Limit for calls that only read, before scaling: far more than they take."""


def all_of(calls: Sequence[Any]) -> list[Any]:
    """Wait for the responses of calls that must all succeed."""
    return [call.result() for call in calls]


def settled(calls: Sequence[Any], *allowed: grpc.StatusCode) -> list[Any]:
    """Wait until each call has succeeded or was rejected, and return those that succeeded.

    Args:
        calls: in progress.
        allowed: codes other than rejections with which a call may end.
    """
    succeeded = []
    for call in calls:
        error = call.exception()
        if error is None:
            succeeded.append(call)
        else:
            refused_with(error, *allowed)
    return succeeded


def reads_about(runtime: Runtime, container: Container) -> Iterator[tuple[str, Callable[..., Any], Any]]:
    """Yield every read about a container and its pod, by name."""
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


def late_reads(runtime: Runtime, container: Container, change: Any) -> list[str]:  # noqa: ANN401 - grpcio's future
    """Make every read about a container while a call changes something, and return the ones that did not
    return in time. An error counts as a response. Ends the test if the changing call returns before the first
    read.
    """
    late = []
    for number, (name, call, request) in enumerate(reads_about(runtime, container)):
        if change.done():
            # without a read during the call, nothing is tested
            if not number:
                blocked("the call that should have been slow returned at once")
            break
        try:
            call(request, timeout=READ_SECONDS * runtime.scale)
        except grpc.RpcError as error:
            code = refused_with(error, grpc.StatusCode.DEADLINE_EXCEEDED)
            if code is grpc.StatusCode.DEADLINE_EXCEEDED:
                late.append(name)
    return late
