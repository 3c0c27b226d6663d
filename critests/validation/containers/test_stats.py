"""STA: ContainerStats and ListContainerStats, compared with what the container does: CPU time that it uses,
memory that it allocates, files that it writes.
"""

import secrets
import time
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    ConditionNotMet,
    Container,
    Containers,
    RecordVariant,
    Runtime,
    Sandbox,
    refused_with,
    requirement,
    requires,
    setting_up,
    single,
    slow,
    unsupported,
)

StatsOf = Callable[[Container], cri.ContainerStats]

MIB = 1 << 20
STATS_SECONDS = 30.0
"""Runtimes measure memory and disk usage only every ten seconds or so."""
NANOSECONDS = 1_000_000_000
MINUTE_NS = 60 * NANOSECONDS
USE_CPU = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; times; echo done"
"""Uses a fraction of a second of CPU time; the first line of `times` is the CPU time of the shell."""
ALLOCATED_BYTES, ALLOCATED_AT_LEAST = 64 * MIB, 56 * MIB
ALLOCATE = f"(dd if=/dev/zero bs={ALLOCATED_BYTES} count=1 | sleep 3600) </dev/null >/dev/null 2>&1 &"
"""Leaves a process that holds a full buffer of that size: `dd` waits, as `sleep` does not read the pipe. Its
streams are not those of the command, so that ExecSync does not wait for it.
"""
WRITTEN_BYTES, FILES = 16 * MIB, 200
# random, as a file system may compress zeros; `sync`, as some allocate blocks only when they write
WRITE = (
    f"dd if=/dev/urandom of=/large bs={MIB} count={WRITTEN_BYTES // MIB} 2>/dev/null;"
    f" mkdir /many; i=0; while [ $i -lt {FILES} ]; do echo $i > /many/$i; i=$((i+1)); done; sync"
)


@pytest.fixture
def stats_of(runtime: Runtime) -> StatsOf:
    """Calls ContainerStats for a container."""

    def call(container: Container) -> cri.ContainerStats:
        request = cri.ContainerStatsRequest(container_id=container.id)
        return runtime.stub.ContainerStats(request).stats

    return call


def selected(runtime: Runtime, **fields: object) -> list[str]:
    """Return the container ids of ListContainerStats with a filter."""
    stats_filter = cri.ContainerStatsFilter(**fields)  # type: ignore[arg-type]  # the message's own fields
    response = runtime.stub.ListContainerStats(cri.ListContainerStatsRequest(filter=stats_filter))
    return [item.attributes.id for item in response.stats]


@requirement("STA-01")
def test_stats_have_the_attributes_of_the_container(runtime: Runtime, containers: Containers) -> None:
    """ContainerStats MUST report the id, metadata, labels and annotations of the container.

    Source: ContainerAttributes.
    """
    config = containers.config(labels={"colour": "green"}, annotations={"example.com/of": "the container"})
    container = containers.running(config)

    stats = runtime.stub.ContainerStats(cri.ContainerStatsRequest(container_id=container.id)).stats

    assert stats.attributes.id == container.id
    assert stats.attributes.metadata == config.metadata
    assert dict(stats.attributes.labels) == dict(config.labels)
    assert dict(stats.attributes.annotations) == dict(config.annotations)


@requirement("STA-02/set")
@slow
def test_times_of_stats_are_set(runtime: Runtime, running_container: Container, stats_of: StatsOf) -> None:
    """`timestamp` of CPU, memory and writable layer MUST be above 0, at the latest after the runtime has
    measured once.

    Source: CpuUsage.timestamp, MemoryUsage.timestamp, FilesystemUsage.timestamp.
    """
    runtime.eventually(
        "times above 0 of CPU, memory and, if reported, the writable layer",
        lambda: stats_of(running_container),
        STATS_SECONDS,
        lambda stats: (
            stats.cpu.timestamp > 0
            and stats.memory.timestamp > 0
            and (stats.writable_layer.timestamp > 0 or not stats.HasField("writable_layer"))
        ),
    )


