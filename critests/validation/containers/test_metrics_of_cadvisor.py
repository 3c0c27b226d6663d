"""MET: the metrics that the kubelet has exposed from cAdvisor, one by one."""

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    FIRST_PROCESS,
    Capability,
    Container,
    Runtime,
    SharedContainers,
    requirement,
    requires,
    single,
    slow,
    unsupported,
)
from critests.validation.containers.cadvisor_metrics import (
    IDENTITY,
    KINDS,
    METRICS,
    CadvisorMetric,
    KernelCounters,
    of_kind,
)
from critests.validation.containers.reading_metrics import (
    descriptors_by_name,
    metrics_of_container,
    metrics_of_pod,
    require_metric,
)
from critests.validation.resources.cpus import usable_cpu

pytestmark = requires(Capability.METRICS)

MIB = 1 << 20
WRITTEN_BYTES = 16 * MIB
BUSY_SECONDS = 4
VALUE_SECONDS = 15.0
"""Runtimes may collect metrics only every ten seconds or so, and the container is idle."""
WORK = (
    f"{{ (dd if=/dev/zero bs={32 * MIB} count=1 | sleep 3600) >/dev/null 2>&1 & }};"
    " nc -l -p 7777 >/dev/null 2>&1 &"
    f" dd if=/dev/zero of=/written bs={MIB} count={WRITTEN_BYTES // MIB}; sync;"
    # past the page cache, as writing it back need not count for the container
    f" dd if=/written of=/dev/null bs={MIB} iflag=direct;"
    f" timeout {BUSY_SECONDS} sh -c 'while :; do :; done'"
)
"""Leaves memory in use, a socket and a file, and uses CPU time beyond the quota."""
PERIOD, QUOTA, SHARES, MEMORY = 50_000, 40_000, 512, 256 * MIB
SUMMED = {"cpu", "device"}
"""Label keys over whose values the kernel's value is the sum."""
STATFS = "stat -f -c '%b %S %c %d' /"
"""Prints blocks, the size of a block, inodes, and free inodes."""

Range = tuple[float, float]
ByLabels = dict[tuple[str, ...], float]


@pytest.fixture
def measured(shared_containers: SharedContainers) -> Container:
    """A container with limits that has used CPU, memory and disk, and is idle now."""
    resources = cri.LinuxContainerResources(
        cpu_period=PERIOD,
        cpu_quota=QUOTA,
        cpu_shares=SHARES,
        # on one CPU, as metrics per CPU are rounded to whole seconds
        cpuset_cpus=str(usable_cpu()),
        memory_limit_in_bytes=MEMORY,
        memory_swap_limit_in_bytes=MEMORY,
    )
    # waits until it is idle
    shared_containers.process(FIRST_PROCESS, questions={"work": WORK}, resources=resources)
    return shared_containers.container(questions={"work": WORK}, resources=resources)


@pytest.fixture
def counters(shared_containers: SharedContainers, measured: Container) -> KernelCounters:
    """What the kernel counts for that container."""
    return KernelCounters(shared_containers.pid_of(measured), measured.sandbox.config.linux.cgroup_parent)


def reported(
    metrics: list[cri.Metric], keys: list[str], name: str, labels: Mapping[str, str] | None = None
) -> list[float]:
    """Return the values of a metric with some labels, summed over CPUs and devices."""
    sums: ByLabels = defaultdict(float)
    for metric in metrics:
        # not strict: MET-03 is about their number
        found = dict(zip(keys, metric.label_values, strict=False))
        if metric.name == name and (labels or {}).items() <= found.items():
            sums[tuple(value for key, value in found.items() if key not in SUMMED)] += metric.value.value
    return list(sums.values())


def assert_reported(
    runtime: Runtime,
    name: str,
    metrics: Callable[[], list[cri.Metric]],
    expected: Callable[[], float],
    tolerance: float = 0,
    labels: Mapping[str, str] | None = None,
) -> None:
    """Assert that a metric gets a sample, and that its value is what is expected before and afterwards."""
    keys = list(descriptors_by_name(runtime)[name].label_keys)

    def look() -> tuple[list[float], Range]:
        before = expected()
        values = reported(metrics(), keys, name, labels)
        both = sorted((before, expected()))
        return values, (both[0] - tolerance, both[1] + tolerance)

    runtime.eventually(
        f"a value of {name} within the range",
        look,
        VALUE_SECONDS,
        holds=lambda found: found[0] and all(found[1][0] <= value <= found[1][1] for value in found[0]),
    )


