"""Reads the metrics of pods and containers."""

from collections.abc import Iterator

from critests.api import api_pb2 as cri
from critests.testing import Container, Runtime, Sandbox, unsupported

METRIC_SECONDS = 30.0
"""Runtimes may collect metrics only every ten seconds or so."""


def descriptors_by_name(runtime: Runtime) -> dict[str, cri.MetricDescriptor]:
    """Return the metric descriptors by name."""
    response = runtime.stub.ListMetricDescriptors(cri.ListMetricDescriptorsRequest())
    return {descriptor.name: descriptor for descriptor in response.descriptors}


def require_metric(runtime: Runtime, name: str) -> None:
    """End the test as unsupported if the runtime does not describe a metric."""
    if name not in descriptors_by_name(runtime):
        unsupported(f"pod metrics: the runtime does not describe {name}")


def pod_metrics(runtime: Runtime) -> list[cri.PodSandboxMetrics]:
    """Return the metrics of all pods."""
    return list(runtime.stub.ListPodSandboxMetrics(cri.ListPodSandboxMetricsRequest()).pod_metrics)


def metrics_in(pods: list[cri.PodSandboxMetrics]) -> Iterator[cri.Metric]:
    """Yield the metrics of pods and of their containers."""
    for pod in pods:
        yield from pod.metrics
        for container in pod.container_metrics:
            yield from container.metrics


def metrics_of_container(runtime: Runtime, container: Container) -> list[cri.Metric]:
    """Wait until a container has metrics, and return them."""
    return runtime.eventually(
        "metrics of the container",
        lambda: [
            metric
            for pod in pod_metrics(runtime)
            for each in pod.container_metrics
            if each.container_id == container.id
            for metric in each.metrics
        ],
        METRIC_SECONDS,
    )


def metrics_of_pod(runtime: Runtime, pod: Sandbox) -> list[cri.Metric]:
    """Wait until a pod has metrics, and return its own."""
    [found] = runtime.eventually(
        "metrics of the pod",
        lambda: [each for each in pod_metrics(runtime) if each.pod_sandbox_id == pod.id],
        METRIC_SECONDS,
    )
    return list(found.metrics)


def values_of(metrics: list[cri.Metric], name: str) -> list[int]:
    """Return the values of the metrics with a name."""
    return [metric.value.value for metric in metrics if metric.name == name]
