"""NET: ports of the node that lead to a pod."""

import socket
from collections.abc import Callable

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers, yielding
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.runtime import Runtime, may_be_refused
from critests.fixtures.sandboxes import Sandboxes
from critests.fixtures.session import Observe
from critests.lifecycle.containers import Container
from critests.lifecycle.process import host_processes
from critests.lifecycle.requests import HOST_NETWORK
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import disruptive, requirement, requires
from critests.run.outcomes import blocked
from critests.validation.networking.connections import Node, socket_beside, until_it_listens

Greet = Callable[..., Container]
ProcessOf = Callable[[Sandbox], int]
UdpServer = Callable[[Sandbox, int], socket.socket]

CONTAINER_PORT = 7200

pytestmark = requires(Capability.HOST_PORTS, Capability.SAME_HOST)


@pytest.fixture
def greet(containers: Containers) -> Greet:
    """Run a server in a sandbox that says a word to whoever connects, and wait until it listens."""

    def start(sandbox: Sandbox, word: str = "welcome", port: int = CONTAINER_PORT) -> Container:
        # busybox's nc: -ll takes one connection after the other, -e runs a program for each
        container = containers.running(
            command=yielding("nc", "-ll", "-p", str(port), "-e", "echo", word), in_sandbox=sandbox
        )
        until_it_listens(container, port)
        return container

    return start


@pytest.fixture
def process_of(containers: Containers) -> ProcessOf:
    """Start a process in a sandbox, and return its number on this machine: beside it a test can have sockets
    of its own, where busybox has no server that would do.
    """

    def start(sandbox: Sandbox) -> int:
        # a command that does nothing, but is to be seen in the process table
        nothing = f": {sandbox.id}"
        containers.running(first=nothing, on_term="exit 0", in_sandbox=sandbox)
        return min(host_processes(nothing), default=0) or blocked(
            "the pod's processes cannot be seen from here; run the suite in the PID namespace of the machine"
        )

    return start


@pytest.fixture
def udp_server(process_of: ProcessOf) -> UdpServer:
    """Bind a port inside a sandbox, and return the socket: what answers there is the test itself."""

    def bind(sandbox: Sandbox, port: int) -> socket.socket:
        server = socket_beside(process_of(sandbox), socket.SOCK_DGRAM)
        server.bind(("", port))
        return server

    return bind


@pytest.fixture
def _sctp() -> None:
    """Blocks what needs SCTP where the kernel does not have it."""
    try:
        socket.socket(type=socket.SOCK_STREAM, proto=socket.IPPROTO_SCTP).close()
    except OSError as error:
        blocked(
            f"needs SCTP, which the kernel of this machine does not have ({error.strerror}); modprobe sctp"
        )


def tcp(host_port: int, host_ip: str = "", container_port: int = CONTAINER_PORT) -> cri.PortMapping:
    """Return the mapping of a port with TCP."""
    return cri.PortMapping(
        protocol=cri.TCP, container_port=container_port, host_port=host_port, host_ip=host_ip
    )


@requirement("NET-26")
def test_host_port_leads_to_the_pod(sandboxes: Sandboxes, greet: Greet, node: Node) -> None:
    """A TCP connection to a mapped port of the node MUST reach the container's port.

    Source: PortMapping.host_port and container_port.
    """
    port = node.free_port()
    greet(sandboxes.ready(port_mappings=[tcp(port)]))

    assert node.hears(port) == "welcome"


@requirement("NET-26")
def test_host_ports_lead_each_to_their_own(sandboxes: Sandboxes, greet: Greet, node: Node) -> None:
    """Several mapped ports of one pod MUST each reach their own port of the container.

    Source: PodSandboxConfig.port_mappings.
    """
    ports = {node.free_port(): CONTAINER_PORT, node.free_port(): CONTAINER_PORT + 1}
    pod = sandboxes.ready(
        port_mappings=[tcp(host_port, container_port=inner) for host_port, inner in ports.items()]
    )
    for inner in ports.values():
        greet(pod, f"this is {inner}", inner)

    answers = {inner: node.hears(host_port) for host_port, inner in ports.items()}

    assert answers == {inner: f"this is {inner}" for inner in ports.values()}


