"""NET: the resolver configuration and the hostname of a pod."""

import socket
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    HOST_NETWORK,
    Capability,
    Containers,
    RecordVariant,
    Runtime,
    Sandbox,
    Sandboxes,
    lingering,
    refused_with,
    requirement,
    requires,
)

Resolver = dict[str, list[str]]
ResolverOf = Callable[[Sandbox], Resolver]

# addresses and domains that are reserved for documentation, RFC 5737 and RFC 2606; not in sorted order
ORDERED = cri.DNSConfig(
    servers=["192.0.2.53", "198.51.100.53"],
    searches=["b.example", "a.example", "c.example"],
    options=["ndots:5", "timeout:3"],
)
# the GNU C library uses three servers and, before 2.26, six searches of 256 characters together
MORE_THAN_RESOLVERS_TAKE = cri.DNSConfig(
    servers=[f"192.0.2.{number}" for number in range(1, 6)],
    searches=[f"{'x' * 60}.{number}.example" for number in range(1, 9)],
)
# the kernel accepts 64 bytes, sethostname(2); a DNS label has at most 63
HOSTNAMES = {"63 characters": "h" * 63, "64 characters": "h" * 64, "with dots": "pod.sub.example"}


def parsed_resolv_conf(text: str) -> Resolver:
    """Return the values of each keyword of a resolv.conf, in order, over all its lines."""
    found: Resolver = {}
    for line in text.splitlines():
        words = line.split()
        # both start comments, resolv.conf(5)
        if words and words[0][0] not in "#;":
            found.setdefault(words[0], []).extend(words[1:])
    return found


@pytest.fixture
def resolver_of(containers: Containers) -> ResolverOf:
    """Reads the resolver configuration in a container of a sandbox."""

    def read(sandbox: Sandbox) -> Resolver:
        return parsed_resolv_conf(containers.running(in_sandbox=sandbox).output("cat", "/etc/resolv.conf"))

    return read


@pytest.fixture
def nodes_resolver(runtime: Runtime) -> Resolver:
    """The resolver configuration of the node, in the mount namespace of the daemon."""
    return parsed_resolv_conf(runtime.seen_by_daemon(Path("/etc/resolv.conf")).read_text(encoding="utf-8"))


@requirement("NET-01")
def test_dns_configuration_is_written_in_order(sandboxes: Sandboxes, resolver_of: ResolverOf) -> None:
    """The containers' resolv.conf MUST have the servers, searches and options of the request in their order,
    and no others.

    Source: PodSandboxConfig.dns_config.
    """
    sandbox = sandboxes.ready(dns_config=ORDERED)

    resolver = resolver_of(sandbox)

    assert resolver.get("nameserver") == list(ORDERED.servers)
    assert resolver.get("search") == list(ORDERED.searches)
    assert resolver.get("options") == list(ORDERED.options)


@requires(Capability.SAME_HOST)
@requirement("NET-02")
def test_pod_without_dns_configuration_has_that_of_the_node(
    sandboxes: Sandboxes, resolver_of: ResolverOf, nodes_resolver: Resolver
) -> None:
    """The containers' resolv.conf SHOULD equal the node's if the request has no DNS configuration.

    Source: PodSandboxConfig.dns_config.
    """
    resolver = resolver_of(sandboxes.ready())

    assert resolver == nodes_resolver


@requires(Capability.SAME_HOST)
@requirement("NET-03")
def test_pod_with_empty_dns_configuration(
    sandboxes: Sandboxes, resolver_of: ResolverOf, nodes_resolver: Resolver, record_variant: RecordVariant
) -> None:
    """An empty DNS configuration MAY result in an empty resolv.conf or the node's, and in nothing else.

    Source: PodSandboxConfig.dns_config; the CRI does not say.
    """
    resolver = resolver_of(sandboxes.ready(dns_config=cri.DNSConfig()))

    record_variant("the node's" if resolver else "empty")
    assert resolver in ({}, nodes_resolver)


@requirement("NET-04")
def test_dns_configuration_is_not_truncated(sandboxes: Sandboxes, resolver_of: ResolverOf) -> None:
    """The containers' resolv.conf SHOULD have all servers and searches of the request, even more than old
    resolvers use, as the kubelet enforces the limits.

    Source: PodSandboxConfig.dns_config.
    """
    sandbox = sandboxes.ready(dns_config=MORE_THAN_RESOLVERS_TAKE)

    resolver = resolver_of(sandbox)

    assert resolver.get("nameserver") == list(MORE_THAN_RESOLVERS_TAKE.servers)
    assert resolver.get("search") == list(MORE_THAN_RESOLVERS_TAKE.searches)