@requirement("STA-02/fresh")
@slow
def test_times_of_stats_are_recent_and_increase(
    runtime: Runtime, running_container: Container, stats_of: StatsOf
) -> None:
    """`timestamp` of CPU and memory SHOULD be no older than a minute, and SHOULD increase in later responses.

    Source: CpuUsage.timestamp, MemoryUsage.timestamp. Not stated by the CRI; the kubelet computes rates from
    two responses.
    """
    first = stats_of(running_container)
    now = time.time_ns()

    later = runtime.eventually(
        "a later timestamp of the CPU time",
        lambda: stats_of(running_container),
        STATS_SECONDS,
        lambda stats: stats.cpu.timestamp > first.cpu.timestamp,
    )

    assert now - first.cpu.timestamp < MINUTE_NS
    assert now - first.memory.timestamp < MINUTE_NS
    assert later.memory.timestamp >= first.memory.timestamp


@requirement("STA-03")
def test_cpu_time_includes_what_the_container_uses(
    runtime: Runtime, containers: Containers, stats_of: StatsOf
) -> None:
    """`usage_core_nano_seconds` MUST include the CPU time that the container has used, in nanoseconds, and
    MUST NOT decrease.

    Source: CpuUsage.usage_core_nano_seconds.
    """
    container = containers.running(first=USE_CPU, wait_for_log="done")
    # the user time, such as 0m0.41s, precedes the system time
    minutes, _, seconds = container.log_lines()[0].split()[0].partition("m")
    used_ns = int((60 * int(minutes) + float(seconds.rstrip("s"))) * NANOSECONDS)

    first = runtime.eventually(
        "the CPU time that the shell used",
        lambda: stats_of(container).cpu.usage_core_nano_seconds.value,
        STATS_SECONDS,
        lambda used: used >= 0.9 * used_ns,
    )

    # generous: only another unit would exceed it
    assert first < 20 * used_ns + 10 * NANOSECONDS
    assert stats_of(container).cpu.usage_core_nano_seconds.value >= first


@requirement("STA-04")
@slow
def test_rate_of_cpu_time_is_that_of_the_container(runtime: Runtime, containers: Containers) -> None:
    """ListContainerStats SHOULD report `usage_nano_cores` for a container that uses CPU time, in billionths
    of a core, at the latest in its second response.

    Source: CpuUsage.usage_nano_cores.
    """
    container = containers.running(script="while :; do :; done")
    request = cri.ListContainerStatsRequest(filter=cri.ContainerStatsFilter(id=container.id))

    def cpu_usage() -> cri.CpuUsage:
        return single("its stats", runtime.stub.ListContainerStats(request).stats).cpu

    first = cpu_usage()
    later = runtime.eventually(
        "a rate of the CPU time",
        cpu_usage,
        STATS_SECONDS,
        lambda cpu: cpu.timestamp - first.timestamp > 2 * NANOSECONDS and cpu.usage_nano_cores.value,
    )

    used = later.usage_core_nano_seconds.value - first.usage_core_nano_seconds.value
    average = used * NANOSECONDS // (later.timestamp - first.timestamp)
    # one loop uses at most one core; the runtime chooses the interval of the rate, hence the wide bounds
    assert average / 10 < later.usage_nano_cores.value < 2 * NANOSECONDS


@requirement("STA-05")
def test_working_set_grows_by_the_allocated_memory(
    runtime: Runtime, running_container: Container, stats_of: StatsOf
) -> None:
    """`working_set_bytes` MUST grow by the memory that the container allocates.

    Source: MemoryUsage.working_set_bytes.
    """
    before = stats_of(running_container).memory.working_set_bytes.value
    with setting_up():
        runtime.stub.ExecSync(running_container.script_request(ALLOCATE))

    runtime.eventually(
        f"{ALLOCATED_AT_LEAST >> 20} MiB more than {before} bytes in the working set",
        lambda: stats_of(running_container).memory.working_set_bytes.value,
        STATS_SECONDS,
        lambda used: before + ALLOCATED_AT_LEAST <= used < before + 3 * ALLOCATED_BYTES,
    )


@requirement("STA-06/limit")
def test_available_memory_is_the_limit_minus_the_working_set(
    runtime: Runtime, containers: Containers, stats_of: StatsOf
) -> None:
    """`available_bytes` of a container with a memory limit MUST be the limit minus the working set.

    Source: MemoryUsage.available_bytes.
    """
    limit = 256 * MIB
    container = containers.running(resources=cri.LinuxContainerResources(memory_limit_in_bytes=limit))
    memory = runtime.eventually(
        "memory usage", lambda: stats_of(container).memory, STATS_SECONDS, lambda usage: usage.timestamp
    )

    if not memory.HasField("available_bytes"):
        unsupported("available memory: absent from ContainerStats")
    assert abs(memory.available_bytes.value + memory.working_set_bytes.value - limit) <= 4 * MIB


