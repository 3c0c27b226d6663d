"""NET: names: the resolver's configuration and the hostname of a pod."""

import socket
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers, lingering
from critests.fixtures.runtime import Runtime, refused_with
from critests.fixtures.sandboxes import Sandboxes
from critests.fixtures.session import Observe
from critests.lifecycle.requests import HOST_NETWORK
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import requirement, requires

Resolver = dict[str, list[str]]
ResolverOf = Callable[[Sandbox], Resolver]

ORDERED = cri.DNSConfig(
    servers=["192.0.2.53", "198.51.100.53"],
    searches=["b.example", "a.example", "c.example"],
    options=["ndots:5", "timeout:3"],
)
# the GNU C library took three servers and, until 2.26, six searches of 256 characters together
MORE_THAN_RESOLVERS_TAKE = cri.DNSConfig(
    servers=[f"192.0.2.{number}" for number in range(1, 6)],
    searches=[f"{'x' * 60}.{number}.example" for number in range(1, 9)],
)
# the kernel takes 64 bytes, sethostname(2); a label of DNS has 63
HOSTNAMES = {"63 characters": "h" * 63, "64 characters": "h" * 64, "with dots": "pod.sub.example"}


def words_of(text: str) -> Resolver:
    """Return the words behind each keyword of a resolv.conf, in order, over all its lines."""
    found: Resolver = {}
    for line in text.splitlines():
        words = line.split()
        # both begin comments, resolv.conf(5)
        if words and words[0][0] not in "#;":
            found.setdefault(words[0], []).extend(words[1:])
    return found


@pytest.fixture
def resolver_of(containers: Containers) -> ResolverOf:
    """Read the resolver's configuration in a container of a sandbox."""

    def read(sandbox: Sandbox) -> Resolver:
        return words_of(containers.running(in_sandbox=sandbox).output("cat", "/etc/resolv.conf"))

    return read


@pytest.fixture
def nodes_resolver(runtime: Runtime) -> Resolver:
    """The resolver's configuration of the node, as its daemon sees it."""
    return words_of(runtime.seen_by_daemon(Path("/etc/resolv.conf")).read_text(encoding="utf-8"))


@requirement("NET-01")
def test_dns_configuration_is_written_in_its_order(sandboxes: Sandboxes, resolver_of: ResolverOf) -> None:
    """Servers, searches and options MUST stand in the containers' resolv.conf in the order in which they were
    given, and no others.

    Source: PodSandboxConfig.dns_config.
    """
    sandbox = sandboxes.ready(dns_config=ORDERED)

    seen = resolver_of(sandbox)

    assert seen.get("nameserver") == list(ORDERED.servers)
    assert seen.get("search") == list(ORDERED.searches)
    assert seen.get("options") == list(ORDERED.options)


@requires(Capability.SAME_HOST)
@requirement("NET-02")
def test_pod_without_dns_configuration_has_the_nodes(
    sandboxes: Sandboxes, resolver_of: ResolverOf, nodes_resolver: Resolver
) -> None:
    """Without a DNS configuration, the containers' resolv.conf SHOULD say what the node's says.

    Source: PodSandboxConfig.dns_config.
    """
    seen = resolver_of(sandboxes.ready())

    assert seen == nodes_resolver


@requires(Capability.SAME_HOST)
@requirement("NET-03")
def test_pod_with_empty_dns_configuration(
    sandboxes: Sandboxes, resolver_of: ResolverOf, nodes_resolver: Resolver, observe: Observe
) -> None:
    """An empty DNS configuration MAY give an empty resolv.conf or the node's, and nothing else.

    Source: PodSandboxConfig.dns_config; the CRI does not say.
    """
    seen = resolver_of(sandboxes.ready(dns_config=cri.DNSConfig()))

    observe("the node's" if seen else "empty")
    assert seen in ({}, nodes_resolver)


@requirement("NET-04")
def test_dns_configuration_is_not_cut(sandboxes: Sandboxes, resolver_of: ResolverOf) -> None:
    """More servers and longer searches than old resolvers take SHOULD be written as they are, since limits
    are the kubelet's.

    Source: PodSandboxConfig.dns_config.
    """
    sandbox = sandboxes.ready(dns_config=MORE_THAN_RESOLVERS_TAKE)

    seen = resolver_of(sandbox)

    assert seen.get("nameserver") == list(MORE_THAN_RESOLVERS_TAKE.servers)
    assert seen.get("search") == list(MORE_THAN_RESOLVERS_TAKE.searches)


