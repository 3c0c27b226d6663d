"""NET: pods with an IPv4 and an IPv6 address, and pods with only an IPv6 address."""

import ipaddress
import json
import socket

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    DualStack,
    OwnRuntime,
    Sandbox,
    configured,
    disruptive,
    requirement,
    requires,
    yielding,
)
from critests.validation.networking.connections import Node, until_it_listens

PORT = 7300

pytestmark = [requires(Capability.POD_NETWORK, Capability.IPV6, Capability.SAME_HOST), disruptive]


def lies_in(address: str, subnet: str) -> bool:
    """Return whether a text is an address of a subnet."""
    try:
        return ipaddress.ip_address(address) in ipaddress.ip_network(subnet)
    except ValueError:
        return False


def can_be_bound(address: str) -> bool:
    """Return whether an IPv6 address belongs to this node and is ready for use."""
    with socket.socket(socket.AF_INET6) as server:
        try:
            # fails with EADDRNOTAVAIL until duplicate address detection is over
            server.bind((address, 0))
        except OSError:
            return False
    return True


def run_greeter(runtime: OwnRuntime, pod: Sandbox) -> None:
    """Run a server in a pod that sends a greeting to each client of `PORT`, and wait until it listens."""
    server = yielding("nc", "-ll", "-p", str(PORT), "-e", "echo", "welcome")
    until_it_listens(runtime.container(pod, command=server), PORT)


@requirement("NET-14")
@configured(DualStack())
def test_dual_stack_pod_has_an_address_of_each_family(own_runtime: OwnRuntime) -> None:
    """PodSandboxStatus MUST report a dual-stack pod's first address as `ip` and the other one in
    `additional_ips`, and the pod MUST have both.

    Source: PodSandboxNetworkStatus.ip and additional_ips.
    """
    first, second = own_runtime.daemon.subnets

    pod = own_runtime.sandboxes.attempt(own_runtime.sandboxes.config())

    network = pod.status().network
    additional = [entry.ip for entry in network.additional_ips]
    assert lies_in(network.ip, first)
    assert [lies_in(address, second) for address in additional] == [True]
    interfaces = own_runtime.container(pod).output("ip", "-o", "addr")
    assert [address for address in (network.ip, *additional) if f" {address}/" not in interfaces] == []


@requirement("NET-15")
@configured(DualStack())
def test_ipv6_only_pod_is_reachable(own_runtime: OwnRuntime, node: Node) -> None:
    """PodSandboxStatus MUST report the address of an IPv6-only pod as `ip`, and a server in the pod be
    reachable at it.

    Source: PodSandboxNetworkStatus.ip.
    """
    network = json.loads(own_runtime.conflist.read_text(encoding="utf-8"))
    ipam = network["plugins"][0]["ipam"]
    # the first range and route are those of IPv4
    ipam["ranges"], ipam["routes"] = ipam["ranges"][1:], ipam["routes"][1:]
    own_runtime.conflist.write_text(json.dumps(network), encoding="utf-8")
    own_runtime.restart()

    pod = own_runtime.sandboxes.attempt(own_runtime.sandboxes.config())

    reported = pod.status().network
    assert lies_in(reported.ip, own_runtime.daemon.subnets[1])
    assert list(reported.additional_ips) == []
    run_greeter(own_runtime, pod)
    assert node.greeting(PORT, reported.ip) == "welcome"


@requirement("NET-33")
@requires(Capability.HOST_PORTS)
@configured(DualStack())
def test_host_port_of_a_dual_stack_pod_is_reachable_over_both_families(
    own_runtime: OwnRuntime, node: Node
) -> None:
    """A host port of a dual-stack pod SHOULD lead to the pod over IPv6 as well as over IPv4.

    Source: PortMapping, whose `host_ip` may be empty.
    """
    port = node.free_port()
    mapping = cri.PortMapping(protocol=cri.TCP, container_port=PORT, host_port=port)
    run_greeter(own_runtime, own_runtime.sandbox(port_mappings=[mapping]))

    # of the pods' bridge, and so of the node, once duplicate address detection is over
    over_ipv6 = str(next(ipaddress.ip_network(own_runtime.daemon.subnets[1]).hosts()))

    own_runtime.eventually(f"{over_ipv6} to be the node's", lambda: can_be_bound(over_ipv6))

    assert node.greeting(port) == "welcome"
    assert node.greeting(port, over_ipv6) == "welcome"
