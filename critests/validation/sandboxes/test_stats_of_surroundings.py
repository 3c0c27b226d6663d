"""STA: PodSandboxStats, compared with the pod's interfaces and processes."""

from pathlib import PurePosixPath

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    HOST_NETWORK,
    Capability,
    Container,
    Containers,
    OwnRuntime,
    ProcessTree,
    RecordVariant,
    Runtime,
    Sandbox,
    Sandboxes,
    blocked,
    disruptive,
    first_process,
    folders_of_process,
    requirement,
    requires,
    unsupported,
)

pytestmark = requires(Capability.POD_STATS)

STATS_SECONDS = 30.0
"""Runtimes refresh their figures about every ten seconds."""
SEND_PACKETS = "set -- $(ip route | grep ^default); nc -w 1 $3 9 </dev/null 2>&1; :"
"""Tries to connect to the pod's gateway, port 9 (discard), which sends a packet or two."""


def stats_of(runtime: Runtime, pod: Sandbox) -> cri.LinuxPodSandboxStats:
    """Return the stats of a pod."""
    return runtime.stub.PodSandboxStats(cri.PodSandboxStatsRequest(pod_sandbox_id=pod.id)).stats.linux


def network_of(runtime: Runtime, pod: Sandbox) -> cri.NetworkUsage:
    """Return the traffic of a pod; unsupported if the runtime reports none."""
    linux = stats_of(runtime, pod)
    if not linux.HasField("network"):
        unsupported("network usage of pods: absent from PodSandboxStats")
    return linux.network


def interface_of(container: Container) -> str:
    """Return the name of the interface inside a pod that has the pod's IP address."""
    address = container.sandbox.status().network.ip
    # `2: eth0    inet 10.0.0.2/24 brd …`
    names = [
        line.split()[1]
        for line in container.output("ip", "-o", "addr").splitlines()
        if f" {address}/" in line
    ]
    if not names:
        blocked(f"no interface inside the pod has its IP address {address!r}")
    return names[0].rstrip(":").partition("@")[0]


def tasks_in(pod: Sandbox, process: int) -> int:
    """Return how many processes and threads the kernel counts in the cgroup of a pod.

    Args:
        pod: the pod whose cgroup is the parent of the containers' cgroups.
        process: PID of a process of one of its containers, on the machine.
    """
    name = PurePosixPath(pod.config.linux.cgroup_parent).name
    counters = [
        above / "pids.current"
        for folder in folders_of_process(process)
        for above in folder.parents
        if above.name == name and (above / "pids.current").is_file()
    ]
    if not counters:
        blocked("the cgroup of the pod does not count its processes here")
    return int(counters[0].read_text(encoding="ascii"))


@requirement("STA-18")
@pytest.mark.parametrize("block", ["cpu", "memory", "network", "process"])
def test_stats_of_a_sandbox_have_every_block(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, block: str
) -> None:
    """PodSandboxStats of a pod with a cgroup MUST report its CPU time, memory, traffic and processes.

    Source: LinuxPodSandboxStats, LinuxPodSandboxConfig.cgroup_parent. With cgroup v1 it may report less.
    """
    containers.running(in_sandbox=own_sandbox)

    linux = stats_of(runtime, own_sandbox)

    if not linux.HasField(block) and not runtime.has(Capability.CGROUP_V2):
        unsupported(f"{block} of pods: absent from PodSandboxStats, with cgroup v1")
    reported = {
        "cpu": linux.cpu.usage_core_nano_seconds.value,
        "memory": linux.memory.working_set_bytes.value,
        "network": len(linux.network.default_interface.name),
        "process": linux.process.process_count.value,
    }
    assert reported[block] > 0


