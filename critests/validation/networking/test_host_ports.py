"""NET: host ports of pods."""

import socket
from collections.abc import Callable

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    HOST_NETWORK,
    Capability,
    Container,
    Containers,
    OwnRuntime,
    RecordVariant,
    Runtime,
    Sandbox,
    Sandboxes,
    blocked,
    disruptive,
    host_processes,
    may_be_refused,
    requirement,
    requires,
    yielding,
)
from critests.validation.networking.connections import Node, socket_in_namespace_of, until_it_listens

RunServer = Callable[..., Container]
ProcessOf = Callable[[Sandbox], int]
UdpServer = Callable[[Sandbox, int], socket.socket]

CONTAINER_PORT = 7200

pytestmark = requires(Capability.HOST_PORTS, Capability.SAME_HOST)


@pytest.fixture
def run_server(containers: Containers) -> RunServer:
    """Runs a server in a sandbox that sends a word to each client, and waits until it listens."""

    def run(sandbox: Sandbox, word: str = "welcome", port: int = CONTAINER_PORT) -> Container:
        # busybox's nc: -ll accepts one connection after another, -e runs a program for each
        container = containers.running(
            command=yielding("nc", "-ll", "-p", str(port), "-e", "echo", word), in_sandbox=sandbox
        )
        until_it_listens(container, port)
        return container

    return run


@pytest.fixture
def process_of(containers: Containers) -> ProcessOf:
    """Starts a process in a sandbox and returns its PID in this namespace, so that a test can open sockets in
    its network namespace: busybox has no UDP or SCTP server that would serve.
    """

    def run(sandbox: Sandbox) -> int:
        # a command without effect, by which the process table shows the container's process
        marker = f": {sandbox.id}"
        containers.running(first=marker, on_term="exit 0", in_sandbox=sandbox)
        return min(host_processes(marker), default=0) or blocked(
            "the process table lacks the pod's processes; run the suite in the PID namespace of the machine"
        )

    return run


@pytest.fixture
def udp_server(process_of: ProcessOf) -> UdpServer:
    """Binds a UDP port inside a sandbox and returns the socket, on which the test itself replies."""

    def bind(sandbox: Sandbox, port: int) -> socket.socket:
        server = socket_in_namespace_of(process_of(sandbox), socket.SOCK_DGRAM)
        server.bind(("", port))
        return server

    return bind


@pytest.fixture
def _sctp() -> None:
    """Blocks tests that need SCTP if the kernel does not have it."""
    try:
        socket.socket(type=socket.SOCK_STREAM, proto=socket.IPPROTO_SCTP).close()
    except OSError as error:
        blocked(
            f"needs SCTP, which the kernel of this machine does not have ({error.strerror}); modprobe sctp"
        )


def tcp(host_port: int, host_ip: str = "", container_port: int = CONTAINER_PORT) -> cri.PortMapping:
    """Return a mapping of a TCP port."""
    return cri.PortMapping(
        protocol=cri.TCP, container_port=container_port, host_port=host_port, host_ip=host_ip
    )


@requirement("NET-26")
def test_host_port_reaches_the_pod(sandboxes: Sandboxes, run_server: RunServer, node: Node) -> None:
    """A TCP connection to a host port MUST reach the container's port.

    Source: PortMapping.host_port and container_port.
    """
    port = node.free_port()
    run_server(sandboxes.ready(port_mappings=[tcp(port)]))

    assert node.greeting(port) == "welcome"


@requirement("NET-26")
def test_several_host_ports_reach_their_container_ports(
    sandboxes: Sandboxes, run_server: RunServer, node: Node
) -> None:
    """PodSandboxConfig with several host ports MUST map each to its own container port.

    Source: PodSandboxConfig.port_mappings.
    """
    ports = {node.free_port(): CONTAINER_PORT, node.free_port(): CONTAINER_PORT + 1}
    pod = sandboxes.ready(
        port_mappings=[
            tcp(host_port, container_port=container_port) for host_port, container_port in ports.items()
        ]
    )
    for container_port in ports.values():
        run_server(pod, f"this is {container_port}", container_port)

    answers = {container_port: node.greeting(host_port) for host_port, container_port in ports.items()}

    assert answers == {container_port: f"this is {container_port}" for container_port in ports.values()}


