"""The kubelet's calls about the pods of a node: lists, the status of one pod, statistics."""

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
            population.check_complete("ListContainers", {each.id for each in listed})
            meter.call("ListPodSandbox", target.runtime.ListPodSandbox, sandboxes)
            meter.call("ContainerStatus", target.runtime.ContainerStatus, container)
            meter.call("PodSandboxStatus", target.runtime.PodSandboxStatus, sandbox)

        yield cycle

    return prepared


def statistics_of(population: Population) -> Workload:
    """Return the workload of the statistics lists, with ListPodSandboxMetrics if the runtime implements
    it.
    """

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        metrics = _is_implemented(
            target.connection.runtime.ListPodSandboxMetrics, cri.ListPodSandboxMetricsRequest()
        )

        def cycle(meter: Meter) -> None:
            stats = meter.call(
                "ListContainerStats", target.runtime.ListContainerStats, cri.ListContainerStatsRequest()
            ).stats
            population.check_complete("ListContainerStats", {each.attributes.id for each in stats})
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


def _is_implemented(method: Callable[..., Any], request: Any) -> bool:  # noqa: ANN401 - of whatever RPC it is
    """Return whether the runtime implements an RPC."""
    try:
        method(request)
    except grpc.RpcError as error:
        return error.code() is not grpc.StatusCode.UNIMPLEMENTED
    return True