@requirement("STA-20/default")
@requires(Capability.POD_NETWORK)
def test_default_interface_in_stats_has_the_address_of_the_pod(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """NetworkUsage.default_interface MUST be the interface inside the pod that has the pod's IP address.

    Source: NetworkUsage.default_interface.
    """
    container = containers.running(in_sandbox=own_sandbox)

    network = network_of(runtime, own_sandbox)

    assert network.default_interface.name == interface_of(container)


@requirement("STA-20/default")
@requires(Capability.POD_NETWORK, Capability.SHARED_KERNEL)
@pytest.mark.parametrize("direction", ["rx", "tx"])
def test_traffic_in_stats_follows_the_counters_of_the_pod(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, direction: str
) -> None:
    """NetworkInterfaceUsage.rx_bytes and tx_bytes MUST follow the kernel's counters of the interface inside
    the pod.

    Source: NetworkInterfaceUsage.rx_bytes, tx_bytes.
    """
    container = containers.running(in_sandbox=own_sandbox)
    name = interface_of(container)
    counter = f"/sys/class/net/{name}/statistics/{direction}_bytes"
    container.exec("/bin/sh", "-c", SEND_PACKETS)
    # read before the stats, which may be older by some seconds but must reach this value
    counted = int(container.output("cat", counter))

    def reported() -> int:
        network = network_of(runtime, own_sandbox)
        interfaces = {each.name: each for each in (network.default_interface, *network.interfaces)}
        return int(getattr(interfaces[name], f"{direction}_bytes").value) if name in interfaces else -1

    seen = runtime.eventually(
        f"at least {counted} bytes of {direction}", reported, STATS_SECONDS, lambda value: value >= counted
    )

    assert seen <= int(container.output("cat", counter))


@requirement("STA-20/others")
@requires(Capability.POD_NETWORK)
def test_default_interface_in_stats_is_not_among_the_others(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """NetworkUsage.interfaces SHOULD list each other interface once, and not the default one.

    Source: NetworkUsage.interfaces.
    """
    containers.running(in_sandbox=own_sandbox)

    network = network_of(runtime, own_sandbox)

    others = [each.name for each in network.interfaces]
    assert network.default_interface.name not in others
    assert len(set(others)) == len(others)


@requirement("STA-21")
def test_stats_of_a_pod_on_the_nodes_network(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers, record_variant: RecordVariant
) -> None:
    """PodSandboxStats of a pod on the node's network MAY report the node's traffic or none; it MUST return.

    Source: LinuxPodSandboxStats.network.
    """
    pod = sandboxes.ready(namespaces=HOST_NETWORK)
    containers.running(in_sandbox=pod)

    linux = stats_of(runtime, pod)

    if not linux.HasField("network"):
        record_variant("no traffic")
    else:
        record_variant(
            "traffic" if linux.network.default_interface.name else "traffic without a default interface"
        )


@requirement("STA-22")
@requires(Capability.SHARED_KERNEL, Capability.SAME_HOST, Capability.ROOT)
def test_processes_in_stats_are_those_of_the_pod(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """ProcessUsage.process_count SHOULD be at least the number of the containers' processes, and at most what
    the kernel counts in the pod's cgroup.

    Source: ProcessUsage.process_count. Not stated by the CRI whether the sandbox process and threads count.
    """
    tree = ProcessTree()
    containers.running(script=tree.script, wait_for_log="ready", in_sandbox=own_sandbox)
    least, process = min(len(tree.alive()), tree.SIZE), first_process(tree.mark)
    before = tasks_in(own_sandbox, process)

    linux = stats_of(runtime, own_sandbox)

    if not linux.HasField("process"):
        unsupported("processes of pods: absent from PodSandboxStats")
    # the larger of two readings, as threads may come and go meanwhile
    most = max(before, tasks_in(own_sandbox, process))
    assert least <= linux.process.process_count.value <= most


@requirement("STA-31")
@disruptive
def test_a_sandbox_without_a_cgroup_parent_does_not_fail_the_list_of_stats(own_runtime: OwnRuntime) -> None:
    """ListPodSandboxStats SHOULD return the stats of the others if a sandbox has no cgroup parent.

    Source: ListPodSandboxStats, LinuxPodSandboxConfig.cgroup_parent. Not stated by the CRI; otherwise a node
    agent gets no stats of any pod.
    """
    pod = own_runtime.sandbox()
    config = own_runtime.sandboxes.config()
    config.linux.ClearField("cgroup_parent")
    own_runtime.sandboxes.ready(config)

    response = own_runtime.stub.ListPodSandboxStats(cri.ListPodSandboxStatsRequest())

    assert pod.id in [each.attributes.id for each in response.stats]
