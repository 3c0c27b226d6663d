"""RT: a pod network created from a CNI template and the pod CIDR of the kubelet."""

import ipaddress

from critests.api import api_pb2 as cri
from critests.testing import CniTemplate, DualStack, OwnRuntime, configured, disruptive, requirement

TEMPLATE = CniTemplate()


def pod_cidrs(runtime: OwnRuntime) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Return a sixteenth of each of a runtime's own subnets, and not the first one."""
    subnets = [ipaddress.ip_network(subnet) for subnet in runtime.daemon.subnets]
    # four more bits in the prefix: a sixteenth of the addresses
    return [ipaddress.ip_network((net[5 * net.num_addresses // 16], net.prefixlen + 4)) for net in subnets]


def cidr_request(
    runtime: OwnRuntime, cidrs: list[ipaddress.IPv4Network | ipaddress.IPv6Network]
) -> cri.UpdateRuntimeConfigRequest:
    """Return the request that passes its pod CIDRs to a runtime, which has no network yet."""
    assert not network_is_ready(runtime)
    network = cri.NetworkConfig(pod_cidr=",".join(map(str, cidrs)))
    return cri.UpdateRuntimeConfigRequest(runtime_config=cri.RuntimeConfig(network_config=network))


def network_is_ready(runtime: OwnRuntime) -> bool:
    """Return whether a runtime reports its network as ready."""
    conditions = runtime.stub.Status(cri.StatusRequest()).status.conditions
    return {one.type: one.status for one in conditions}.get("NetworkReady", False)


def addresses(
    runtime: OwnRuntime,
) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """Return the addresses of a new pod, once the network is ready."""
    runtime.eventually("the network to be ready", lambda: network_is_ready(runtime), 15)
    network = runtime.sandboxes.attempt(runtime.sandboxes.config()).status().network
    return [ipaddress.ip_address(text) for text in (network.ip, *(one.ip for one in network.additional_ips))]


@requirement("RT-25/effect")
@disruptive
@configured(TEMPLATE)
def test_pods_get_an_address_of_the_pod_cidr(own_runtime: OwnRuntime) -> None:
    """UpdateRuntimeConfig MUST make the runtime give pods addresses of its pod CIDR, if the network is
    created from a template.

    Source: NetworkConfig.pod_cidr.
    """
    cidrs = pod_cidrs(own_runtime)

    own_runtime.stub.UpdateRuntimeConfig(cidr_request(own_runtime, cidrs))

    pod_addresses = addresses(own_runtime)
    assert [address in network for address, network in zip(pod_addresses, cidrs, strict=True)] == [True]


@requirement("RT-27")
@disruptive
@configured(TEMPLATE, DualStack())
def test_pods_get_an_address_of_both_pod_cidrs(own_runtime: OwnRuntime) -> None:
    """UpdateRuntimeConfig with an IPv4 and an IPv6 range, separated by a comma, SHOULD be accepted, and pods
    get an address of both.

    Source: NetworkConfig.pod_cidr.
    """
    own = own_runtime
    cidrs = pod_cidrs(own)

    own.stub.UpdateRuntimeConfig(cidr_request(own, cidrs))

    pod_addresses = addresses(own)
    assert [address in network for address, network in zip(pod_addresses, cidrs, strict=True)] == [True, True]
