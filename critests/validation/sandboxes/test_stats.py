"""STA: PodSandboxStats and ListPodSandboxStats, compared with the pod's status and containers."""

import secrets
from collections.abc import Callable

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Containers,
    RecordVariant,
    Runtime,
    Sandbox,
    Sandboxes,
    refused_with,
    requirement,
    requires,
    unsupported,
)

pytestmark = requires(Capability.POD_STATS)

StatsOf = Callable[[Sandbox], cri.PodSandboxStats]


@pytest.fixture
def stats_of(runtime: Runtime) -> StatsOf:
    """Return a function that gets the stats of a sandbox."""

    def ask(sandbox: Sandbox) -> cri.PodSandboxStats:
        return runtime.stub.PodSandboxStats(cri.PodSandboxStatsRequest(pod_sandbox_id=sandbox.id)).stats

    return ask


def selected(runtime: Runtime, **fields: object) -> list[str]:
    """Return the ids of the sandboxes that a filter selects."""
    selection = cri.PodSandboxStatsFilter(**fields)  # type: ignore[arg-type]  # the message's own fields
    response = runtime.stub.ListPodSandboxStats(cri.ListPodSandboxStatsRequest(filter=selection))
    return [item.attributes.id for item in response.stats]


@requirement("STA-30")
def test_stats_have_the_attributes_of_the_sandboxs_status(
    runtime: Runtime, sandboxes: Sandboxes, stats_of: StatsOf
) -> None:
    """PodSandboxStats MUST return the same attributes as PodSandboxStatus.

    Source: PodSandboxAttributes.
    """
    sandbox = sandboxes.ready(labels={"colour": "green"}, annotations={"example.com/of": "the pod"})

    attributes = stats_of(sandbox).attributes

    status = runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox.id)).status
    assert (attributes.id, attributes.metadata) == (sandbox.id, status.metadata)
    assert dict(attributes.labels) == dict(status.labels)
    assert dict(attributes.annotations) == dict(status.annotations)


@requirement("STA-23")
def test_stats_of_a_sandbox_have_each_running_container_once(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, stats_of: StatsOf
) -> None:
    """PodSandboxStats MUST have one entry for each running container, with values no lower than an earlier
    ContainerStats.

    Source: LinuxPodSandboxStats.containers.
    """
    ids = sorted(containers.running(in_sandbox=own_sandbox).id for _ in range(2))
    before = {
        each: runtime.stub.ContainerStats(cri.ContainerStatsRequest(container_id=each)).stats for each in ids
    }

    entries = {each.attributes.id: each for each in stats_of(own_sandbox).linux.containers}

    assert sorted(entries) == ids
    for each in ids:
        assert entries[each].attributes == before[each].attributes
        used = entries[each].cpu.usage_core_nano_seconds.value
        assert used >= before[each].cpu.usage_core_nano_seconds.value


@requirement("STA-19")
def test_cpu_time_of_a_sandbox_includes_that_of_its_containers(
    own_sandbox: Sandbox, containers: Containers, stats_of: StatsOf
) -> None:
    """LinuxPodSandboxStats.cpu SHOULD be at least the sum of what the containers had used before.

    Source: LinuxPodSandboxStats.cpu.
    """
    for _ in range(2):
        containers.running(
            in_sandbox=own_sandbox,
            first="i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo finished",
            wait_for_log="finished",
        )
    if not stats_of(own_sandbox).linux.HasField("cpu"):
        unsupported("CPU time of pods: absent from PodSandboxStats")
    parts = [each.cpu.usage_core_nano_seconds.value for each in stats_of(own_sandbox).linux.containers]

    whole = stats_of(own_sandbox).linux.cpu.usage_core_nano_seconds.value

    assert len(parts) == 2
    assert whole >= sum(parts)


