"""MET: metrics of a runtime whose configuration selects the collected ones."""

from collections.abc import Iterator

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.own_runtime import OwnRuntime, shaped
from critests.fixtures.runtime import Runtime
from critests.run.context import RuntimeSetup
from critests.run.marks import disruptive, requirement, requires
from critests.runtimes.runtime_settings import MetricsOfCpu

METRIC_SECONDS = 30.0
"""Runtimes may collect metrics only every ten seconds or so."""


@pytest.fixture
def runtime_with_few_metrics(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[OwnRuntime]:
    """A runtime that is configured to collect CPU metrics only."""
    with shaped(request, runtime, RuntimeSetup(settings=(MetricsOfCpu(),))) as own:
        yield own


def names_of_metrics(runtime: Runtime) -> set[str]:
    """Return the names of all metrics of pods and containers."""
    pods = runtime.stub.ListPodSandboxMetrics(cri.ListPodSandboxMetricsRequest()).pod_metrics
    own = {metric.name for pod in pods for metric in pod.metrics}
    return own | {
        each.name for pod in pods for container in pod.container_metrics for each in container.metrics
    }


@requirement("MET-12")
@requires(Capability.METRICS)
@disruptive
def test_no_metric_is_described_that_is_not_collected(runtime_with_few_metrics: OwnRuntime) -> None:
    """ListMetricDescriptors SHOULD describe only metrics that ListPodSandboxMetrics returns for a running
    container, also if the runtime is configured to collect CPU metrics only.

    Source: ListMetricDescriptors, which describes the metrics that ListPodSandboxMetrics returns.
    """
    runtime_with_few_metrics.container()
    answer = runtime_with_few_metrics.stub.ListMetricDescriptors(cri.ListMetricDescriptorsRequest())
    described = {descriptor.name for descriptor in answer.descriptors}

    collected = runtime_with_few_metrics.eventually(
        "metrics", lambda: names_of_metrics(runtime_with_few_metrics), METRIC_SECONDS
    )

    assert described - collected == set()
