"""MET: the metrics of pods and containers, and their descriptors."""

import re
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Container,
    Containers,
    Runtime,
    requirement,
    requires,
    setting_up,
    slow,
)
from critests.validation.containers.reading_metrics import (
    METRIC_SECONDS,
    descriptors_by_name,
    metrics_in,
    metrics_of_container,
    metrics_of_pod,
    pod_metrics,
    require_metric,
    values_of,
)

pytestmark = requires(Capability.METRICS)

MIB = 1 << 20
MINUTE_NS = 60 * 1_000_000_000
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
GAUGES = {
    "container_fs_usage_bytes",
    "container_memory_usage_bytes",
    "container_memory_working_set_bytes",
    "container_processes",
    "container_spec_memory_limit_bytes",
    "container_threads",
}
"""Metrics of values that rise and fall."""
SIZES = {"container_fs_inodes_total"}
"""Metrics that end in _total because they are a size; they are not counters."""
ALLOCATED_BYTES = 64 * MIB
ALLOCATE = f"{{ (dd if=/dev/zero bs={ALLOCATED_BYTES} count=1 | sleep 3600) </dev/null >/dev/null 2>&1 & }}"
"""Leaves a process that holds a full buffer of that size: `dd` waits, as `sleep` does not read the pipe."""
USE_CPU = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
KILLED_CHILD = "dd if=/dev/zero of=/dev/null bs=96M count=1; echo done"
"""The kernel OOM-kills `dd` in a container with 32 MiB; the shell continues."""
# without a limit for memory and swap together, the kernel would swap instead of killing
SMALL = cri.LinuxContainerResources(memory_limit_in_bytes=32 * MIB, memory_swap_limit_in_bytes=32 * MIB)


@requirement("MET-01")
def test_metric_descriptors_are_well_formed(runtime: Runtime) -> None:
    """MetricDescriptor MUST have a unique valid name, a help text, and unique valid label keys.

    Source: MetricDescriptor; valid names and labels are those of Prometheus.
    """
    descriptors = list(runtime.stub.ListMetricDescriptors(cri.ListMetricDescriptorsRequest()).descriptors)

    assert [name for name, times in Counter(each.name for each in descriptors).items() if times > 1] == []
    assert [each.name for each in descriptors if not NAME.fullmatch(each.name)] == []
    assert [each.name for each in descriptors if not each.help.strip()] == []
    assert {label for each in descriptors for label in each.label_keys if not LABEL.fullmatch(label)} == set()
    assert [each.name for each in descriptors if len(set(each.label_keys)) != len(each.label_keys)] == []


@requirement("MET-01")
def test_metric_descriptors_stay_the_same(runtime: Runtime, running_container: Container) -> None:
    """ListMetricDescriptors MUST return the same descriptors before and after a container has metrics.

    Source: ListMetricDescriptors.
    """
    before = descriptors_by_name(runtime)
    metrics_of_container(runtime, running_container)

    assert descriptors_by_name(runtime) == before


@requirement("MET-03")
def test_every_metric_has_its_descriptor(runtime: Runtime, running_container: Container) -> None:
    """A metric MUST have a descriptor, and a label value for each label key of the descriptor.

    Source: Metric.label_values, MetricDescriptor.label_keys.
    """
    metrics_of_container(runtime, running_container)
    pods, descriptors = pod_metrics(runtime), descriptors_by_name(runtime)

    assert {metric.name for metric in metrics_in(pods)} - descriptors.keys() == set()
    wrong_label_counts = {
        (metric.name, len(metric.label_values))
        for metric in metrics_in(pods)
        if len(metric.label_values) != len(descriptors[metric.name].label_keys)
    }
    assert wrong_label_counts == set()


