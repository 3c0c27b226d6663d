"""NET: what a CNI plugin receives about the pod that it adds to a network."""

from collections.abc import Callable
from typing import Any

import pytest

from critests.api import api_pb2 as cri
from critests.testing import Capability, OwnRuntime, RecordVariant, disruptive, requirement, requires
from critests.validation.networking.connections import Node
from critests.validation.networking.witness import Witness

MEGABIT = 1_000_000
# M is a million, the unit bits per second; the two differ, so that an exchange shows
BANDWIDTH = {"kubernetes.io/ingress-bandwidth": "3M", "kubernetes.io/egress-bandwidth": "2M"}
ANNOTATIONS = "io.kubernetes.cri.pod-annotations"
"""The capability of plugins that want the annotations of a pod, as containerd and CRI-O name it."""
DNS = cri.DNSConfig(servers=["192.0.2.53"], searches=["critests.example"], options=["ndots:3"])

pytestmark = [requires(Capability.POD_NETWORK), disruptive]


@pytest.fixture(scope="module")
def witness(wrapped_module_runtime: OwnRuntime) -> Witness:
    """A plugin at the end of the network of the module's runtime that records its calls."""
    return Witness(wrapped_module_runtime, "portMappings", "bandwidth", "dns", "ips", ANNOTATIONS)


@pytest.fixture
def runtime_config(
    wrapped_module_runtime: OwnRuntime, witness: Witness
) -> Callable[[cri.PodSandboxConfig], Any]:
    """Creates a pod and returns what a plugin received as `runtimeConfig`."""

    def run(config: cri.PodSandboxConfig) -> Any:  # noqa: ANN401 - JSON
        pod = wrapped_module_runtime.sandboxes.attempt(config)
        return witness.added(pod.id).configuration.get("runtimeconfig", {})

    return run


@requirement("NET-17")
def test_plugins_receive_the_identity_of_the_pod(
    wrapped_module_runtime: OwnRuntime, witness: Witness
) -> None:
    """A CNI plugin SHOULD receive namespace, name and UID of the pod and the id of its sandbox, under
    Kubernetes' names for them.

    Source: CNI_ARGS in the CNI specification and its conventions; PodSandboxMetadata. Network plugins look up
    the pod by these.
    """
    config = wrapped_module_runtime.sandboxes.config()

    pod = wrapped_module_runtime.sandboxes.attempt(config)

    arguments = witness.added(pod.id).arguments
    assert {name: arguments.get(f"K8S_POD_{name}") for name in ("NAMESPACE", "NAME", "UID")} == {
        "NAMESPACE": config.metadata.namespace,
        "NAME": config.metadata.name,
        "UID": config.metadata.uid,
    }
    assert arguments.get("K8S_POD_INFRA_CONTAINER_ID") == pod.id
    # without it, plugins may fail at the arguments that they do not know
    assert arguments.get("IgnoreUnknown") in {"1", "true"}


@requirement("NET-18/bandwidth")
def test_plugins_that_limit_bandwidth_receive_the_limits(
    wrapped_module_runtime: OwnRuntime, runtime_config: Callable[[cri.PodSandboxConfig], Any]
) -> None:
    """A CNI plugin with the capability `bandwidth` SHOULD receive the rates of the pod's annotations, in bits
    per second.

    Source: the conventions of the CNI; the annotations kubernetes.io/ingress-bandwidth and egress-bandwidth.
    """
    limits = runtime_config(wrapped_module_runtime.sandboxes.config(annotations=BANDWIDTH)).get(
        "bandwidth", {}
    )

    assert (limits.get("ingressrate"), limits.get("egressrate")) == (3 * MEGABIT, 2 * MEGABIT)


@requirement("NET-18/form")
def test_plugins_receive_host_ports_and_dns(
    wrapped_module_runtime: OwnRuntime,
    runtime_config: Callable[[cri.PodSandboxConfig], Any],
    node: Node,
    record_variant: RecordVariant,
) -> None:
    """A CNI plugin with the capabilities `portMappings` and `dns` MAY receive the pod's host ports and DNS
    configuration; what it receives MUST equal the request.

    Source: PodSandboxConfig.port_mappings and dns_config; the conventions of the CNI. A runtime may implement
    both itself.
    """
    port = cri.PortMapping(protocol=cri.TCP, container_port=80, host_port=node.free_port())

    received = runtime_config(wrapped_module_runtime.sandboxes.config(dns_config=DNS, port_mappings=[port]))

    ports = [(each["hostport"], each["containerport"]) for each in received.get("portmappings", [])]
    servers = received.get("dns", {}).get("servers", [])
    record_variant(", ".join(name for name in ("portmappings", "dns") if received.get(name)) or "neither")
    assert ports in ([], [(port.host_port, 80)])
    assert servers in ([], list(DNS.servers))


@requirement("NET-18/annotations")
def test_plugins_receive_the_annotations_of_the_pod(
    wrapped_module_runtime: OwnRuntime,
    runtime_config: Callable[[cri.PodSandboxConfig], Any],
    record_variant: RecordVariant,
) -> None:
    """A CNI plugin with the capability `io.kubernetes.cri.pod-annotations` MAY receive the pod's annotations;
    what it receives MUST equal the request.

    Source: PodSandboxConfig.annotations; the capability is a convention of containerd and CRI-O.
    """
    annotations = {"critests.example/one": "1", "critests.example/two": "2"}
    config = wrapped_module_runtime.sandboxes.config(annotations=annotations)
    # the kubelet adds some of its own
    requested = dict(config.annotations)

    received = runtime_config(config)

    record_variant("received" if ANNOTATIONS in received else "not received")
    assert received.get(ANNOTATIONS, requested) == requested
