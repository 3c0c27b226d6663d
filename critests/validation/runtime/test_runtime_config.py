"""RT: the configuration that a runtime reports, and the one that the kubelet passes to it."""

import contextlib
import secrets
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    CgroupDriver,
    CgroupParents,
    Containers,
    RecordVariant,
    Runtime,
    Sandbox,
    Sandboxes,
    blocked,
    host_processes,
    refused_with,
    requirement,
    requires,
)
from critests.validation.runtime.ordinary_calls import without_a_pod_cidr


@requirement("RT-22")
@requires(Capability.RUNTIME_CONFIG)
def test_runtime_config_names_the_cgroup_driver(runtime: Runtime) -> None:
    """RuntimeConfig MUST report one of the defined cgroup drivers.

    Source: LinuxRuntimeConfiguration.cgroup_driver.
    """
    response = runtime.stub.RuntimeConfig(cri.RuntimeConfigRequest())

    assert response.HasField("linux")
    assert response.linux.cgroup_driver in {cri.SYSTEMD, cri.CGROUPFS}


@requirement("RT-22")
@requires(Capability.RUNTIME_CONFIG, Capability.SHARED_KERNEL, Capability.ROOT)
def test_processes_of_a_pod_are_in_its_cgroup(
    runtime: Runtime, sandboxes: Sandboxes, containers: Containers
) -> None:
    """A pod whose cgroup_parent is written for the reported cgroup driver MUST have its processes in that
    cgroup.

    Source: LinuxRuntimeConfiguration.cgroup_driver, LinuxPodSandboxConfig.cgroup_parent.
    """
    config = sandboxes.config()
    driver = runtime.stub.RuntimeConfig(cri.RuntimeConfigRequest()).linux.cgroup_driver
    config.linux.cgroup_parent = cgroup_parent(runtime, driver, config)
    # `:` ignores its arguments; the token is for the process table
    token = f"critests-{secrets.token_hex(8)}"

    response = runtime.stub.RunPodSandbox(sandboxes.creation(config))

    pod = sandboxes.adopt(response.pod_sandbox_id, config)
    containers.running(first=f": {token}; echo ready", wait_for_log="ready", in_sandbox=pod)
    # with a slash at its end, as the container's own cgroup is below that of the pod
    assert f"/{Path(config.linux.cgroup_parent).name}/" in cgroups_of(token)


@requirement("RT-23")
@requires(Capability.RUNTIME_CONFIG)
def test_runtime_config_is_constant(runtime: Runtime) -> None:
    """RuntimeConfig MUST return the same response as long as the daemon runs.

    Source: RuntimeConfig.
    """
    responses = [runtime.stub.RuntimeConfig(cri.RuntimeConfigRequest()) for _ in range(3)]

    assert responses == [responses[0]] * 3


@requirement("RT-24")
@requires(Capability.RUNTIME_CONFIG)
def test_runtime_config_does_not_depend_on_its_update(runtime: Runtime) -> None:
    """RuntimeConfig SHOULD return the same response before and after UpdateRuntimeConfig.

    Source: RuntimeConfig.
    """
    before = runtime.stub.RuntimeConfig(cri.RuntimeConfigRequest())
    runtime.stub.UpdateRuntimeConfig(without_a_pod_cidr())

    after = runtime.stub.RuntimeConfig(cri.RuntimeConfigRequest())

    assert after == before


@pytest.mark.parametrize(
    "pod_cidr",
    [
        pytest.param("10.123.0.0/24", marks=requirement("RT-25/accept"), id="a range"),
        pytest.param("", marks=requirement("RT-26"), id="empty"),
    ],
)
def test_update_runtime_config_accepts_a_pod_cidr(runtime: Runtime, pod_cidr: str) -> None:
    """UpdateRuntimeConfig with a pod CIDR, or with an empty one, MUST succeed, and the runtime MUST stay
    ready.

    Source: NetworkConfig.pod_cidr.
    """
    network = cri.NetworkConfig(pod_cidr=pod_cidr)

    runtime.stub.UpdateRuntimeConfig(
        cri.UpdateRuntimeConfigRequest(runtime_config=cri.RuntimeConfig(network_config=network))
    )

    conditions = {one.type: one.status for one in runtime.stub.Status(cri.StatusRequest()).status.conditions}
    assert conditions.get("NetworkReady") is runtime.has(Capability.POD_NETWORK)


@requirement("RT-28")
def test_invalid_pod_cidr_does_not_affect_pods(
    runtime: Runtime, own_sandbox: Sandbox, record_variant: RecordVariant
) -> None:
    """UpdateRuntimeConfig with an invalid CIDR MAY be rejected or ignored; existing pods are not affected.

    Source: NetworkConfig.pod_cidr; runtimes differ.
    """
    network = cri.NetworkConfig(pod_cidr="300.1.2.3/77")
    request = cri.UpdateRuntimeConfigRequest(runtime_config=cri.RuntimeConfig(network_config=network))

    try:
        runtime.stub.UpdateRuntimeConfig(request)
        record_variant("ignores it")
    except grpc.RpcError as error:
        record_variant(f"refuses with {refused_with(error).name}")

    assert runtime.stub.Version(cri.VersionRequest(version="0.1.0")) == runtime.version
    assert own_sandbox.state() == cri.SANDBOX_READY


def cgroup_parent(runtime: Runtime, driver: "cri.CgroupDriver", config: cri.PodSandboxConfig) -> str:
    """Return a pod's cgroup_parent as a cgroup driver writes it."""
    chosen = CgroupDriver.SYSTEMD if driver == cri.SYSTEMD else CgroupDriver.CGROUPFS
    return CgroupParents(runtime.requests.run, chosen).of_pod(config.metadata.uid)


def cgroups_of(token: str) -> str:
    """Return the contents of /proc/PID/cgroup of all processes of this machine whose command line contains a
    token, as one text; ends the test as blocked if there are none.
    """
    texts = []
    for pid in host_processes(token):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            texts.append(Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8"))
    if not texts:
        blocked(
            "the processes of containers cannot be seen from here; run the suite in the PID namespace of the"
            " machine"
        )
    return "\n".join(texts)