@requirement("STA-26")
def test_timestamps_of_sandbox_stats_are_set(
    own_sandbox: Sandbox, containers: Containers, stats_of: StatsOf
) -> None:
    """PodSandboxStats MUST have a timestamp above 0 wherever it has CPU, memory, network, processes or I/O.

    Source: CpuUsage.timestamp, MemoryUsage.timestamp, NetworkUsage.timestamp, ProcessUsage.timestamp.
    """
    containers.running(in_sandbox=own_sandbox)

    linux = stats_of(own_sandbox).linux

    blocks = {
        name: getattr(linux, name).timestamp
        for name in ("cpu", "memory", "network", "process", "io")
        if linux.HasField(name)
    }
    assert [name for name, timestamp in blocks.items() if timestamp <= 0] == []
    assert blocks != {}


@requirement("STA-24/not-ready")
def test_form_of_stats_of_a_stopped_sandbox(
    sandboxes: Sandboxes, stats_of: StatsOf, record_variant: RecordVariant
) -> None:
    """PodSandboxStats of a stopped sandbox MAY fail or return fewer values; it MUST return.

    Source: PodSandboxStats.
    """
    sandbox = sandboxes.in_state(cri.SANDBOX_NOTREADY)

    try:
        linux = stats_of(sandbox).linux
    except grpc.RpcError as error:
        record_variant(f"fails with {refused_with(error, grpc.StatusCode.UNAVAILABLE).name}")
    else:
        record_variant(", ".join(field.name for field, _ in linux.ListFields()) or "nothing is reported")

    # the error may be Unavailable; this call shows that the daemon still responds
    assert sandbox.state() == cri.SANDBOX_NOTREADY


@requirement("STA-25")
def test_list_of_sandbox_stats_filters_by_id(
    runtime: Runtime, own_sandbox: Sandbox, sandboxes: Sandboxes
) -> None:
    """ListPodSandboxStats with an id in the filter MUST return the stats of that sandbox only.

    Source: PodSandboxStatsFilter.id.
    """
    sandboxes.ready()

    assert selected(runtime, id=own_sandbox.id) == [own_sandbox.id]


@requirement("STA-25")
def test_list_of_sandbox_stats_filters_by_all_labels_together(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """ListPodSandboxStats with labels in the filter MUST return the stats of sandboxes with all of them only.

    Source: PodSandboxStatsFilter.label_selector.
    """
    labels = {"mark": secrets.token_hex(8), "colour": "green"}
    before = selected(runtime, label_selector=labels)
    sandbox = sandboxes.ready(labels=labels)
    # each has one of the two labels
    for other in ({"colour": "red"}, {"mark": secrets.token_hex(8)}):
        sandboxes.ready(labels=labels | other)

    assert before == []
    assert selected(runtime, label_selector=labels) == [sandbox.id]


@requirement("STA-25")
@pytest.mark.parametrize("filtered", [True, False], ids=["with a filter", "without a filter"])
def test_a_stopped_sandbox_does_not_fail_the_list_of_stats(
    runtime: Runtime, sandboxes: Sandboxes, *, filtered: bool
) -> None:
    """ListPodSandboxStats MUST return the stats of other sandboxes if one sandbox is stopped, and MUST NOT
    return an entry without its attributes.

    Source: ListPodSandboxStatsResponse.stats, PodSandboxAttributes.
    """
    labels = {"mark": secrets.token_hex(8)}
    ready = sandboxes.ready(labels=labels)
    stopped = sandboxes.in_state(cri.SANDBOX_NOTREADY, labels=labels)
    selection = cri.PodSandboxStatsFilter(label_selector=labels) if filtered else None

    answer = runtime.stub.ListPodSandboxStats(cri.ListPodSandboxStatsRequest(filter=selection))

    attributes = [item.attributes for item in answer.stats]
    assert [each for each in attributes if not each.id or not each.metadata.name] == []
    by_id = {each.id: each.metadata for each in attributes}
    assert len(by_id) == len(attributes), "a sandbox is listed twice"
    assert by_id[ready.id] == ready.config.metadata
    assert by_id.get(stopped.id, stopped.config.metadata) == stopped.config.metadata