@requirement("STA-06/no-limit")
def test_form_of_available_memory_without_a_limit(
    running_container: Container, stats_of: StatsOf, record_variant: RecordVariant
) -> None:
    """ContainerStats MAY report any `available_bytes` for a container without a memory limit, and MUST NOT
    fail.

    Source: MemoryUsage.available_bytes.
    """
    memory = stats_of(running_container).memory

    if not memory.HasField("available_bytes"):
        record_variant("absent")
    elif memory.available_bytes.value == 0:
        record_variant("0")
    else:
        record_variant("a number")


@requirement("STA-07")
def test_memory_usage_includes_the_working_set(
    runtime: Runtime, running_container: Container, stats_of: StatsOf
) -> None:
    """`usage_bytes` MUST NOT be less than the working set, `rss_bytes` MUST include the memory that a process
    has allocated, and the numbers of page faults MUST NOT decrease.

    Source: MemoryUsage.usage_bytes, rss_bytes, page_faults, major_page_faults.
    """
    first = stats_of(running_container).memory
    if not (first.HasField("usage_bytes") and first.HasField("rss_bytes")):
        unsupported("usage_bytes and rss_bytes: absent from ContainerStats")
    with setting_up():
        runtime.stub.ExecSync(running_container.script_request(ALLOCATE))

    memory = runtime.eventually(
        "the allocated memory in rss_bytes",
        lambda: stats_of(running_container).memory,
        STATS_SECONDS,
        lambda usage: usage.rss_bytes.value >= ALLOCATED_AT_LEAST,
    )

    assert memory.usage_bytes.value >= memory.working_set_bytes.value
    assert memory.page_faults.value >= first.page_faults.value
    assert memory.major_page_faults.value >= first.major_page_faults.value


@pytest.fixture
def layer_usage(runtime: Runtime, running_container: Container, stats_of: StatsOf) -> cri.FilesystemUsage:
    """The first usage of the writable layer of `running_container` that ContainerStats reports."""
    try:
        stats = runtime.eventually(
            "usage of the writable layer",
            lambda: stats_of(running_container),
            STATS_SECONDS,
            lambda stats: stats.writable_layer.timestamp > 0,
        )
    except ConditionNotMet:
        unsupported(f"writable layer: absent from ContainerStats for {STATS_SECONDS:g} s")
    return stats.writable_layer


@requirement("STA-09")
@slow
def test_writable_layer_grows_by_what_is_written(
    runtime: Runtime, running_container: Container, layer_usage: cri.FilesystemUsage, stats_of: StatsOf
) -> None:
    """`used_bytes` and `inodes_used` of the writable layer MUST grow by the bytes and files that the
    container writes.

    Source: FilesystemUsage.used_bytes, inodes_used.
    """
    with setting_up():
        written = runtime.stub.ExecSync(running_container.script_request(WRITE))
        assert written.exit_code == 0, written.stderr

    runtime.eventually(
        f"{WRITTEN_BYTES} bytes and {FILES} files more than {layer_usage.used_bytes.value} and"
        f" {layer_usage.inodes_used.value}",
        lambda: stats_of(running_container).writable_layer,
        STATS_SECONDS,
        lambda usage: (
            usage.used_bytes.value >= layer_usage.used_bytes.value + WRITTEN_BYTES
            and usage.inodes_used.value >= layer_usage.inodes_used.value + FILES
        ),
    )


@requirement("STA-09")
@requires(Capability.SAME_HOST)
@slow
def test_writable_layer_is_on_a_path_of_the_node(runtime: Runtime, layer_usage: cri.FilesystemUsage) -> None:
    """`mountpoint` of the writable layer's file system MUST be a directory of the node.

    Source: FilesystemUsage.fs_id, FilesystemIdentifier.mountpoint.
    """
    mountpoint = layer_usage.fs_id.mountpoint

    assert mountpoint.startswith("/")
    assert runtime.seen_by_daemon(Path(mountpoint)).is_dir()