@requires(Capability.ROOT)
@requirement("NET-27/udp")
def test_host_port_reaches_the_pod_with_udp(sandboxes: Sandboxes, udp_server: UdpServer, node: Node) -> None:
    """A UDP datagram to a host port MUST reach the pod, and the reply MUST reach the sender.

    Source: PortMapping.protocol.
    """
    port = node.free_port()
    pod = sandboxes.ready(
        port_mappings=[cri.PortMapping(protocol=cri.UDP, container_port=CONTAINER_PORT, host_port=port)]
    )

    with udp_server(pod, CONTAINER_PORT) as server, socket.socket(type=socket.SOCK_DGRAM) as client:
        client.sendto(b"question", (node.address, port))
        question, sender = node.datagram(server)
        assert question == b"question"
        server.sendto(b"answer", sender)
        assert node.datagram(client)[0] == b"answer"


@requires(Capability.ROOT)
@requirement("NET-27/sctp")
@pytest.mark.usefixtures("_sctp")
def test_host_port_reaches_the_pod_with_sctp(sandboxes: Sandboxes, process_of: ProcessOf, node: Node) -> None:
    """An SCTP association with a host port SHOULD reach the pod.

    Source: PortMapping.protocol.
    """
    port = node.free_port()
    pod = sandboxes.ready(
        port_mappings=[cri.PortMapping(protocol=cri.SCTP, container_port=CONTAINER_PORT, host_port=port)]
    )

    with socket_in_namespace_of(process_of(pod), socket.SOCK_STREAM, socket.IPPROTO_SCTP) as server:
        server.settimeout(node.timeout)
        server.bind(("", CONTAINER_PORT))
        server.listen()
        with node.association(port) as client:
            accepted, _ = server.accept()
            with accepted:
                accepted.sendall(b"welcome")
            assert client.recv(4096) == b"welcome"


@requirement("NET-28")
@pytest.mark.parametrize("bound_to", ["loopback", "an address of the node"])
def test_host_ip_restricts_a_host_port(
    sandboxes: Sandboxes, run_server: RunServer, node: Node, bound_to: str
) -> None:
    """A host port with `host_ip` SHOULD be reachable at that address of the node, and at no other.

    Source: PortMapping.host_ip.
    """
    port, addresses = node.free_port(), ["127.0.0.1", node.address]
    own, other = addresses if bound_to == "loopback" else addresses[::-1]
    run_server(sandboxes.ready(port_mappings=[tcp(port, own)]))

    assert node.greeting(port, own) == "welcome"
    assert not node.reaches(port, other)


@requirement("NET-29")
def test_host_port_zero_exposes_nothing(sandboxes: Sandboxes, run_server: RunServer, node: Node) -> None:
    """A mapping with host port 0 MUST NOT expose anything on the node: the container's port is reachable at
    the pod's address only.

    Source: PortMapping.host_port, where 0 means unset.
    """
    port = node.free_port()
    pod = sandboxes.ready(port_mappings=[tcp(0, container_port=port)])
    run_server(pod, pod.id, port)

    assert not node.reaches(port)
    # a port of the runtime's choice would be in the kernel's ephemeral range
    assert node.ephemeral_port_that_sends(pod.id) is None

    assert node.greeting(port, pod.status().network.ip) == pod.id


@requirement("NET-30")
@disruptive
@pytest.mark.parametrize(
    "ports", [(65536, 80), (-1, 80), (1, 0)], ids=["too high", "below 0", "no container port"]
)
def test_invalid_ports_are_refused_or_ignored(
    module_runtime: OwnRuntime, node: Node, ports: tuple[int, int]
) -> None:
    """RunPodSandbox with an invalid port SHOULD be rejected, or return a pod that can be removed; host ports
    of other pods work afterwards.

    Source: PortMapping.host_port and container_port, which are ports.
    """
    sandboxes, (host_port, container_port) = module_runtime.sandboxes, ports

    invalid: list[Sandbox] = []
    with may_be_refused():
        invalid.append(
            sandboxes.attempt(sandboxes.config(port_mappings=[tcp(host_port, container_port=container_port)]))
        )
    for pod in invalid:
        pod.discard()

    good = sandboxes.attempt(sandboxes.config(port_mappings=[tcp(node.free_port())]))
    assert good.state() == cri.SANDBOX_READY


