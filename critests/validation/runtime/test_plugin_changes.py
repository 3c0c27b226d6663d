"""NRI: changes that plugins of the Node Resource Interface make to containers, as the kernel shows them."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.api import nri_pb2 as nri
from critests.fixtures.nri import environment, limited
from critests.node.nri.ttrpc import TtrpcError
from critests.testing import (
    INSIDE,
    CgroupValues,
    Container,
    PluginFactory,
    RecordVariant,
    blocked,
    disruptive,
    may_be_refused,
    requirement,
    unsupported,
)
from critests.validation.resources.cpus import another_cpu

pytestmark = disruptive

MIB = 1 << 20
# other values than those of `BEFORE`: they show who has set the limit that is in force
QUOTA = nri.LinuxCPU(quota=nri.OptionalInt64(value=70_000), period=nri.OptionalUInt64(value=100_000))
MEMORY = nri.LinuxMemory(limit=nri.OptionalInt64(value=96 * MIB), swap=nri.OptionalInt64(value=96 * MIB))
LIMITS = nri.LinuxResources(cpu=QUOTA, memory=MEMORY)
"""Limits that plugins request."""
REQUESTED = (70_000, 96 * MIB)
"""CPU quota and memory limit of `LIMITS`."""
Limits = tuple[int | None, int | None]
BEFORE = cri.LinuxContainerResources(
    cpu_quota=40_000,
    cpu_period=100_000,
    memory_limit_in_bytes=64 * MIB,
    memory_swap_limit_in_bytes=64 * MIB,
)
"""Resources with which containers are created."""


def cgroup_of(container: Container) -> CgroupValues:
    """Return the values of a container's cgroup."""
    return CgroupValues.printed(container.output("/bin/sh", "-c", INSIDE))


def limits_in_force(container: Container) -> Limits:
    """Return the CPU quota and the memory limit of a container's cgroup."""
    cgroup = cgroup_of(container)
    return cgroup.cpu_quota, cgroup.memory


def reported_limits(container: Container) -> set[Limits]:
    """Return the CPU quota and the memory limit in the cgroup and in ContainerStatus: one element if both
    agree.
    """
    linux = container.status().resources.linux
    return {limits_in_force(container), (linux.cpu_quota, linux.memory_limit_in_bytes)}


@dataclass(frozen=True)
class Adjustment:
    """Something that a plugin adds to a container, and how the container shows it.

    Attributes:
        adjust: builds it; gets a directory of the host.
        script: run in the container.
        output: the output of that script.
        newer: whether versions of the NRI before 0.7, which pass no request timeout, do not know it.
    """

    adjust: Callable[[Path], nri.ContainerAdjustment]
    script: str
    output: str
    newer: bool = False


def _linux(**parts: object) -> nri.ContainerAdjustment:
    # the type of a value depends on its name
    return nri.ContainerAdjustment(linux=nri.LinuxContainerAdjustment(**parts))  # type: ignore[arg-type]  # see above


def _mounted(folder: Path) -> nri.ContainerAdjustment:
    (folder / "file").write_text("from the host\n", encoding="utf-8")
    options = ["rbind", "ro"]
    mount = nri.Mount(destination="/from-plugin", type="bind", source=str(folder), options=options)
    return nri.ContainerAdjustment(mounts=[mount])


def _hooked(folder: Path) -> nri.ContainerAdjustment:
    path = folder / "ran"
    hook = nri.Hook(path="/bin/sh", args=["sh", "-c", f"echo ran > {path}"])
    mount = nri.Mount(destination="/from-plugin", type="bind", source=str(folder), options=["rbind"])
    # the OCI runtime runs this hook in its own namespaces, so the path is one of the host
    return nri.ContainerAdjustment(hooks=nri.Hooks(create_runtime=[hook]), mounts=[mount])


ADJUSTMENTS = {
    "variable": Adjustment(
        lambda _: environment(FROM_PLUGIN="yes").adjust,
        "tr '\\0' '\\n' </proc/1/environ | grep ^FROM_PLUGIN=",
        "FROM_PLUGIN=yes",
    ),
    "mount": Adjustment(_mounted, "cat /from-plugin/file", "from the host"),
    "device": Adjustment(
        lambda _: _linux(
            devices=[
                nri.LinuxDevice(
                    path="/dev/from-plugin",
                    type="c",
                    # the numbers of /dev/null, which every container may open
                    major=1,
                    minor=3,
                    file_mode=nri.OptionalUInt32(value=0o640),
                    uid=nri.OptionalUInt32(value=1234),
                    gid=nri.OptionalUInt32(value=2345),
                )
            ]
        ),
        "stat -c '%F %t:%T %u:%g %a' /dev/from-plugin && echo x > /dev/from-plugin",
        "character special file 1:3 1234:2345 640",
    ),
    "rlimit": Adjustment(
        lambda _: nri.ContainerAdjustment(
            # below the usual limits: raising a hard limit needs CAP_SYS_RESOURCE, setrlimit(2)
            rlimits=[nri.POSIXRlimit(type="RLIMIT_NOFILE", soft=123, hard=456)]
        ),
        "grep '^Max open files' /proc/1/limits | tr -s ' '",
        "Max open files 123 456 files",
    ),
    "score": Adjustment(
        # a higher score, as lowering it needs CAP_SYS_RESOURCE, proc(5)
        lambda _: _linux(oom_score_adj=nri.OptionalInt64(value=987)),
        "cat /proc/1/oom_score_adj",
        "987",
        newer=True,
    ),
    "hook": Adjustment(_hooked, "cat /from-plugin/ran", "ran"),
}


