"""STA: what a pod uses, as PodSandboxStats and ListPodSandboxStats tell it, held against its containers."""

import secrets
from collections.abc import Callable

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime, refused_with
from critests.fixtures.sandboxes import Sandboxes
from critests.fixtures.session import Observe
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import requirement, requires
from critests.run.outcomes import unsupported

pytestmark = requires(Capability.POD_STATS)

Look = Callable[[Sandbox], cri.PodSandboxStats]


@pytest.fixture
def look(runtime: Runtime) -> Look:
    """Return what asks for the stats of a sandbox."""

    def ask(sandbox: Sandbox) -> cri.PodSandboxStats:
        return runtime.stub.PodSandboxStats(cri.PodSandboxStatsRequest(pod_sandbox_id=sandbox.id)).stats

    return ask


def selected(runtime: Runtime, **wanted: object) -> list[str]:
    """Return the ids that a filter leaves."""
    wanted_filter = cri.PodSandboxStatsFilter(**wanted)  # type: ignore[arg-type]  # the message's own fields
    answer = runtime.stub.ListPodSandboxStats(cri.ListPodSandboxStatsRequest(filter=wanted_filter))
    return [item.attributes.id for item in answer.stats]


@requirement("STA-30")
def test_stats_name_the_sandbox_as_its_status_does(
    runtime: Runtime, sandboxes: Sandboxes, look: Look
) -> None:
    """The attributes in PodSandboxStats MUST be those of PodSandboxStatus.

    Source: PodSandboxAttributes.
    """
    sandbox = sandboxes.ready(labels={"colour": "green"}, annotations={"example.com/of": "the pod"})

    told = look(sandbox).attributes

    status = runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox.id)).status
    assert (told.id, told.metadata) == (sandbox.id, status.metadata)
    assert dict(told.labels) == dict(status.labels)
    assert dict(told.annotations) == dict(status.annotations)


@requirement("STA-23")
def test_stats_of_a_sandbox_hold_each_running_container_once(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, look: Look
) -> None:
    """PodSandboxStats MUST hold one entry for each running container, with figures that do not lag behind
    what ContainerStats told before.

    Source: LinuxPodSandboxStats.containers.
    """
    made = sorted(containers.running(in_sandbox=own_sandbox).id for _ in range(2))
    before = {
        each: runtime.stub.ContainerStats(cri.ContainerStatsRequest(container_id=each)).stats for each in made
    }

    told = {each.attributes.id: each for each in look(own_sandbox).linux.containers}

    assert sorted(told) == made
    for each in made:
        assert told[each].attributes == before[each].attributes
        used = told[each].cpu.usage_core_nano_seconds.value
        assert used >= before[each].cpu.usage_core_nano_seconds.value


@requirement("STA-19")
def test_a_sandbox_has_used_no_less_than_its_containers(
    own_sandbox: Sandbox, containers: Containers, look: Look
) -> None:
    """The CPU time of a pod SHOULD be no less than what its containers had used before.

    Source: LinuxPodSandboxStats.cpu.
    """
    for _ in range(2):
        containers.running(
            in_sandbox=own_sandbox,
            first="i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; echo burnt",
            wait_for_log="burnt",
        )
    if not look(own_sandbox).linux.HasField("cpu"):
        unsupported("CPU time of pods: absent from PodSandboxStats")
    parts = [each.cpu.usage_core_nano_seconds.value for each in look(own_sandbox).linux.containers]

    whole = look(own_sandbox).linux.cpu.usage_core_nano_seconds.value

    assert len(parts) == 2
    assert whole >= sum(parts)


@requirement("STA-26")
def test_times_of_a_sandbox_s_stats_are_set(own_sandbox: Sandbox, containers: Containers, look: Look) -> None:
    """Wherever PodSandboxStats tells of CPU, memory, network, processes or I/O, the time MUST be above 0.

    Source: CpuUsage.timestamp, MemoryUsage.timestamp, NetworkUsage.timestamp, ProcessUsage.timestamp.
    """
    containers.running(in_sandbox=own_sandbox)

    linux = look(own_sandbox).linux

    blocks = {
        name: getattr(linux, name).timestamp
        for name in ("cpu", "memory", "network", "process", "io")
        if linux.HasField(name)
    }
    assert [name for name, timestamp in blocks.items() if timestamp <= 0] == []
    assert blocks != {}


@requirement("STA-24/not-ready")
def test_what_stats_of_a_stopped_sandbox_are(sandboxes: Sandboxes, look: Look, observe: Observe) -> None:
    """PodSandboxStats of a stopped sandbox may fail or tell less; it MUST answer.

    Source: PodSandboxStats.
    """
    sandbox = sandboxes.in_state(cri.SANDBOX_NOTREADY)

    try:
        linux = look(sandbox).linux
    except grpc.RpcError as error:
        observe(f"fails with {refused_with(error, grpc.StatusCode.UNAVAILABLE).name}")
    else:
        observe(", ".join(field.name for field, _ in linux.ListFields()) or "nothing is told")

    # UNAVAILABLE may be what it says of such a sandbox; a daemon that is gone says nothing more
    assert sandbox.state() == cri.SANDBOX_NOTREADY


@requirement("STA-25")
def test_list_of_sandbox_stats_filters_by_id(
    runtime: Runtime, own_sandbox: Sandbox, sandboxes: Sandboxes
) -> None:
    """A filter with an id MUST leave only the stats of that sandbox.

    Source: PodSandboxStatsFilter.id.
    """
    sandboxes.ready()

    assert selected(runtime, id=own_sandbox.id) == [own_sandbox.id]


@requirement("STA-25")
def test_list_of_sandbox_stats_filters_by_all_labels_together(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """A filter with labels MUST leave only the stats of sandboxes that have every one of them.

    Source: PodSandboxStatsFilter.label_selector.
    """
    wanted = {"mark": secrets.token_hex(8), "colour": "green"}
    before = selected(runtime, label_selector=wanted)
    sandbox = sandboxes.ready(labels=wanted)
    for other in ({"colour": "red"}, {"mark": secrets.token_hex(8)}):
        sandboxes.ready(labels=wanted | other)

    assert before == []
    assert selected(runtime, label_selector=wanted) == [sandbox.id]


@requirement("STA-25")
def test_a_stopped_sandbox_does_not_fail_the_list_of_stats(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """ListPodSandboxStats MUST not fail for a stopped sandbox, and MUST tell of the others.

    Source: ListPodSandboxStatsResponse.stats.
    """
    wanted = {"mark": secrets.token_hex(8)}
    ready = sandboxes.ready(labels=wanted)
    stopped = sandboxes.in_state(cri.SANDBOX_NOTREADY, labels=wanted)

    assert ready.id in [each for each in selected(runtime, label_selector=wanted) if each != stopped.id]