@requirement("NET-31")
def test_form_of_a_host_port_requested_twice(
    sandboxes: Sandboxes, run_server: RunServer, node: Node, record_variant: RecordVariant
) -> None:
    """A second pod with the same host port MAY be rejected, take the port over, or get no connections; the
    first pod stays READY.

    Source: PortMapping.host_port. The CRI does not say; the kubelet's scheduler prevents it.
    """
    port = node.free_port()
    first = sandboxes.ready(port_mappings=[tcp(port)])
    run_server(first, "the first")

    seconds: list[Sandbox] = []
    with may_be_refused():
        seconds.append(sandboxes.attempt(sandboxes.config(port_mappings=[tcp(port)])))
    for pod in seconds:
        run_server(pod, "the second")

    record_variant(f"the second pod is {'made' if seconds else 'refused'}; {node.greeting(port)} answers")
    assert first.state() == cri.SANDBOX_READY


@requirement("NET-32")
@pytest.mark.parametrize("seen_from", ["the pod itself", "another pod"])
def test_host_port_is_reachable_from_pods(
    sandboxes: Sandboxes, run_server: RunServer, containers: Containers, node: Node, seen_from: str
) -> None:
    """A host port SHOULD be reachable from other pods, and from the pod itself that it leads to.

    Source: PortMapping; not stated by the CRI, applications do not know on which node their peers run.
    """
    port = node.free_port()
    server = run_server(sandboxes.ready(port_mappings=[tcp(port)]))
    client = server if seen_from == "the pod itself" else containers.running()

    # at most 5 s: a dropped SYN gets no reply
    response = client.exec("nc", "-w", "5", node.address, str(port))

    assert response.stdout == b"welcome\n", response.stderr


@requirement("NET-34")
def test_host_port_is_released_with_its_sandbox(
    runtime: Runtime, sandboxes: Sandboxes, run_server: RunServer, node: Node
) -> None:
    """A host port MUST be closed once its sandbox is stopped, and MUST be available to a new sandbox at once.

    Source: StopPodSandbox, PortMapping.host_port.
    """
    port = node.free_port()
    first = sandboxes.ready(port_mappings=[tcp(port)])
    run_server(first, "the first")

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=first.id))

    assert not node.reaches(port)
    run_server(sandboxes.ready(port_mappings=[tcp(port)]), "the second")
    assert node.greeting(port) == "the second"


@requires(Capability.ROOT)
@requirement("NET-35")
def test_host_port_with_udp_follows_the_next_sandbox(
    runtime: Runtime, sandboxes: Sandboxes, udp_server: UdpServer, node: Node
) -> None:
    """UDP datagrams from one client port to a host port SHOULD reach the next pod with that host port, not
    the address of the previous pod.

    Source: PortMapping, StopPodSandbox. Not stated by the CRI; connection tracking of the kernel remembers
    the old destination of the client's port.
    """
    port = node.free_port()
    mapping = cri.PortMapping(protocol=cri.UDP, container_port=CONTAINER_PORT, host_port=port)
    first = sandboxes.ready(port_mappings=[mapping])

    with socket.socket(type=socket.SOCK_DGRAM) as client:
        with udp_server(first, CONTAINER_PORT) as server:
            client.sendto(b"to the first", (node.address, port))
            assert node.datagram(server)[0] == b"to the first"
        runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=first.id))
        with udp_server(sandboxes.ready(port_mappings=[mapping]), CONTAINER_PORT) as server:
            client.sendto(b"to the second", (node.address, port))
            assert node.datagram(server)[0] == b"to the second"


@requirement("NET-36")
def test_port_mappings_are_ignored_on_the_nodes_network(
    sandboxes: Sandboxes, run_server: RunServer, node: Node
) -> None:
    """The port mappings of a pod on the node's network SHOULD be ignored: its ports are the node's already.

    Source: PodSandboxConfig.port_mappings, NamespaceMode.NODE.
    """
    mapped, own = node.free_port(), node.free_port()
    pod = sandboxes.ready(port_mappings=[tcp(mapped, container_port=own)], namespaces=HOST_NETWORK)
    run_server(pod, port=own)

    assert not node.reaches(mapped)
    assert node.greeting(own) == "welcome"
