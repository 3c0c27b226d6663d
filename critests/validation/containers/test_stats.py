"""STA: what a container uses, as ContainerStats and ListContainerStats tell it. The figures are held against
what the container does itself: time that it burns, memory that it takes, files that it writes.
"""

import secrets
import time
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime, refused_with
from critests.fixtures.session import Observe
from critests.lifecycle.containers import Container
from critests.lifecycle.sandboxes import Sandbox
from critests.lifecycle.told import the_one
from critests.lifecycle.waiting import ConditionNotMet
from critests.run.marks import requirement, requires, slow
from critests.run.outcomes import setting_up, unsupported

Look = Callable[[Container], cri.ContainerStats]

MIB = 1 << 20
STATS_SECONDS = 30.0
"""Runtimes look at memory and at disks every ten seconds or so."""
NANOSECONDS = 1_000_000_000
MINUTE_NS = 60 * NANOSECONDS
BURN = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; times; echo burnt"
"""Uses a part of a second of CPU time, and prints as its second line but one what the shell has used."""
TAKEN_BYTES, TAKEN_AT_LEAST = 64 * MIB, 56 * MIB
TAKE = f"(dd if=/dev/zero bs={TAKEN_BYTES} count=1 | sleep 3600) </dev/null >/dev/null 2>&1 &"
"""Leaves a program behind that holds so much memory: it has filled a buffer, which nobody takes from it."""
WRITTEN_BYTES, FILES = 16 * MIB, 200
WRITE = (
    f"dd if=/dev/urandom of=/large bs={MIB} count={WRITTEN_BYTES // MIB} 2>/dev/null;"
    f" mkdir /many; i=0; while [ $i -lt {FILES} ]; do echo $i > /many/$i; i=$((i+1)); done; sync"
)


@pytest.fixture
def look(runtime: Runtime) -> Look:
    """Return what asks for the stats of a container."""

    def ask(container: Container) -> cri.ContainerStats:
        request = cri.ContainerStatsRequest(container_id=container.id)
        return runtime.stub.ContainerStats(request).stats

    return ask


def selected(runtime: Runtime, **wanted: object) -> list[str]:
    """Return the ids that a filter leaves."""
    wanted_filter = cri.ContainerStatsFilter(**wanted)  # type: ignore[arg-type]  # the message's own fields
    answer = runtime.stub.ListContainerStats(cri.ListContainerStatsRequest(filter=wanted_filter))
    return [item.attributes.id for item in answer.stats]


@requirement("STA-01")
def test_stats_name_the_container_as_it_was_made(runtime: Runtime, containers: Containers) -> None:
    """The attributes in ContainerStats MUST be those of the container: id, metadata, labels and annotations.

    Source: ContainerAttributes.
    """
    config = containers.config(labels={"colour": "green"}, annotations={"example.com/of": "the container"})
    container = containers.running(config)

    told = runtime.stub.ContainerStats(cri.ContainerStatsRequest(container_id=container.id)).stats.attributes

    assert told.id == container.id
    assert told.metadata == config.metadata
    assert dict(told.labels) == dict(config.labels)
    assert dict(told.annotations) == dict(config.annotations)


@requirement("STA-02/set")
@slow
def test_times_of_stats_are_set(runtime: Runtime, running_container: Container, look: Look) -> None:
    """The times at which CPU, memory and writable layer were looked at MUST be above 0, at the latest when
    the runtime has looked once.

    Source: CpuUsage.timestamp, MemoryUsage.timestamp, FilesystemUsage.timestamp.
    """
    runtime.eventually(
        "times above 0 of CPU, memory and the writable layer, where that is told",
        lambda: look(running_container),
        STATS_SECONDS,
        lambda seen: (
            seen.cpu.timestamp > 0
            and seen.memory.timestamp > 0
            and (seen.writable_layer.timestamp > 0 or not seen.HasField("writable_layer"))
        ),
    )


