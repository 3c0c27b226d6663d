"""What figures, metrics, events and restored pods must hold, whatever came before."""

import re
from collections import Counter
from collections.abc import Iterable

from critests.api import api_pb2 as cri
from critests.responses.rules import Difference, Response, rule

LABEL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
AVERAGES = ("Avg10", "Avg60", "Avg300")


@rule("STA-07", "MemoryUsage.usage_bytes", "MemoryUsage.working_set_bytes", "UInt64Value.value")
def usage_includes_the_working_set(memory: cri.MemoryUsage, _: Response) -> Iterable[Difference]:
    """The working set is a part of the usage."""
    if not (memory.HasField("usage_bytes") and memory.HasField("working_set_bytes")):
        return
    if memory.working_set_bytes.value > memory.usage_bytes.value > 0:
        yield Difference(
            "working_set_bytes",
            f"<= usage_bytes, {memory.usage_bytes.value}",
            memory.working_set_bytes.value,
        )


@rule("STA-07", "MemoryUsage.rss_bytes", "MemoryUsage.page_faults", "MemoryUsage.major_page_faults")
def major_page_faults_are_page_faults(memory: cri.MemoryUsage, _: Response) -> Iterable[Difference]:
    """Major page faults are counted as page faults too."""
    if not (memory.HasField("page_faults") and memory.HasField("major_page_faults")):
        return
    if memory.major_page_faults.value > memory.page_faults.value:
        yield Difference(
            "major_page_faults", f"<= page_faults, {memory.page_faults.value}", memory.major_page_faults.value
        )


@rule("STA-11", "PsiData.Avg10", "PsiData.Avg60", "PsiData.Avg300")
def pressure_is_a_percentage(data: cri.PsiData, _: Response) -> Iterable[Difference]:
    """The averages of pressure are percentages."""
    for field in AVERAGES:
        if not 0 <= getattr(data, field) <= 100:
            yield Difference(field, "0 to 100", getattr(data, field))


@rule("STA-11", "PsiStats.Full", "PsiStats.Some", "PsiData.Total")
def full_pressure_is_a_part_of_some(psi: cri.PsiStats, _: Response) -> Iterable[Difference]:
    """All tasks wait during a part of the time in which some wait; both counters are read at once."""
    if psi.HasField("Some") and psi.Full.Total > psi.Some.Total:
        yield Difference("Full.Total", f"<= Some.Total, {psi.Some.Total}", psi.Full.Total)


@rule("STA-20/others", "NetworkUsage.default_interface", "NetworkUsage.interfaces")
def default_interface_is_no_further_one(network: cri.NetworkUsage, _: Response) -> Iterable[Difference]:
    """The default interface is not among the further interfaces, and none is listed twice."""
    names = [each.name for each in network.interfaces]
    if network.HasField("default_interface"):
        names.append(network.default_interface.name)
    if len(set(names)) < len(names):
        yield Difference("interfaces", "each interface once", names)


@rule("STA-20/default", "NetworkInterfaceUsage.name")
def interface_has_a_name(interface: cri.NetworkInterfaceUsage, _: Response) -> Iterable[Difference]:
    """An interface with counters has a name."""
    if not interface.name:
        yield Difference("name", "a name", "")


@rule("MET-03", "Metric.name", "Metric.label_values")
def metric_has_a_name(metric: cri.Metric, _: Response) -> Iterable[Difference]:
    """A metric has a name."""
    if not metric.name:
        yield Difference("name", "a name", "")


@rule(
    "MET-01",
    "ListMetricDescriptorsResponse.descriptors",
    "MetricDescriptor.name",
    "MetricDescriptor.help",
    "MetricDescriptor.label_keys",
)
def descriptors_are_complete(
    response: cri.ListMetricDescriptorsResponse, _: Response
) -> Iterable[Difference]:
    """Each metric is described once, with a help text and names of labels that Prometheus accepts."""
    names = Counter(each.name for each in response.descriptors)
    for each in response.descriptors:
        if not each.name or names[each.name] > 1:
            yield Difference("descriptors", "unique names", f"{names[each.name]} of {each.name!r}")
        if not each.help:
            yield Difference("help", "a text", "", each.name)
        for key in each.label_keys:
            if not LABEL_NAME.fullmatch(key):
                yield Difference("label_keys", "names of labels", key, each.name)


@rule("CKP-16", "RestorePodResponse.pod_sandbox_id", "RestorePodResponse.restored_containers")
def restored_pod_is_complete(response: cri.RestorePodResponse, _: Response) -> Iterable[Difference]:
    """RestorePod names the sandbox and each container, none of them twice."""
    if not response.pod_sandbox_id:
        yield Difference("pod_sandbox_id", "an id", "")
    for field in ("name", "container_id"):
        values = [getattr(each, field) for each in response.restored_containers]
        if "" in values or len(set(values)) < len(values):
            yield Difference(f"restored_containers.{field}", "each once", values)


@rule("MET-07/ids", "PodSandboxMetrics.pod_sandbox_id", "ContainerMetrics.container_id")
def metrics_name_their_object(metrics: cri.PodSandboxMetrics, _: Response) -> Iterable[Difference]:
    """Metrics name their sandbox, and those of a container the container."""
    if not metrics.pod_sandbox_id:
        yield Difference("pod_sandbox_id", "an id", "")
    for container in metrics.container_metrics:
        if not container.container_id:
            yield Difference("container_metrics.container_id", "an id", "", metrics.pod_sandbox_id)


@rule("EVT-05", "ContainerEventResponse.container_id")
def event_names_its_object(event: cri.ContainerEventResponse, _: Response) -> Iterable[Difference]:
    """An event names a container, or the sandbox that it is about."""
    if not event.container_id:
        yield Difference("container_id", "an id", "")


RULES = [
    usage_includes_the_working_set,
    major_page_faults_are_page_faults,
    pressure_is_a_percentage,
    full_pressure_is_a_part_of_some,
    default_interface_is_no_further_one,
    interface_has_a_name,
    metric_has_a_name,
    descriptors_are_complete,
    restored_pod_is_complete,
    metrics_name_their_object,
    event_names_its_object,
]