@requirement("NRI-03")
@pytest.mark.parametrize("what", ADJUSTMENTS)
def test_adjustment_by_a_plugin_is_in_effect(plugins: PluginFactory, host_folder: Path, what: str) -> None:
    """A plugin's adjustment of a new container MUST be in effect when the container runs.

    Source: the NRI's ContainerAdjustment.
    """
    adjustment = ADJUSTMENTS[what]
    adjust = adjustment.adjust(host_folder)
    plugin = plugins.connect(CreateContainer=lambda _: nri.CreateContainerResponse(adjust=adjust))
    if adjustment.newer and plugin.configuration and not plugin.configuration.request_timeout:
        unsupported("NRI: versions before 0.7, which pass no request timeout, do not know this adjustment")

    container = plugins.runtime.containers.attempt(
        plugins.runtime.containers.config(), in_sandbox=plugins.pod
    )

    assert container.output("/bin/sh", "-c", adjustment.script).strip() == adjustment.output


@requirement("NRI-03")
def test_limits_that_a_plugin_sets_are_in_force(plugins: PluginFactory) -> None:
    """Limits that a plugin sets for a new container MUST be in force in place of the requested ones.

    Source: the NRI's LinuxContainerAdjustment.resources.
    """
    plugins.connect(CreateContainer=lambda _: nri.CreateContainerResponse(adjust=_linux(resources=LIMITS)))
    config = plugins.runtime.containers.config(resources=BEFORE)

    container = plugins.runtime.containers.attempt(config, in_sandbox=plugins.pod)

    assert limits_in_force(container) == REQUESTED


@requirement("NRI-03")
def test_cpus_that_a_plugin_sets_are_in_force(plugins: PluginFactory) -> None:
    """A new container MUST run only on the CPUs, and with memory of the nodes, that a plugin sets.

    Source: the NRI's LinuxCPU.cpus and mems.
    """
    cpu = another_cpu()
    resources = nri.LinuxResources(cpu=nri.LinuxCPU(cpus=str(cpu), mems="0"))
    plugins.connect(CreateContainer=lambda _: nri.CreateContainerResponse(adjust=_linux(resources=resources)))

    container = plugins.runtime.containers.attempt(
        plugins.runtime.containers.config(), in_sandbox=plugins.pod
    )

    cgroup = cgroup_of(container)
    assert (cgroup.cpus, cgroup.mems) == (frozenset({cpu}), frozenset({0}))


@requirement("NRI-03")
def test_annotations_of_a_plugin_reach_the_oci_runtime(plugins: PluginFactory) -> None:
    """Annotations that a plugin adds to a new container MUST be passed to the OCI runtime.

    Source: the NRI's ContainerAdjustment.annotations.
    """
    adjust = nri.ContainerAdjustment(annotations={"critests.example/from-plugin": "yes"})
    plugins.connect(CreateContainer=lambda _: nri.CreateContainerResponse(adjust=adjust))

    container = plugins.runtime.containers.attempt(
        plugins.runtime.containers.config(), in_sandbox=plugins.pod
    )

    bundles = [path for path in plugins.runtime.daemon.files_of(container.id) if path.name == "config.json"]
    if not bundles:
        blocked("the bundle of the container was not found at this runtime's usual path")
    annotations = json.loads(bundles[0].read_text(encoding="utf-8"))["annotations"]
    assert annotations.get("critests.example/from-plugin") == "yes"


@requirement("NRI-03")
def test_a_plugin_changes_the_command(plugins: PluginFactory) -> None:
    """Arguments that a plugin sets for a new container MUST be those of its process.

    Source: the NRI's ContainerAdjustment.args.
    """
    command = ["/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done", "changed"]
    # an empty first argument: the others replace those of any other plugin
    changed = nri.CreateContainerResponse(adjust=nri.ContainerAdjustment(args=["", *command]))
    plugin = plugins.connect(every_event=True, CreateContainer=lambda _: changed)

    container = plugins.runtime.containers.attempt(
        plugins.runtime.containers.config(), in_sandbox=plugins.pod
    )

    if "ValidateContainerAdjustment" not in plugin.event_names:
        unsupported(
            "NRI: versions before 0.10, which do not validate adjustments, cannot change arguments either"
        )
    assert container.output("/bin/sh", "-c", "tr '\\0' '\\n' </proc/1/cmdline").splitlines() == command