@requirement("STA-02/fresh")
@slow
def test_times_of_stats_are_of_late_and_go_on(
    runtime: Runtime, running_container: Container, look: Look
) -> None:
    """Stats SHOULD be no older than a minute, and later ones SHOULD be of a later time.

    Not stated by the CRI; the kubelet takes rates from two of them.
    Source: CpuUsage.timestamp, MemoryUsage.timestamp.
    """
    first = look(running_container)
    asked = time.time_ns()

    later = runtime.eventually(
        "another look at the CPU time",
        lambda: look(running_container),
        STATS_SECONDS,
        lambda seen: seen.cpu.timestamp > first.cpu.timestamp,
    )

    assert asked - first.cpu.timestamp < MINUTE_NS
    assert asked - first.memory.timestamp < MINUTE_NS
    assert later.memory.timestamp >= first.memory.timestamp


@requirement("STA-03")
def test_cpu_time_counts_what_the_container_burns(
    runtime: Runtime, containers: Containers, look: Look
) -> None:
    """The CPU time in ContainerStats MUST hold what the container has used, in nanoseconds, and never fall.

    Source: CpuUsage.usage_core_nano_seconds.
    """
    container = containers.running(first=BURN, wait_for_log="burnt")
    minutes, _, seconds = container.log_lines()[0].split()[0].partition("m")
    burnt = int((60 * int(minutes) + float(seconds.rstrip("s"))) * NANOSECONDS)

    first = runtime.eventually(
        "the CPU time that was burnt",
        lambda: look(container).cpu.usage_core_nano_seconds.value,
        STATS_SECONDS,
        lambda used: used >= 0.9 * burnt,
    )

    assert first < 20 * burnt + 10 * NANOSECONDS
    assert look(container).cpu.usage_core_nano_seconds.value >= first


@requirement("STA-04")
@slow
def test_rate_of_cpu_time_is_that_of_what_a_container_burns(runtime: Runtime, containers: Containers) -> None:
    """The rate of CPU time in ListContainerStats SHOULD be told for a container that burns time, in
    billionths of a core, at least from the second look on.

    Source: CpuUsage.usage_nano_cores.
    """
    container = containers.running(script="while :; do :; done")
    request = cri.ListContainerStatsRequest(filter=cri.ContainerStatsFilter(id=container.id))

    def look_again() -> cri.CpuUsage:
        return the_one("its stats", runtime.stub.ListContainerStats(request).stats).cpu

    first = look_again()
    later = runtime.eventually(
        "a rate of the CPU time",
        look_again,
        STATS_SECONDS,
        lambda seen: seen.timestamp - first.timestamp > 2 * NANOSECONDS and seen.usage_nano_cores.value,
    )

    used = later.usage_core_nano_seconds.value - first.usage_core_nano_seconds.value
    average = used * NANOSECONDS // (later.timestamp - first.timestamp)
    assert average / 10 < later.usage_nano_cores.value < 2 * NANOSECONDS


@requirement("STA-05")
def test_working_set_grows_by_what_a_container_takes(
    runtime: Runtime, running_container: Container, look: Look
) -> None:
    """The working set in ContainerStats MUST grow by the memory that the container takes.

    Source: MemoryUsage.working_set_bytes.
    """
    before = look(running_container).memory.working_set_bytes.value
    with setting_up():
        runtime.stub.ExecSync(running_container.script_request(TAKE))

    runtime.eventually(
        f"{TAKEN_AT_LEAST >> 20} MiB more than {before} bytes in the working set",
        lambda: look(running_container).memory.working_set_bytes.value,
        STATS_SECONDS,
        lambda used: before + TAKEN_AT_LEAST <= used < before + 3 * TAKEN_BYTES,
    )