@requirement("NET-41")
@pytest.mark.parametrize("root", ["writable", "read-only"])
def test_resolver_can_be_written_unless_the_root_is_read_only(
    sandboxes: Sandboxes, containers: Containers, root: str
) -> None:
    """The containers' resolv.conf SHOULD be writable, and not with `readonly_rootfs`.

    Source: LinuxContainerSecurityContext.readonly_rootfs, which alone makes files of a container read-only.
    """
    read_only = root == "read-only"
    container = containers.running(
        in_sandbox=sandboxes.ready(dns_config=ORDERED),
        security_context=cri.LinuxContainerSecurityContext(readonly_rootfs=read_only),
    )

    written = container.exec("/bin/sh", "-c", "echo '# written' >> /etc/resolv.conf").exit_code == 0

    assert written is not read_only


@requirement("NET-05")
def test_resolver_is_the_same_in_all_containers(sandboxes: Sandboxes, resolver_of: ResolverOf) -> None:
    """The resolv.conf SHOULD be the same in all containers of a pod.

    Source: PodSandboxConfig.dns_config, which belongs to the pod.
    """
    sandbox = sandboxes.ready(dns_config=ORDERED)

    first, second = (resolver_of(sandbox) for _ in range(2))

    assert first == second
    assert first.get("nameserver") == list(ORDERED.servers)


@requirement("NET-06")
def test_hostname_is_reported_in_every_way(sandboxes: Sandboxes, containers: Containers) -> None:
    """The hostname of a pod MUST be the result of uname(2) in its containers, the text of /etc/hostname and
    the value of HOSTNAME.

    Source: PodSandboxConfig.hostname.
    """
    sandbox = sandboxes.ready(hostname="one-of-a-kind")

    container = containers.exited(
        script=lingering("uname -n; cat /etc/hostname; env | grep ^HOSTNAME="), in_sandbox=sandbox
    )

    assert container.log_lines() == ["one-of-a-kind", "one-of-a-kind", "HOSTNAME=one-of-a-kind"]


@requirement("NET-06")
def test_hostname_is_the_same_in_all_containers(sandboxes: Sandboxes, containers: Containers) -> None:
    """The hostname of a pod MUST be the same in all its containers, and in every command that runs in them.

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
    """A pod on the node's network without a `hostname` MUST have the node's hostname.

    Source: PodSandboxConfig.hostname, NamespaceMode.NODE.
    """
    sandbox = sandboxes.ready(namespaces=HOST_NETWORK, hostname="")

    container = containers.exited(script=lingering("hostname; cat /etc/hostname"), in_sandbox=sandbox)

    assert container.log_lines() == [socket.gethostname()] * 2


@requirement("NET-08")
def test_form_of_a_pod_without_hostname(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers, record_variant: RecordVariant
) -> None:
    """A pod with a network of its own and no `hostname` MAY be rejected, or get a generated name.

    Source: PodSandboxConfig.hostname; the CRI does not say.
    """
    config = runtime.requests.sandbox(hostname="")

    try:
        response = runtime.stub.RunPodSandbox(sandboxes.creation(config))
    except grpc.RpcError as error:
        record_variant(f"is refused with {refused_with(error).name}")
        return

    container = containers.exited(
        script=lingering("hostname"), in_sandbox=sandboxes.adopt(response.pod_sandbox_id, config)
    )
    name = "".join(container.log_lines())
    record_variant("the node's" if name == socket.gethostname() else "one that is made up")
    assert name


@requirement("NET-09")
def test_form_of_a_hostname_on_the_node(
    runtime: Runtime, sandboxes: Sandboxes, record_variant: RecordVariant, containers: Containers
) -> None:
    """A `hostname` on the node's network MAY be rejected, ignored or used; the node's own does not change.

    Source: PodSandboxConfig.hostname; the CRI does not say.
    """
    node_hostname = socket.gethostname()
    config = runtime.requests.sandbox(hostname="not-the-nodes", namespaces=HOST_NETWORK)

    try:
        response = runtime.stub.RunPodSandbox(sandboxes.creation(config))
    except grpc.RpcError as error:
        record_variant(f"is refused with {refused_with(error).name}")
    else:
        container = containers.exited(
            script=lingering("hostname"), in_sandbox=sandboxes.adopt(response.pod_sandbox_id, config)
        )
        name = "".join(container.log_lines())
        record_variant("is ignored" if name == node_hostname else "is used")
        assert name in {node_hostname, "not-the-nodes"}

    assert socket.gethostname() == node_hostname


@requirement("NET-10")
@pytest.mark.parametrize("hostname", HOSTNAMES.values(), ids=HOSTNAMES)
def test_long_and_dotted_hostnames_are_unchanged(
    sandboxes: Sandboxes, containers: Containers, hostname: str
) -> None:
    """A `hostname` of up to 64 characters, or one with dots, SHOULD be used unchanged.

    Source: PodSandboxConfig.hostname; sethostname(2).
    """
    sandbox = sandboxes.ready(hostname=hostname)

    assert containers.exited(script=lingering("hostname"), in_sandbox=sandbox).log_lines() == [hostname]
