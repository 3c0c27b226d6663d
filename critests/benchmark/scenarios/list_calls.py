"""What the kubelet asks of all that stands on a node: lists, the status of one of them, statistics."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import grpc

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.meter import Meter
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.population import Population


def listing(population: Population) -> Workload:
    """Return the workload of both lists, and of the status of the newest sandbox and container."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        containers, sandboxes = cri.ListContainersRequest(), cri.ListPodSandboxRequest()
        container = cri.ContainerStatusRequest(container_id=population.container_ids[-1])
        sandbox = cri.PodSandboxStatusRequest(pod_sandbox_id=population.sandbox_ids[-1])

        def cycle(meter: Meter) -> None:
            listed = meter.call("ListContainers", target.runtime.ListContainers, containers).containers
            population.all_in("ListContainers", {each.id for each in listed})
            meter.call("ListPodSandbox", target.runtime.ListPodSandbox, sandboxes)
            meter.call("ContainerStatus", target.runtime.ContainerStatus, container)
            meter.call("PodSandboxStatus", target.runtime.PodSandboxStatus, sandbox)

        yield cycle

    return prepared


def statistics_of(population: Population) -> Workload:
    """Return the workload of the statistics lists; that of metrics only where the runtime has it."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        metrics = _answers(
            target.connection.runtime.ListPodSandboxMetrics, cri.ListPodSandboxMetricsRequest()
        )

        def cycle(meter: Meter) -> None:
            stats = meter.call(
                "ListContainerStats", target.runtime.ListContainerStats, cri.ListContainerStatsRequest()
            ).stats
            population.all_in("ListContainerStats", {each.attributes.id for each in stats})
            meter.call(
                "ListPodSandboxStats", target.runtime.ListPodSandboxStats, cri.ListPodSandboxStatsRequest()
            )
            if metrics:
                meter.call(
                    "ListPodSandboxMetrics",
                    target.runtime.ListPodSandboxMetrics,
                    cri.ListPodSandboxMetricsRequest(),
                )

        yield cycle

    return prepared


def _answers(method: Callable[..., Any], request: Any) -> bool:  # noqa: ANN401 - of whatever RPC it is
    """Say whether the runtime has an RPC."""
    try:
        method(request)
    except grpc.RpcError as error:
        return error.code() is not grpc.StatusCode.UNIMPLEMENTED
    return True
