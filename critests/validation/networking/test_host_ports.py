"""NET: ports of the node that lead to a pod."""

import socket
from collections.abc import Callable

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import ContainerFactory, yielding
from critests.fixtures.runtime import Runtime
from critests.fixtures.sandboxes import SandboxFactory
from critests.lifecycle.containers import Container
from critests.lifecycle.process import host_processes
from critests.lifecycle.sandboxes import Sandbox
from critests.node.addresses import free_port, node_address
from critests.run.marks import requirement, requires
from critests.validation.networking.connections import (
    datagram,
    heard,
    reached,
    socket_beside,
)

Greet = Callable[..., Container]

CONTAINER_PORT = 7200
REFUSED_SECONDS = 1.0
"""How long a connection is given that must not come about; refusals come at once, and what is thrown away
never answers.
"""
HOST_NETWORK = cri.NamespaceOption(network=cri.NODE, pid=cri.CONTAINER, ipc=cri.POD)

pytestmark = requires(Capability.HOST_PORTS, Capability.SAME_HOST)


@pytest.fixture
def greet(runtime: Runtime, running: ContainerFactory) -> Greet:
    """Run a server in a sandbox that says a word to whoever connects, and wait until it listens."""

    def start(sandbox: Sandbox, word: str = "welcome", port: int = CONTAINER_PORT) -> Container:
        container = running(
            command=yielding("nc", "-ll", "-p", str(port), "-e", "echo", word), in_sandbox=sandbox
        )
        listening = f":{port} "
        runtime.eventually(
            "a listener", lambda: container.output("netstat", "-ltn"), holds=lambda seen: listening in seen
        )
        return container

    return start


def tcp(host_port: int, host_ip: str = "", container_port: int = CONTAINER_PORT) -> cri.PortMapping:
    """Return the mapping of a port with TCP."""
    return cri.PortMapping(
        protocol=cri.TCP, container_port=container_port, host_port=host_port, host_ip=host_ip
    )


@requirement("NET-26")
def test_host_port_leads_to_the_pod(new_sandbox: SandboxFactory, greet: Greet, patience: float) -> None:
    """A TCP connection to a mapped port of the node MUST reach the container's port.

    Source: PortMapping.host_port and container_port.
    """
    port = free_port()
    greet(new_sandbox(port_mappings=[tcp(port)]))

    assert heard(node_address(), port, patience) == "welcome"


@requirement("NET-26")
def test_host_ports_lead_each_to_their_own(
    new_sandbox: SandboxFactory, greet: Greet, patience: float
) -> None:
    """Several mapped ports of one pod MUST each reach their own port of the container.

    Source: PodSandboxConfig.port_mappings.
    """
    ports = {free_port(): CONTAINER_PORT, free_port(): CONTAINER_PORT + 1}
    pod = new_sandbox(
        port_mappings=[tcp(host_port, container_port=inner) for host_port, inner in ports.items()]
    )
    for inner in ports.values():
        greet(pod, f"this is {inner}", inner)

    said = {inner: heard(node_address(), host_port, patience) for host_port, inner in ports.items()}

    assert said == {inner: f"this is {inner}" for inner in ports.values()}


@requires(Capability.ROOT)
@requirement("NET-27/udp")
def test_host_port_leads_to_the_pod_with_udp(
    new_sandbox: SandboxFactory, running: ContainerFactory, patience: float
) -> None:
    """A datagram to a port that is mapped with UDP MUST reach the pod, and its answer MUST come back.

    Source: PortMapping.protocol.
    """
    port = free_port()
    pod = new_sandbox(
        port_mappings=[cri.PortMapping(protocol=cri.UDP, container_port=CONTAINER_PORT, host_port=port)]
    )
    running(script=f"echo begun; sleep 300; echo {pod.id}", in_sandbox=pod, wait_for_log="begun")
    inside = min(host_processes(f"echo {pod.id}"))

    with socket_beside(inside, socket.SOCK_DGRAM) as server, socket.socket(type=socket.SOCK_DGRAM) as client:
        server.bind(("", CONTAINER_PORT))
        client.sendto(b"question", (node_address(), port))
        question, sender = datagram(server, patience)
        assert question == b"question"
        server.sendto(b"answer", sender)
        assert datagram(client, patience)[0] == b"answer"


