"""NET: the address and the interfaces of a pod."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    HOST_NETWORK,
    Capability,
    Container,
    Containers,
    Runtime,
    Sandbox,
    Sandboxes,
    objects_of,
    requirement,
    requires,
    yielding,
)
from critests.validation.networking.connections import Node, echo, until_it_listens

PORT = 7100

pytestmark = requires(Capability.POD_NETWORK)


@pytest.fixture
def greeter(containers: Containers) -> Container:
    """A container in the shared sandbox that sends a greeting to each client of `PORT`."""
    # busybox's nc: -ll accepts one connection after another, -e runs a program for each
    container = containers.running(command=yielding("nc", "-ll", "-p", str(PORT), "-e", "echo", "welcome"))
    until_it_listens(container, PORT)
    return container


def objects_in(value: object) -> Iterator[dict[str, Any]]:
    """Yield every object inside a JSON value, at any depth."""
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from objects_in(inner)


@requirement("NET-11")
def test_address_of_a_pod_is_on_its_interface(
    runtime: Runtime, sandbox: Sandbox, running_container: Container
) -> None:
    """PodSandboxStatus MUST report an address of an interface inside the pod.

    Source: PodSandboxNetworkStatus.ip.
    """
    response = runtime.stub.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox.id))

    interfaces = running_container.output("ip", "-o", "addr")
    assert f" {response.status.network.ip}/" in interfaces


@requires(Capability.SAME_HOST)
@requirement("NET-11")
def test_address_of_a_pod_is_reachable_from_the_node(greeter: Container, node: Node) -> None:
    """A server in a pod MUST be reachable at the pod's address from the node.

    Source: PodSandboxNetworkStatus.ip; the network model of Kubernetes.
    """
    assert greeter.state() == cri.CONTAINER_RUNNING

    assert node.greeting(PORT, greeter.sandbox.status().network.ip) == "welcome"


@requirement("NET-11")
def test_address_of_a_pod_is_reachable_from_another_pod(
    greeter: Container, sandboxes: Sandboxes, containers: Containers
) -> None:
    """A server in a pod MUST be reachable at the pod's address from another pod.

    Source: PodSandboxNetworkStatus.ip; the network model of Kubernetes.
    """
    assert greeter.state() == cri.CONTAINER_RUNNING
    address = greeter.sandbox.status().network.ip

    other = containers.running(in_sandbox=sandboxes.ready())
    # at most 5 s: a dropped SYN gets no reply
    assert other.exec("nc", "-w", "5", address, str(PORT)).stdout == b"welcome\n"


@requirement("NET-12/v4")
def test_loopback_of_a_pod_is_up(running_container: Container) -> None:
    """The loopback interface of a pod MUST be up and have 127.0.0.1.

    Source: RunPodSandbox; the CNI's loopback plugin.
    """
    link, addresses = (
        running_container.output("ip", "-o", what, "show", "dev", "lo") for what in ("link", "addr")
    )

    # `1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 …`
    assert "UP" in link.partition("<")[2].partition(">")[0].split(",")
    assert " 127.0.0.1/8 " in addresses


@requires(Capability.IPV6)
@requirement("NET-12/v6")
def test_loopback_of_a_pod_has_its_ipv6_address(running_container: Container) -> None:
    """The loopback interface of a pod SHOULD have ::1 if the kernel has IPv6.

    Source: RunPodSandbox; the CNI's loopback plugin.
    """
    addresses = running_container.output("ip", "-o", "addr", "show", "dev", "lo")

    assert " ::1/128 " in addresses


@requirement("NET-13")
def test_pods_created_concurrently_have_unique_addresses(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """Pods that are created at the same time MUST each get an address of their own.

    Source: PodSandboxNetworkStatus.ip.
    """
    configs = [sandboxes.config() for _ in range(4)]
    calls = [runtime.stub.RunPodSandbox.future(sandboxes.creation(config)) for config in configs]

    pods = [
        sandboxes.adopt(call.result().pod_sandbox_id, config)
        for call, config in zip(calls, configs, strict=True)
    ]

    addresses = [pod.status().network.ip for pod in pods]
    assert all(addresses)
    assert len(set(addresses)) == 4


@requires(Capability.SHARED_KERNEL, Capability.ROOT)
@requirement("NET-16")
def test_pod_on_the_nodes_network_shares_its_interfaces(sandboxes: Sandboxes, containers: Containers) -> None:
    """The containers of a pod on the node's network MUST be in the node's network namespace.

    Source: NamespaceOption.network, NamespaceMode.NODE.
    """
    pod = sandboxes.ready(namespaces=HOST_NETWORK)

    container = containers.running(in_sandbox=pod)

    assert container.output("readlink", "/proc/1/ns/net") == str(Path("/proc/self/ns/net").readlink())


@requires(Capability.SAME_HOST)
@requirement("NET-37")
def test_pod_network_survives_the_exit_of_a_container(containers: Containers, node: Node) -> None:
    """A connection to one container of a pod MUST stay open when another container of the pod fails and is
    replaced.

    Source: RunPodSandbox: the network belongs to the pod.
    """
    # a server that echoes
    server = containers.running(command=yielding("nc", "-ll", "-p", "7101", "-e", "cat"))
    until_it_listens(server, 7101)
    with node.connected(server.sandbox.status().network.ip, 7101) as connection:
        assert echo(connection, b"before") == b"before"

        # as after a segmentation fault: 128 + SIGSEGV (11)
        containers.exited(script="exit 139")
        replacement = containers.running()

        assert echo(connection, b"after") == b"after"
    assert replacement.output("readlink", "/proc/self/ns/net") == server.output(
        "readlink", "/proc/self/ns/net"
    )


@requires(Capability.SHARED_KERNEL, Capability.ROOT, Capability.SANDBOX_PROCESS)
@requirement("NET-38")
def test_verbose_status_reports_the_network_namespace(
    runtime: Runtime, sandbox: Sandbox, running_container: Container
) -> None:
    """PodSandboxStatus SHOULD report the path of the pod's network namespace in its verbose `info`, and the
    path be that of the containers' namespace.

    Source: PodSandboxStatusResponse.info; not stated by the CRI, tools that inspect pods depend on it.
    """
    info = runtime.stub.PodSandboxStatus(
        cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox.id, verbose=True)
    ).info

    objects = [entry for value in objects_of(info) for entry in objects_in(value)]
    paths = [entry["path"] for entry in objects if entry.get("type") == "network" and entry.get("path")]
    assert paths, "no path of a network namespace in the verbose status"
    namespace = running_container.output("readlink", "/proc/1/ns/net")
    # files of one namespace have one inode, namespaces(7)
    assert {f"net:[{runtime.seen_by_daemon(Path(path)).stat().st_ino}]" for path in paths} == {namespace}