@requirement("MET-04")
def test_labels_of_a_metric_are_in_the_order_of_its_descriptor(
    runtime: Runtime, running_container: Container
) -> None:
    """`label_values` MUST be in the order of the descriptor's `label_keys`: the container's name, the pod,
    its namespace and the id each in its place.

    Source: Metric.label_values.
    """
    metrics, descriptors = metrics_of_container(runtime, running_container), descriptors_by_name(runtime)
    pod = running_container.sandbox.config.metadata
    known = {
        "container": running_container.config.metadata.name,
        "pod": pod.name,
        "namespace": pod.namespace,
        "id": running_container.id,
    }

    wrong = {
        (metric.name, key, value)
        for metric in metrics
        # not strict: MET-03 is about their number
        for key, value in zip(descriptors[metric.name].label_keys, metric.label_values, strict=False)
        # contained, as the id may be the path of a cgroup
        if key in known and known[key] not in value
    }

    assert wrong == set()


@requirement("MET-05")
def test_metrics_have_a_recent_timestamp(runtime: Runtime, running_container: Container) -> None:
    """`timestamp` of a metric SHOULD be 0, or a time in the last minute in nanoseconds.

    Source: Metric.timestamp. The CRI does not state how old a metric may be.
    """
    metrics = metrics_of_container(runtime, running_container)
    now = time.time_ns()

    assert {
        metric.timestamp
        for metric in metrics
        if metric.timestamp and not now - MINUTE_NS < metric.timestamp < now + MINUTE_NS
    } == set()


@requirement("MET-06/types")
def test_metrics_have_the_type_of_their_name(runtime: Runtime, running_container: Container) -> None:
    """`metric_type` SHOULD be COUNTER for a metric whose name ends in _total, and GAUGE for a metric whose
    value rises and falls.

    Source: MetricType; the convention for names is that of Prometheus.
    """
    metrics_of_container(runtime, running_container)
    types = {(metric.name, metric.metric_type) for metric in metrics_in(pod_metrics(runtime))}

    # a name that ends in _total is that of a counter, by the convention of Prometheus
    counts = [(name, kind) for name, kind in types if name.endswith("_total") and name not in SIZES]
    assert [name for name, kind in counts if kind != cri.COUNTER] == []
    assert [name for name, kind in types if name in GAUGES and kind != cri.GAUGE] == []


@requirement("MET-06/counters")
@slow
def test_counters_never_decrease(runtime: Runtime, containers: Containers) -> None:
    """A metric of the type COUNTER MUST NOT decrease.

    Source: MetricType.COUNTER.
    """
    container = containers.running()
    last: dict[tuple[str, ...], int] = {}
    decreased = []
    for _ in range(4):
        container.exec("/bin/sh", "-c", USE_CPU)
        for metric in metrics_of_container(runtime, container):
            if metric.metric_type == cri.COUNTER:
                key = (metric.name, *metric.label_values)
                if metric.value.value < last.get(key, 0):
                    decreased.append((key, last[key], metric.value.value))
                last[key] = metric.value.value

    assert decreased == []


@requirement("MET-07/ids")
def test_metrics_are_of_existing_pods_and_containers(runtime: Runtime, running_container: Container) -> None:
    """ListPodSandboxMetrics MUST return metrics of existing sandboxes and containers only.

    Source: PodSandboxMetrics.pod_sandbox_id, ContainerMetrics.container_id.
    """
    metrics_of_container(runtime, running_container)

    def known() -> set[str]:
        pods = runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest()).items
        listed = runtime.stub.ListContainers(cri.ListContainersRequest()).containers
        return {*(each.id for each in pods), *(each.id for each in listed)}

    def unknown() -> set[str]:
        before = known()
        pods = pod_metrics(runtime)
        ids = {pod.pod_sandbox_id for pod in pods} | {
            each.container_id for pod in pods for each in pod.container_metrics
        }
        return ids - before - known()

    # repeated, as objects that other tests create and remove between two of these calls are in neither list
    runtime.eventually(
        "only ids of the lists in the metrics", unknown, METRIC_SECONDS, holds=lambda ids: not ids
    )