@requires(Capability.ROOT)
@requirement("NET-27/udp")
def test_host_port_leads_to_the_pod_with_udp(sandboxes: Sandboxes, udp_server: UdpServer, node: Node) -> None:
    """A datagram to a port that is mapped with UDP MUST reach the pod, and its answer MUST come back.

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
def test_host_port_leads_to_the_pod_with_sctp(
    sandboxes: Sandboxes, process_of: ProcessOf, node: Node
) -> None:
    """An association with a port that is mapped with SCTP SHOULD reach the pod.

    Source: PortMapping.protocol.
    """
    port = node.free_port()
    pod = sandboxes.ready(
        port_mappings=[cri.PortMapping(protocol=cri.SCTP, container_port=CONTAINER_PORT, host_port=port)]
    )

    with socket_beside(process_of(pod), socket.SOCK_STREAM, socket.IPPROTO_SCTP) as server:
        server.settimeout(node.patience)
        server.bind(("", CONTAINER_PORT))
        server.listen()
        with node.association(port) as client:
            taken, _ = server.accept()
            with taken:
                taken.sendall(b"welcome")
            assert client.recv(4096) == b"welcome"


@requirement("NET-28")
@pytest.mark.parametrize("bound_to", ["loopback", "an address of the node"])
def test_host_ip_restricts_a_host_port(sandboxes: Sandboxes, greet: Greet, node: Node, bound_to: str) -> None:
    """A host port with an address SHOULD be reached at that address of the node, and at no other.

    Source: PortMapping.host_ip.
    """
    port, addresses = node.free_port(), ["127.0.0.1", node.address]
    own, other = addresses if bound_to == "loopback" else addresses[::-1]
    greet(sandboxes.ready(port_mappings=[tcp(port, own)]))

    assert node.hears(port, own) == "welcome"
    assert not node.reaches(port, other)


@requirement("NET-29")
def test_host_port_zero_exposes_nothing(sandboxes: Sandboxes, greet: Greet, node: Node) -> None:
    """A mapping with host port 0 MUST expose nothing: the container's port is reached at the pod only, not at
    the node.

    Source: PortMapping.host_port, which 0 leaves unset.
    """
    port = node.free_port()
    pod = sandboxes.ready(port_mappings=[tcp(0, container_port=port)])
    greet(pod, pod.id, port)

    assert not node.reaches(port)
    # a port that was chosen at random would be one of those that the kernel gives away
    assert node.port_that_says(pod.id) is None

    assert node.hears(port, pod.status().network.ip) == pod.id


@requirement("NET-30")
@disruptive
@pytest.mark.parametrize("ports", [(65536, 80), (-1, 80), (1, 0)], ids=["too high", "below 0", "none inside"])
def test_ports_that_are_none_are_refused_or_ignored(
    module_runtime: OwnRuntime, node: Node, ports: tuple[int, int]
) -> None:
    """RunPodSandbox with a port that is none SHOULD be refused, or make a pod that can be removed; then other
    host ports work.

    Source: PortMapping.host_port and container_port, which are ports.
    """
    sandboxes, (host_port, container_port) = module_runtime.sandboxes, ports

    wrong: list[Sandbox] = []
    with may_be_refused():
        wrong.append(
            sandboxes.attempt(sandboxes.config(port_mappings=[tcp(host_port, container_port=container_port)]))
        )
    for pod in wrong:
        pod.discard()

    good = sandboxes.attempt(sandboxes.config(port_mappings=[tcp(node.free_port())]))
    assert good.state() == cri.SANDBOX_READY


@requirement("NET-31")
def test_what_becomes_of_a_host_port_that_is_asked_for_twice(
    sandboxes: Sandboxes, greet: Greet, node: Node, observe: Observe
) -> None:
    """A second pod with the host port of another MAY be refused, or take the port over or get nothing; the
    first stays READY.

    Source: PortMapping.host_port. The CRI does not say; the kubelet's scheduler prevents it.
    """
    port = node.free_port()
    first = sandboxes.ready(port_mappings=[tcp(port)])
    greet(first, "the first")

    seconds: list[Sandbox] = []
    with may_be_refused():
        seconds.append(sandboxes.attempt(sandboxes.config(port_mappings=[tcp(port)])))
    for pod in seconds:
        greet(pod, "the second")

    observe(f"the second pod is {'made' if seconds else 'refused'}; {node.hears(port)} answers")
    assert first.state() == cri.SANDBOX_READY


@requirement("NET-32")
@pytest.mark.parametrize("seen_from", ["the pod itself", "another pod"])
def test_host_port_is_reached_from_pods(
    sandboxes: Sandboxes, greet: Greet, containers: Containers, node: Node, seen_from: str
) -> None:
    """A mapped port of the node SHOULD be reached from other pods, and from the very pod that it leads to.

    Source: PortMapping; not stated by the CRI, applications do not know where their peers run.
    """
    port = node.free_port()
    server = greet(sandboxes.ready(port_mappings=[tcp(port)]))
    client = server if seen_from == "the pod itself" else containers.running()

    answer = client.exec("nc", "-w", "5", node.address, str(port))

    assert answer.stdout == b"welcome\n", answer.stderr


@requirement("NET-34")
def test_host_port_is_free_after_its_sandbox(
    runtime: Runtime, sandboxes: Sandboxes, greet: Greet, node: Node
) -> None:
    """A mapped port MUST lead nowhere once its sandbox is stopped, and a new sandbox MUST be able to have it
    at once.

    Source: StopPodSandbox, PortMapping.host_port.
    """
    port = node.free_port()
    first = sandboxes.ready(port_mappings=[tcp(port)])
    greet(first, "the first")

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=first.id))

    assert not node.reaches(port)
    greet(sandboxes.ready(port_mappings=[tcp(port)]), "the second")
    assert node.hears(port) == "the second"


@requires(Capability.ROOT)
@requirement("NET-35")
def test_host_port_with_udp_follows_the_next_sandbox(
    runtime: Runtime, sandboxes: Sandboxes, udp_server: UdpServer, node: Node
) -> None:
    """Datagrams of a client that goes on sending SHOULD reach the next pod that has the host port, and not
    the address of the one before.

    Source: PortMapping, StopPodSandbox. Not stated by the CRI; the kernel remembers whom it has led where.
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
    sandboxes: Sandboxes, greet: Greet, node: Node
) -> None:
    """For a pod on the node's network, port mappings SHOULD be ignored: its ports are the node's already.

    Source: PodSandboxConfig.port_mappings, NamespaceMode.NODE.
    """
    mapped, own = node.free_port(), node.free_port()
    pod = sandboxes.ready(port_mappings=[tcp(mapped, container_port=own)], namespaces=HOST_NETWORK)
    greet(pod, port=own)

    assert not node.reaches(mapped)
    assert node.hears(own) == "welcome"
