"""MET: metrics of a runtime whose configuration selects the collected ones."""

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    MetricsOfCpu,
    OwnRuntime,
    Runtime,
    configured,
    disruptive,
    requirement,
    requires,
)

METRIC_SECONDS = 30.0
"""Runtimes may collect metrics only every ten seconds or so."""


def names_of_metrics(runtime: Runtime) -> set[str]:
    """Return the names of all metrics of pods and containers."""
    pods = runtime.stub.ListPodSandboxMetrics(cri.ListPodSandboxMetricsRequest()).pod_metrics
    pod_metric_names = {metric.name for pod in pods for metric in pod.metrics}
    return pod_metric_names | {
        each.name for pod in pods for container in pod.container_metrics for each in container.metrics
    }


@requirement("MET-12")
@requires(Capability.METRICS)
@disruptive
@configured(MetricsOfCpu())
def test_only_collected_metrics_are_described(own_runtime: OwnRuntime) -> None:
    """ListMetricDescriptors SHOULD describe only metrics that ListPodSandboxMetrics returns for a running
    container, also if the runtime is configured to collect CPU metrics only.

    Source: ListMetricDescriptors, which describes the metrics that ListPodSandboxMetrics returns.
    """
    # without a running container there would be no metrics at all
    own_runtime.container()
    response = own_runtime.stub.ListMetricDescriptors(cri.ListMetricDescriptorsRequest())
    described = {descriptor.name for descriptor in response.descriptors}

    collected = own_runtime.eventually("metrics", lambda: names_of_metrics(own_runtime), METRIC_SECONDS)

    assert described - collected == set()