@requirement("NET-05")
def test_resolver_is_the_same_in_all_containers(sandboxes: Sandboxes, resolver_of: ResolverOf) -> None:
    """All containers of a pod SHOULD have the same resolv.conf.

    Source: PodSandboxConfig.dns_config, which belongs to the pod.
    """
    sandbox = sandboxes.ready(dns_config=ORDERED)

    first, second = (resolver_of(sandbox) for _ in range(2))

    assert first == second
    assert first.get("nameserver") == list(ORDERED.servers)


@requirement("NET-06")
def test_hostname_is_seen_in_every_way(sandboxes: Sandboxes, containers: Containers) -> None:
    """The hostname of a pod MUST be the kernel's in its containers, and stand in /etc/hostname and in
    HOSTNAME.

    Source: PodSandboxConfig.hostname.
    """
    sandbox = sandboxes.ready(hostname="one-of-a-kind")

    container = containers.exited(
        script=lingering("uname -n; cat /etc/hostname; env | grep ^HOSTNAME="), in_sandbox=sandbox
    )

    assert container.log_lines() == ["one-of-a-kind", "one-of-a-kind", "HOSTNAME=one-of-a-kind"]


@requirement("NET-06")
def test_hostname_is_the_same_in_all_containers(sandboxes: Sandboxes, containers: Containers) -> None:
    """Every container of a pod, and every command in it, MUST see the pod's hostname.

    Source: PodSandboxConfig.hostname.
    """
    sandbox = sandboxes.ready(hostname="shared-by-all")

    names = [
        containers.running(in_sandbox=sandbox).output("sh", "-c", "hostname; cat /etc/hostname").splitlines()
        for _ in range(2)
    ]

    assert names == [["shared-by-all"] * 2] * 2


@requires(Capability.SAME_HOST)
@requirement("NET-07")
def test_hostname_on_the_nodes_network(sandboxes: Sandboxes, containers: Containers) -> None:
    """A pod on the node's network for which no hostname is given MUST have the node's.

    Source: PodSandboxConfig.hostname, NamespaceMode.NODE.
    """
    sandbox = sandboxes.ready(namespaces=HOST_NETWORK, hostname="")

    container = containers.exited(script=lingering("hostname; cat /etc/hostname"), in_sandbox=sandbox)

    assert container.log_lines() == [socket.gethostname()] * 2


@requirement("NET-08")
def test_form_of_a_pod_without_hostname(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers, observe: Observe
) -> None:
    """A pod with a network of its own for which no hostname is given MAY be refused or get one of the
    runtime's choice.

    Source: PodSandboxConfig.hostname; the CRI does not say.
    """
    config = runtime.requests.sandbox(hostname="")

    try:
        answer = runtime.stub.RunPodSandbox(sandboxes.creation(config))
    except grpc.RpcError as error:
        observe(f"is refused with {refused_with(error).name}")
        return

    container = containers.exited(
        script=lingering("hostname"), in_sandbox=sandboxes.adopt(answer.pod_sandbox_id, config)
    )
    name = "".join(container.log_lines())
    observe("the node's" if name == socket.gethostname() else "one that is made up")
    assert name


@requirement("NET-09")
def test_form_of_a_hostname_on_the_node(
    runtime: Runtime, sandboxes: Sandboxes, observe: Observe, containers: Containers
) -> None:
    """A hostname for a pod on the node's network MAY be refused, ignored or used; the node keeps its own.

    Source: PodSandboxConfig.hostname; the CRI does not say.
    """
    nodes = socket.gethostname()
    config = runtime.requests.sandbox(hostname="not-the-nodes", namespaces=HOST_NETWORK)

    try:
        answer = runtime.stub.RunPodSandbox(sandboxes.creation(config))
    except grpc.RpcError as error:
        observe(f"is refused with {refused_with(error).name}")
    else:
        container = containers.exited(
            script=lingering("hostname"), in_sandbox=sandboxes.adopt(answer.pod_sandbox_id, config)
        )
        name = "".join(container.log_lines())
        observe("is ignored" if name == nodes else "is used")
        assert name in {nodes, "not-the-nodes"}

    assert socket.gethostname() == nodes


@requirement("NET-10")
@pytest.mark.parametrize("hostname", HOSTNAMES.values(), ids=HOSTNAMES)
def test_hostname_may_be_as_long_as_the_kernel_takes(
    sandboxes: Sandboxes, containers: Containers, hostname: str
) -> None:
    """A hostname of up to 64 characters, and one with dots, SHOULD be set as it is.

    Source: PodSandboxConfig.hostname; sethostname(2).
    """
    sandbox = sandboxes.ready(hostname=hostname)

    assert containers.exited(script=lingering("hostname"), in_sandbox=sandbox).log_lines() == [hostname]