@requirement("STA-06/limit")
def test_available_memory_is_what_is_left_of_the_limit(
    runtime: Runtime, containers: Containers, look: Look
) -> None:
    """With a memory limit the available memory MUST be the limit less the working set.

    Source: MemoryUsage.available_bytes.
    """
    limit = 256 * MIB
    container = containers.running(resources=cri.LinuxContainerResources(memory_limit_in_bytes=limit))
    memory = runtime.eventually(
        "a look at the memory", lambda: look(container).memory, STATS_SECONDS, lambda seen: seen.timestamp
    )

    if not memory.HasField("available_bytes"):
        unsupported("available memory: absent from ContainerStats")
    assert abs(memory.available_bytes.value + memory.working_set_bytes.value - limit) <= 4 * MIB


@requirement("STA-06/no-limit")
def test_what_available_memory_is_without_a_limit(
    running_container: Container, look: Look, observe: Observe
) -> None:
    """ContainerStats MAY tell any available memory where there is no limit, and MUST answer.

    Source: MemoryUsage.available_bytes.
    """
    memory = look(running_container).memory

    if not memory.HasField("available_bytes"):
        observe("absent")
    elif memory.available_bytes.value == 0:
        observe("0")
    else:
        observe("a number")


@requirement("STA-07")
def test_memory_in_use_holds_the_working_set(
    runtime: Runtime, running_container: Container, look: Look
) -> None:
    """Memory in use MUST be no less than the working set, anonymous memory MUST hold what a program has
    taken, and page faults MUST not become fewer.

    Source: MemoryUsage.usage_bytes, rss_bytes, page_faults, major_page_faults.
    """
    first = look(running_container).memory
    if not (first.HasField("usage_bytes") and first.HasField("rss_bytes")):
        unsupported("memory in use and anonymous memory: absent from ContainerStats")
    with setting_up():
        runtime.stub.ExecSync(running_container.script_request(TAKE))

    memory = runtime.eventually(
        "anonymous memory that was taken",
        lambda: look(running_container).memory,
        STATS_SECONDS,
        lambda seen: seen.rss_bytes.value >= TAKEN_AT_LEAST,
    )

    assert memory.usage_bytes.value >= memory.working_set_bytes.value
    assert memory.page_faults.value >= first.page_faults.value
    assert memory.major_page_faults.value >= first.major_page_faults.value


@pytest.fixture
def layer(runtime: Runtime, running_container: Container, look: Look) -> cri.FilesystemUsage:
    """Return the first look at the writable layer of `running_container`."""
    try:
        stats = runtime.eventually(
            "a look at the writable layer",
            lambda: look(running_container),
            STATS_SECONDS,
            lambda seen: seen.writable_layer.timestamp > 0,
        )
    except ConditionNotMet:
        unsupported(f"writable layer: absent from ContainerStats for {STATS_SECONDS:g} s")
    return stats.writable_layer


@requirement("STA-09")
@slow
def test_writable_layer_grows_by_what_is_written(
    runtime: Runtime, running_container: Container, layer: cri.FilesystemUsage, look: Look
) -> None:
    """The usage of the writable layer MUST grow by the bytes and by the files that the container writes.

    Source: FilesystemUsage.used_bytes, inodes_used.
    """
    with setting_up():
        written = runtime.stub.ExecSync(running_container.script_request(WRITE))
        assert written.exit_code == 0, written.stderr

    runtime.eventually(
        f"{WRITTEN_BYTES} bytes and {FILES} files more than {layer.used_bytes.value} and"
        f" {layer.inodes_used.value}",
        lambda: look(running_container).writable_layer,
        STATS_SECONDS,
        lambda seen: (
            seen.used_bytes.value >= layer.used_bytes.value + WRITTEN_BYTES
            and seen.inodes_used.value >= layer.inodes_used.value + FILES
        ),
    )


@requirement("STA-09")
@requires(Capability.SAME_HOST)
@slow
def test_writable_layer_is_on_a_path_of_the_node(runtime: Runtime, layer: cri.FilesystemUsage) -> None:
    """The path that identifies the file system of a writable layer MUST exist on the node.

    Source: FilesystemUsage.fs_id, FilesystemIdentifier.mountpoint.
    """
    mountpoint = layer.fs_id.mountpoint

    assert mountpoint.startswith("/")
    assert runtime.seen_by_daemon(Path(mountpoint)).is_dir()