@requirement("MET-07/presence")
def test_a_running_container_has_metrics(runtime: Runtime, running_container: Container) -> None:
    """ListPodSandboxMetrics SHOULD return metrics of a running container, within those of its pod.

    Source: ListPodSandboxMetrics.
    """
    metrics_of_container(runtime, running_container)

    pods = {
        pod.pod_sandbox_id
        for pod in pod_metrics(runtime)
        for each in pod.container_metrics
        if each.container_id == running_container.id
    }
    assert pods == {running_container.sandbox.id}


@requirement("MET-08")
@slow
def test_metrics_agree_with_the_statistics(runtime: Runtime, containers: Containers) -> None:
    """The working set in the metrics of a container SHOULD equal that of ContainerStats, and include the
    memory that the container has allocated.

    Source: Metric.value, ContainerStats.memory. Not stated by the CRI; both report the same memory.
    """
    name = "container_memory_working_set_bytes"
    require_metric(runtime, name)
    container = containers.running(first=ALLOCATE)

    runtime.eventually(
        "the allocated memory in the working set of the metrics",
        lambda: values_of(metrics_of_container(runtime, container), name),
        METRIC_SECONDS,
        holds=lambda found: len(found) == 1 and 0.8 * ALLOCATED_BYTES < found[0] < 2 * ALLOCATED_BYTES,
    )

    [working_set] = values_of(metrics_of_container(runtime, container), name)
    stats = runtime.stub.ContainerStats(cri.ContainerStatsRequest(container_id=container.id)).stats
    # the two are not measured at the same moment
    assert abs(working_set - stats.memory.working_set_bytes.value) < 16 * MIB


@requirement("MET-09")
@requires(Capability.POD_NETWORK)
def test_network_metrics_are_of_the_interfaces_of_the_pod(
    runtime: Runtime, running_container: Container
) -> None:
    """The network metrics of a pod SHOULD be those of its own interfaces, and a label SHOULD name the
    interface.

    Source: PodSandboxMetrics.metrics. Not stated by the CRI; the kubelet has exposed them this way.
    """
    name = "container_network_receive_bytes_total"
    require_metric(runtime, name)
    keys = list(descriptors_by_name(runtime)[name].label_keys)
    metrics_of_container(runtime, running_container)

    metrics = [each for each in metrics_of_pod(runtime, running_container.sandbox) if each.name == name]

    assert "interface" in keys
    reported = {each.label_values[keys.index("interface")] for each in metrics}
    interfaces = set(running_container.output("ls", "/sys/class/net").split())
    assert reported
    assert reported <= interfaces


@requirement("MET-10")
def test_metrics_are_listed_during_creation_and_removal(
    runtime: Runtime, running_container: Container, containers: Containers
) -> None:
    """ListPodSandboxMetrics MUST succeed while containers are created and removed, and MUST return the
    metrics of a container that stays.

    Source: ListPodSandboxMetrics. Not stated by the CRI; metrics are scraped all the time.
    """
    metrics_of_container(runtime, running_container)

    def create_and_remove() -> None:
        with setting_up():
            for _ in range(6):
                containers.running().discard()

    missing = 0
    with ThreadPoolExecutor(1) as executor:
        churn = executor.submit(create_and_remove)
        while not churn.done():
            ids = [each.container_id for pod in pod_metrics(runtime) for each in pod.container_metrics]
            missing += running_container.id not in ids
        churn.result()

    assert not missing


@requirement("MET-11")
@slow
@requires(Capability.SAME_HOST)
def test_oom_kills_are_counted(runtime: Runtime, containers: Containers) -> None:
    """The metric of OOM events SHOULD count the OOM kill of a process of the container.

    Source: Metric.value. Not stated by the CRI; the kubelet has exposed it this way.
    """
    name = "container_oom_events_total"
    require_metric(runtime, name)
    container = containers.running(first=KILLED_CHILD, resources=SMALL, wait_for_log="done")

    runtime.eventually(
        "an OOM kill in the metrics",
        lambda: values_of(metrics_of_container(runtime, container), name),
        METRIC_SECONDS,
        holds=lambda found: sum(found) >= 1,
    )