@requirement("STA-14")
@pytest.mark.parametrize("state", [cri.CONTAINER_CREATED, cri.CONTAINER_EXITED], ids=["created", "exited"])
def test_form_of_stats_of_a_container_that_does_not_run(
    runtime: Runtime, containers: Containers, state: "cri.ContainerState", record_variant: RecordVariant
) -> None:
    """ContainerStats of a container that does not run MAY fail or report no usage, and MUST return.

    Source: ContainerStats.
    """
    container = containers.in_state(state)

    try:
        stats = runtime.stub.ContainerStats(cri.ContainerStatsRequest(container_id=container.id)).stats
    except grpc.RpcError as error:
        record_variant(f"fails with {refused_with(error).name}")
    else:
        used = [name for name in ("cpu", "memory", "writable_layer") if stats.HasField(name)]
        record_variant(", ".join(used) or "no usage is reported")


@requirement("STA-15")
def test_list_of_stats_has_every_running_container_once(runtime: Runtime, containers: Containers) -> None:
    """ListContainerStats without a filter MUST return each running container once, and MUST NOT return an
    entry without its attributes.

    Source: ListContainerStatsRequest.filter, ContainerAttributes.
    """
    # a runtime may not cache this response: the next one must have the containers that start after it
    runtime.stub.ListContainerStats(cri.ListContainerStatsRequest())
    running = sorted(containers.running().id for _ in range(3))
    # an exited container, whose stats are optional, must not disturb the others
    containers.in_state(cri.CONTAINER_EXITED)

    response = runtime.stub.ListContainerStats(cri.ListContainerStatsRequest())

    attributes = [item.attributes for item in response.stats]
    assert [each for each in attributes if not each.id or not each.metadata.name] == []
    assert sorted(each.id for each in attributes if each.id in running) == running


@requirement("STA-16")
def test_list_of_stats_filters_by_id(
    runtime: Runtime, running_container: Container, containers: Containers
) -> None:
    """ListContainerStats filtered by id MUST return only the stats of that container.

    Source: ContainerStatsFilter.id.
    """
    containers.running()

    assert selected(runtime, id=running_container.id) == [running_container.id]


@requirement("STA-16")
def test_list_of_stats_filters_by_sandbox(
    runtime: Runtime, containers: Containers, own_sandbox: Sandbox
) -> None:
    """ListContainerStats filtered by sandbox MUST return only the stats of its containers.

    Source: ContainerStatsFilter.pod_sandbox_id.
    """
    containers.running()
    inside = containers.running(in_sandbox=own_sandbox)

    assert selected(runtime, pod_sandbox_id=own_sandbox.id) == [inside.id]


@requirement("STA-16")
def test_list_of_stats_filters_by_all_labels_together(runtime: Runtime, containers: Containers) -> None:
    """ListContainerStats filtered by labels MUST return only the stats of containers that have all of them.

    Source: ContainerStatsFilter.label_selector.
    """
    # unique, as containers of other tests may exist
    labels = {"token": secrets.token_hex(8), "colour": "green"}
    container = containers.running(labels=labels)
    # each of these matches only one of the two labels
    for other in ({"colour": "red"}, {"token": secrets.token_hex(8)}):
        containers.running(labels=labels | other)

    assert selected(runtime, label_selector=labels) == [container.id]


@requirement("STA-16")
def test_list_of_stats_filters_by_all_fields_together(
    runtime: Runtime, running_container: Container, containers: Containers, own_sandbox: Sandbox
) -> None:
    """ListContainerStats MUST NOT return a container that matches the id of the filter but not the sandbox.

    Source: ContainerStatsFilter.
    """
    containers.running(in_sandbox=own_sandbox)

    assert selected(runtime, id=running_container.id, pod_sandbox_id=own_sandbox.id) == []


@requirement("STA-29/start")
def test_stats_are_available_right_after_the_start(runtime: Runtime, container: Container) -> None:
    """ContainerStats right after StartContainer MUST NOT fail, and MUST report the container's id.

    Source: ContainerStats.
    """
    runtime.stub.StartContainer(cri.StartContainerRequest(container_id=container.id))

    stats = runtime.stub.ContainerStats(cri.ContainerStatsRequest(container_id=container.id)).stats

    assert stats.attributes.id == container.id