@requirement("NET-28")
@pytest.mark.parametrize("bound_to", ["loopback", "an address of the node"])
def test_host_ip_restricts_a_host_port(
    new_sandbox: SandboxFactory, greet: Greet, patience: float, bound_to: str
) -> None:
    """A host port with an address SHOULD be reached at that address of the node, and at no other.

    Source: PortMapping.host_ip.
    """
    port, addresses = free_port(), ["127.0.0.1", node_address()]
    own, other = addresses if bound_to == "loopback" else addresses[::-1]
    greet(new_sandbox(port_mappings=[tcp(port, own)]))

    assert heard(own, port, patience) == "welcome"
    assert not reached(other, port, REFUSED_SECONDS)


@requirement("NET-29")
def test_host_port_zero_exposes_nothing(
    runtime: Runtime, new_sandbox: SandboxFactory, greet: Greet, patience: float
) -> None:
    """A mapping with host port 0 MUST expose nothing: the container's port is reached at the pod only, not at
    the node.

    Source: PortMapping.host_port, which 0 leaves unset.
    """
    port = free_port()
    pod = new_sandbox(port_mappings=[tcp(0, container_port=port)])
    greet(pod, port=port)

    assert not reached(node_address(), port, REFUSED_SECONDS)

    address = runtime.stub.PodSandboxStatus(
        cri.PodSandboxStatusRequest(pod_sandbox_id=pod.id)
    ).status.network.ip
    assert heard(address, port, patience) == "welcome"


@requirement("NET-32")
@pytest.mark.parametrize("seen_from", ["the pod itself", "another pod"])
def test_host_port_is_reached_from_pods(
    new_sandbox: SandboxFactory, sandbox: Sandbox, greet: Greet, running: ContainerFactory, seen_from: str
) -> None:
    """A mapped port of the node SHOULD be reached from other pods, and from the very pod that it leads to.

    Source: PortMapping; not stated by the CRI, applications do not know where their peers run.
    """
    port = free_port()
    server = greet(new_sandbox(port_mappings=[tcp(port)]))
    client = server if seen_from == "the pod itself" else running(in_sandbox=sandbox)

    answer = client.exec("nc", "-w", "5", node_address(), str(port))

    assert answer.stdout == b"welcome\n", answer.stderr


@requirement("NET-34")
def test_host_port_is_free_after_its_sandbox(
    runtime: Runtime, new_sandbox: SandboxFactory, greet: Greet, patience: float
) -> None:
    """A mapped port MUST lead nowhere once its sandbox is stopped, and a new sandbox MUST be able to have it
    at once.

    Source: StopPodSandbox, PortMapping.host_port.
    """
    port = free_port()
    first = new_sandbox(port_mappings=[tcp(port)])
    greet(first, "the first")

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=first.id))

    assert not reached(node_address(), port, REFUSED_SECONDS)
    greet(new_sandbox(port_mappings=[tcp(port)]), "the second")
    assert heard(node_address(), port, patience) == "the second"


@requirement("NET-36")
def test_port_mappings_are_ignored_on_the_nodes_network(
    new_sandbox: SandboxFactory, greet: Greet, patience: float
) -> None:
    """For a pod on the node's network, port mappings SHOULD be ignored: its ports are the node's already.

    Source: PodSandboxConfig.port_mappings, NamespaceMode.NODE.
    """
    mapped, own = free_port(), free_port()
    pod = new_sandbox(port_mappings=[tcp(mapped, container_port=own)], namespaces=HOST_NETWORK)
    greet(pod, port=own)

    assert not reached(node_address(), mapped, REFUSED_SECONDS)
    assert heard(node_address(), own, patience) == "welcome"