@requirement("MET-02")
@pytest.mark.parametrize("kind", KINDS)
def test_metrics_that_the_kubelet_exposed_are_described(runtime: Runtime, kind: str) -> None:
    """ListMetricDescriptors SHOULD describe the metrics that the kubelet has exposed itself.

    Source: ListMetricDescriptors. Not stated by the CRI; KEP-2371: dashboards and alerts rely on these names.
    """
    assert {metric.name for metric in of_kind(kind)} - descriptors_by_name(runtime).keys() == set()


@requirement("MET-13")
@pytest.mark.parametrize("kind", KINDS)
def test_metrics_have_the_label_keys_of_the_kubelet(runtime: Runtime, kind: str) -> None:
    """MetricDescriptor.label_keys SHOULD contain those with which the kubelet has exposed the metric.

    Source: MetricDescriptor.label_keys. Not stated by the CRI; KEP-2371: queries select by these labels.
    """
    descriptors = descriptors_by_name(runtime)
    described = [metric for metric in of_kind(kind) if metric.name in descriptors]
    if not described:
        unsupported(f"pod metrics: the runtime describes no metrics of this kind: {kind}")

    missing = {
        metric.name: {*IDENTITY, *metric.label_keys} - set(descriptors[metric.name].label_keys)
        for metric in described
    }

    assert {name: keys for name, keys in missing.items() if keys} == {}


@requirement("MET-08")
@slow
@requires(Capability.SAME_HOST, Capability.ROOT, Capability.SHARED_KERNEL)
@pytest.mark.parametrize("metric", [each for each in METRICS if each.kernel], ids=lambda each: each.name)
def test_metric_has_the_value_of_the_cgroup(
    runtime: Runtime, measured: Container, counters: KernelCounters, metric: CadvisorMetric
) -> None:
    """A described metric SHOULD have a sample for a running container, with the value that the kernel counts
    in the container's cgroup.

    Source: Metric.value. Not stated by the CRI; KEP-2371: the kubelet has exposed these values.
    """
    require_metric(runtime, metric.name)
    counted = [source for source in metric.kernel if counters.value(source) is not None]
    if not counted:
        unsupported(f"pod metrics: this kernel does not count {metric.name} for the container")

    for source in counted:
        assert_reported(
            runtime,
            metric.name,
            lambda: metrics_of_container(runtime, measured),
            partial(counters.counted, source),
            source.tolerance,
            source.labels,
        )


@requirement("MET-08")
@requires(Capability.SAME_HOST, Capability.ROOT, Capability.SHARED_KERNEL)
@pytest.mark.parametrize(
    "name",
    [metric.name for metric in of_kind("processes") if not metric.label_keys],
)
def test_metric_counts_what_the_processes_have(
    runtime: Runtime, measured: Container, counters: KernelCounters, name: str
) -> None:
    """The metrics of a container's processes SHOULD equal what /proc and its cgroup show of them.

    Source: Metric.value. Not stated by the CRI; KEP-2371: the kubelet has exposed these values.
    """
    require_metric(runtime, name)

    assert_reported(
        runtime,
        name,
        lambda: metrics_of_container(runtime, measured),
        lambda: counters.processes()[name],
    )


@requirement("MET-08")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("container_spec_cpu_period", PERIOD),
        ("container_spec_cpu_quota", QUOTA),
        ("container_spec_cpu_shares", SHARES),
        ("container_spec_memory_limit_bytes", MEMORY),
    ],
)
def test_metric_has_the_requested_limit(
    runtime: Runtime, measured: Container, name: str, expected: int
) -> None:
    """The metrics of a container's settings SHOULD be the limits of its request.

    Source: Metric.value, LinuxContainerResources. Not stated by the CRI; KEP-2371.
    """
    require_metric(runtime, name)

    assert_reported(runtime, name, lambda: metrics_of_container(runtime, measured), lambda: expected)


