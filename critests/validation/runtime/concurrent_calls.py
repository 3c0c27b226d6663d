"""Concurrent calls, and all reads about one container."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import grpc

from critests.api import api_pb2 as cri
from critests.testing import Capability, Container, Runtime, blocked, refused_with

READ_SECONDS = 4.0
"""Limit for calls that only read, before scaling: far more than they take."""
PAUSE_SECONDS = 0.2
"""Between two rounds of reads."""


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


def late_reads(
    runtime: Runtime,
    container: Container,
    change: Any,  # noqa: ANN401 - grpcio's future
    *,
    until_it_ends: bool = False,
) -> list[str]:
    """Make every read about a container while a call changes something, and return the ones that did not
    return in time. An error counts as a response. Ends the test if the changing call returns before the first
    read.

    Args:
        runtime: that is read from.
        container: whose reads are made.
        change: the call in progress.
        until_it_ends: whether to repeat the reads until the call returns, instead of making each once.
    """
    if change.done():
        blocked("the call that should have been slow returned at once")
    late = _late_reads_once(runtime, container, change)
    while until_it_ends and not change.done():
        late += _late_reads_once(runtime, container, change)
        with contextlib.suppress(grpc.FutureTimeoutError):
            change.exception(timeout=PAUSE_SECONDS)
    return sorted(set(late))


def _late_reads_once(runtime: Runtime, container: Container, change: Any) -> list[str]:  # noqa: ANN401 - see above
    late = []
    for name, call, request in reads_about(runtime, container):
        if change.done():
            break
        try:
            call(request, timeout=READ_SECONDS * runtime.scale)
        except grpc.RpcError as error:
            code = refused_with(error, grpc.StatusCode.DEADLINE_EXCEEDED)
            if code is grpc.StatusCode.DEADLINE_EXCEEDED:
                late.append(name)
    return late