@requirement("NRI-04")
def test_conflicting_plugins_fail_create_container(plugins: PluginFactory) -> None:
    """CreateContainer MUST fail if two plugins set the same environment variable, and MUST succeed if only
    one of them does.

    Source: the NRI's ContainerAdjustment, each part of which belongs to one plugin.
    """
    runtime, containers = plugins.runtime, plugins.runtime.containers
    plugins.connect("40", CreateContainer=lambda _: environment(CONTESTED="first"))
    second = plugins.connect("50")
    config = containers.config()

    with second.hooked("CreateContainer", lambda _: environment(CONTESTED="second")):
        runtime.refusal(runtime.stub.CreateContainer, containers.creation(config, plugins.pod))

    created = containers.attempt(config, in_sandbox=plugins.pod)
    assert created.output("/bin/sh", "-c", "echo $CONTESTED").strip() == "first"


@requirement("NRI-06")
def test_a_plugin_changes_a_running_container(plugins: PluginFactory) -> None:
    """Limits that a plugin requests for a running container MUST be in force, and ContainerStatus MUST report
    them.

    Source: the NRI's Runtime service, UpdateContainers; ContainerStatus.resources.
    """
    container = plugins.runtime.containers.running(in_sandbox=plugins.pod, resources=BEFORE)
    plugin = plugins.connect()

    response = plugin.update(nri.UpdateContainersRequest(update=[limited(container.id, LIMITS)]))

    assert list(response.failed) == []
    assert reported_limits(container) == {REQUESTED}


@requirement("NRI-21")
def test_a_plugin_changes_another_container_during_create_container(plugins: PluginFactory) -> None:
    """Limits and CPUs that a plugin sets for a running container in its response to CreateContainer of
    another one MUST be in force, and ContainerStatus MUST report them.

    Source: the NRI's CreateContainerResponse.update; ContainerStatus.resources.
    """
    runtime, cpu = plugins.runtime, another_cpu()
    running = runtime.containers.running(in_sandbox=plugins.pod, resources=BEFORE)
    limits = nri.LinuxResources(cpu=nri.LinuxCPU(cpus=str(cpu), mems="0"))
    limits.MergeFrom(LIMITS)
    plugins.connect(
        CreateContainer=lambda _: nri.CreateContainerResponse(update=[limited(running.id, limits)])
    )

    created = runtime.containers.attempt(runtime.containers.config(), in_sandbox=plugins.pod)

    assert created.state() == cri.CONTAINER_RUNNING
    assert reported_limits(running) == {REQUESTED}
    assert cgroup_of(running).cpus == frozenset({cpu})


@requirement("NRI-07")
def test_an_update_passes_through_the_plugins(plugins: PluginFactory) -> None:
    """A plugin MUST receive the resources of UpdateContainerResources; the resources that it returns MUST be
    in force, and ContainerStatus MUST report them.

    Source: the NRI's Plugin service, UpdateContainer; ContainerStatus.resources.
    """
    container = plugins.runtime.containers.running(in_sandbox=plugins.pod, resources=BEFORE)
    plugin = plugins.connect(
        UpdateContainer=lambda event: nri.UpdateContainerResponse(
            update=[limited(event.container.id, LIMITS)]
        )
    )
    resources = cri.LinuxContainerResources(cpu_quota=50_000, cpu_period=100_000)

    plugins.runtime.stub.UpdateContainerResources(
        cri.UpdateContainerResourcesRequest(container_id=container.id, linux=resources)
    )

    event = plugin.first("UpdateContainer", container.id)
    assert event is not None
    assert event.request.linux_resources.cpu.quota.value == 50_000
    assert reported_limits(container) == {REQUESTED}


@requirement("NRI-14")
def test_eviction_of_a_container_by_a_plugin(plugins: PluginFactory, record_variant: RecordVariant) -> None:
    """A container whose eviction a plugin requests MAY be stopped or keep running.

    Source: the NRI's UpdateContainersRequest.evict, which the NRI's own library does not implement so far.
    """
    container = plugins.runtime.container(plugins.pod)
    plugin = plugins.connect()
    eviction = nri.ContainerEviction(container_id=container.id, reason="a test")

    try:
        plugin.update(nri.UpdateContainersRequest(evict=[eviction]))
    except TtrpcError:
        record_variant("is refused")
    else:
        record_variant("stops the container" if container.state() == cri.CONTAINER_EXITED else "does nothing")

    with may_be_refused():
        container.status()
    assert plugins.runtime.damage() == ""