@requirement("MET-08")
def test_metric_has_the_start_time_in_seconds(runtime: Runtime, measured: Container) -> None:
    """container_start_time_seconds SHOULD be the time of ContainerStatus.started_at, in seconds.

    Source: Metric.value, ContainerStatus.started_at. Not stated by the CRI; KEP-2371.
    """
    name = "container_start_time_seconds"
    require_metric(runtime, name)
    status = measured.status()

    # cAdvisor reports the creation of the cgroup
    assert_reported(
        runtime,
        name,
        lambda: metrics_of_container(runtime, measured),
        lambda: status.created_at / 1e9,
        (status.started_at - status.created_at) / 1e9 + 2,
    )


@requirement("MET-08")
def test_metric_has_the_time_of_the_measurement(runtime: Runtime, measured: Container) -> None:
    """container_last_seen SHOULD be a time in the last minute, in seconds.

    Source: Metric.value. Not stated by the CRI; KEP-2371.
    """
    name = "container_last_seen"
    require_metric(runtime, name)

    assert_reported(runtime, name, lambda: metrics_of_container(runtime, measured), time.time, 60)


@requirement("MET-08")
@requires(Capability.SHARED_KERNEL)
@pytest.mark.parametrize("name", ["limit_bytes", "inodes_total", "inodes_free"])
def test_metric_has_the_size_of_the_file_system(runtime: Runtime, measured: Container, name: str) -> None:
    """The metrics of the size of a root file system SHOULD be those that statfs(2) returns in the
    container.

    Source: Metric.value. Not stated by the CRI; KEP-2371.
    """
    metric = f"container_fs_{name}"
    require_metric(runtime, metric)

    def expected() -> float:
        blocks, size, inodes, free = map(int, measured.output("/bin/sh", "-c", STATFS).split())
        return {"limit_bytes": blocks * size, "inodes_total": inodes, "inodes_free": free}[name]

    # other containers create and remove files meanwhile, and some file systems create inodes on demand
    tolerance = 0.05 * expected()
    assert_reported(runtime, metric, lambda: metrics_of_container(runtime, measured), expected, tolerance)


@requirement("MET-08")
def test_metric_has_the_size_of_the_writable_layer(runtime: Runtime, measured: Container) -> None:
    """container_fs_usage_bytes SHOULD be the disk space that the container's own files use.

    Source: Metric.value, ContainerStats.writable_layer. Not stated by the CRI; KEP-2371.
    """
    name = "container_fs_usage_bytes"
    require_metric(runtime, name)

    # runtimes may count the image, too, which has 2 MiB
    assert_reported(
        runtime, name, lambda: metrics_of_container(runtime, measured), lambda: WRITTEN_BYTES, 4 * MIB
    )


@requirement("MET-09")
@requires(Capability.POD_NETWORK)
@pytest.mark.parametrize("metric", list(of_kind("network")), ids=lambda each: each.name)
def test_metric_has_the_value_of_the_interface(
    runtime: Runtime, measured: Container, metric: CadvisorMetric
) -> None:
    """The network metrics of a pod SHOULD have a sample for the interface of its default route, with the
    value that the kernel counts there.

    Source: PodSandboxMetrics.metrics. Not stated by the CRI; KEP-2371: the kubelet has exposed these values.
    """
    require_metric(runtime, metric.name)
    routes = measured.output("ip", "route").splitlines()
    route = single("its default route", [line for line in routes if line.startswith("default ")]).split()
    interface = route[route.index("dev") + 1]
    direction, _, counter = (
        metric.name.removeprefix("container_network_").removesuffix("_total").partition("_")
    )
    file = f"{direction[:1]}x_{counter.removeprefix('packets_') if 'dropped' in counter else counter}"

    assert_reported(
        runtime,
        metric.name,
        lambda: metrics_of_pod(runtime, measured.sandbox),
        lambda: int(measured.output("cat", f"/sys/class/net/{interface}/statistics/{file}")),
        labels={"interface": interface},
    )