@requirement("STA-14")
@pytest.mark.parametrize("state", [cri.CONTAINER_CREATED, cri.CONTAINER_EXITED], ids=["created", "ended"])
def test_what_stats_of_a_container_are_that_does_not_run(
    runtime: Runtime, containers: Containers, state: "cri.ContainerState", observe: Observe
) -> None:
    """ContainerStats of a container that does not run may fail or tell nothing; it MUST answer.

    Source: ContainerStats.
    """
    container = containers.in_state(state)

    try:
        stats = runtime.stub.ContainerStats(cri.ContainerStatsRequest(container_id=container.id)).stats
    except grpc.RpcError as error:
        observe(f"fails with {refused_with(error).name}")
    else:
        used = [name for name in ("cpu", "memory", "writable_layer") if stats.HasField(name)]
        observe(", ".join(used) or "nothing is told")


@requirement("STA-15")
def test_list_of_stats_has_every_running_container_once(runtime: Runtime, containers: Containers) -> None:
    """ListContainerStats without a filter MUST list each running container once.

    Source: ListContainerStatsRequest.filter.
    """
    # what is made after an answer is in the next one
    runtime.stub.ListContainerStats(cri.ListContainerStatsRequest())
    made = sorted(containers.running().id for _ in range(3))
    containers.in_state(cri.CONTAINER_EXITED)

    answer = runtime.stub.ListContainerStats(cri.ListContainerStatsRequest())

    assert sorted(item.attributes.id for item in answer.stats if item.attributes.id in made) == made


@requirement("STA-16")
def test_list_of_stats_filters_by_id(
    runtime: Runtime, running_container: Container, containers: Containers
) -> None:
    """A filter with an id MUST leave only the stats of that container.

    Source: ContainerStatsFilter.id.
    """
    containers.running()

    assert selected(runtime, id=running_container.id) == [running_container.id]


@requirement("STA-16")
def test_list_of_stats_filters_by_sandbox(
    runtime: Runtime, containers: Containers, own_sandbox: Sandbox
) -> None:
    """A filter with a sandbox MUST leave only the stats of its containers.

    Source: ContainerStatsFilter.pod_sandbox_id.
    """
    containers.running()
    inside = containers.running(in_sandbox=own_sandbox)

    assert selected(runtime, pod_sandbox_id=own_sandbox.id) == [inside.id]


@requirement("STA-16")
def test_list_of_stats_filters_by_all_labels_together(runtime: Runtime, containers: Containers) -> None:
    """A filter with labels MUST leave only the stats of containers that have every one of them.

    Source: ContainerStatsFilter.label_selector.
    """
    mark = secrets.token_hex(8)
    wanted = {"mark": mark, "colour": "green"}
    container = containers.running(labels=wanted)
    for other in ({"colour": "red"}, {"mark": secrets.token_hex(8)}):
        containers.running(labels=wanted | other)

    assert selected(runtime, label_selector=wanted) == [container.id]


@requirement("STA-16")
def test_fields_of_a_filter_of_stats_hold_together(
    runtime: Runtime, running_container: Container, containers: Containers, own_sandbox: Sandbox
) -> None:
    """A container whose id fits and whose sandbox does not MUST be left out.

    Source: ContainerStatsFilter.
    """
    containers.running(in_sandbox=own_sandbox)

    assert selected(runtime, id=running_container.id, pod_sandbox_id=own_sandbox.id) == []


@requirement("STA-29/start")
def test_stats_can_be_asked_for_right_after_the_start(runtime: Runtime, container: Container) -> None:
    """ContainerStats right after StartContainer MUST not fail, and tell whose stats they are.

    Source: ContainerStats.
    """
    runtime.stub.StartContainer(cri.StartContainerRequest(container_id=container.id))

    stats = runtime.stub.ContainerStats(cri.ContainerStatsRequest(container_id=container.id)).stats

    assert stats.attributes.id == container.id
