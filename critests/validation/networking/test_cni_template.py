"""RT: a network that is made from a template and the pod CIDR that the kubelet tells."""

import ipaddress
from collections.abc import Iterator

import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.own_runtime import OwnRuntime, shaped
from critests.fixtures.runtime import Runtime
from critests.node.kinds.told import CniTemplate
from critests.run.context import Shape
from critests.run.marks import disruptive, requirement

TEMPLATE = (CniTemplate(),)


@pytest.fixture
def template_runtime(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[OwnRuntime]:
    """A runtime without a network until it is told the pod CIDR."""
    with shaped(request, runtime, Shape(told=TEMPLATE)) as own:
        yield own


@pytest.fixture
def dual_stack_template_runtime(request: pytest.FixtureRequest, runtime: Runtime) -> Iterator[OwnRuntime]:
    """The same, on which pods may have an address of each family."""
    with shaped(request, runtime, Shape(told=TEMPLATE, dual_stack=True)) as own:
        yield own


def ranges(runtime: OwnRuntime) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Return a small range of each of a runtime's own subnets, and not the first that it has."""
    whole = [ipaddress.ip_network(subnet) for subnet in runtime.daemon.subnets]
    return [ipaddress.ip_network((net[5 * net.num_addresses // 16], net.prefixlen + 4)) for net in whole]


def tell(
    runtime: OwnRuntime, told: list[ipaddress.IPv4Network | ipaddress.IPv6Network]
) -> cri.UpdateRuntimeConfigRequest:
    """Return the request by which a runtime is told its pod CIDR; it has no network before."""
    assert not is_ready(runtime)
    network = cri.NetworkConfig(pod_cidr=",".join(map(str, told)))
    return cri.UpdateRuntimeConfigRequest(runtime_config=cri.RuntimeConfig(network_config=network))


def is_ready(runtime: OwnRuntime) -> bool:
    """Say whether a runtime tells that its network is ready."""
    conditions = runtime.stub.Status(cri.StatusRequest()).status.conditions
    return {one.type: one.status for one in conditions}.get("NetworkReady", False)


def addresses(
    runtime: OwnRuntime,
) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """Return the addresses of a new pod, once the network is ready."""
    runtime.eventually("the network to be ready", lambda: is_ready(runtime), 15)
    network = runtime.sandboxes.attempt(runtime.sandboxes.config()).status().network
    return [ipaddress.ip_address(text) for text in (network.ip, *(one.ip for one in network.additional_ips))]


@requirement("RT-25/effect")
@disruptive
def test_pods_get_an_address_of_the_pod_cidr(template_runtime: OwnRuntime) -> None:
    """Where the network is made from a template, pods MUST get an address of the range that
    UpdateRuntimeConfig tells.

    Source: NetworkConfig.pod_cidr.
    """
    told = ranges(template_runtime)

    template_runtime.stub.UpdateRuntimeConfig(tell(template_runtime, told))

    given = addresses(template_runtime)
    assert [address in network for address, network in zip(given, told, strict=True)] == [True]


@requirement("RT-27")
@disruptive
def test_pods_get_an_address_of_both_pod_cidrs(dual_stack_template_runtime: OwnRuntime) -> None:
    """UpdateRuntimeConfig with a range of each family, with a comma between them, SHOULD be taken, and pods
    get an address of both.

    Source: NetworkConfig.pod_cidr.
    """
    own = dual_stack_template_runtime
    told = ranges(own)

    own.stub.UpdateRuntimeConfig(tell(own, told))

    given = addresses(own)
    assert [address in network for address, network in zip(given, told, strict=True)] == [True, True]
