"""SBX, NET: CNI plugins that fail, hang, return invalid results or are missing, and cleanup after them."""

import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.runtime import Refusal
from critests.node.wrappers.actions import ALL, LATE_FAILURE, Action, Edit
from critests.testing import (
    HOST_NETWORK,
    Capability,
    Fail,
    FaultyRuntime,
    Record,
    Sandbox,
    disruptive,
    mount_table,
    must_be_refused,
    requirement,
    requires,
    unsupported,
)

pytestmark = disruptive

Plan = Mapping[str, Sequence[Action]]

MESSAGE = "no address is left in the range"
FAIL_AFTER_THE_ADDRESS = {"portmap/ADD": [Fail(101, MESSAGE)]}
"""Fails after the previous plugin has assigned an address. The CNI leaves codes from 100 on to plugins."""
FAIL_AT_BOTH_ENDS = {**FAIL_AFTER_THE_ADDRESS, "DEL": [Fail(101, MESSAGE)]}
"""The same, and the network cannot be torn down either, so that the runtime has to retain the sandbox."""
MALFORMED_RESULT = {"portmap/ADD": [Edit("{", "<")]}
"""The last plugin succeeds, and its result is no JSON."""
NETWORK_FAILURES = pytest.mark.parametrize(
    "plan",
    [FAIL_AFTER_THE_ADDRESS, FAIL_AT_BOTH_ENDS, MALFORMED_RESULT],
    ids=["set-up", "set-up and tear-down", "malformed result"],
)
BROKEN = [Fail(1, "the program fails")]
LATE_FAILURES: dict[str, tuple[Plan, Plan]] = {
    "before the sandbox exists": ({"create": BROKEN}, {}),
    "after its cgroup exists": ({"create": [LATE_FAILURE]}, {}),
    "monitor": ({}, {"start": BROKEN}),
    "monitor and its cleanup": ({}, {"start": BROKEN, "delete": BROKEN}),
    "cleanup by the monitor": ({"create": [LATE_FAILURE]}, {"delete": BROKEN}),
}
"""Actions of the OCI runtime, and of the shim or conmon, all of them after the network was set up."""
UNAFFECTED_SECONDS = 5.0
"""Limit for a call that does not depend on the plugin that hangs."""
CLIENT_DEADLINE_SECONDS = 3.0
"""Deadline of the client whose call hangs."""
CLEANUP_SECONDS = 20.0
"""Limit for the release of an address, and for the age of a sandbox that was just created."""


@pytest.fixture
def pod(faulty_runtime: FaultyRuntime) -> Sandbox:
    """A READY sandbox on a runtime whose plugins can fail."""
    return faulty_runtime.runtime.sandbox()


@pytest.fixture
def config(faulty_runtime: FaultyRuntime) -> cri.PodSandboxConfig:
    """The configuration of a pod with a network of its own."""
    return faulty_runtime.runtime.sandboxes.marked_config()


def rejected_run(faulty_runtime: FaultyRuntime, config: cri.PodSandboxConfig, plan: Plan) -> Refusal:
    """Call RunPodSandbox, which must be rejected, while plugins act as planned, and return the rejection."""
    with faulty_runtime.cni.planned(plan), must_be_refused() as refusal:
        faulty_runtime.runtime.stub.RunPodSandbox(faulty_runtime.runtime.sandboxes.creation(config))
    return refusal


def namespace_mounts(faulty_runtime: FaultyRuntime, pod: Sandbox) -> list[Path]:
    """Return the mount points that hold the network namespace of a pod; the test is unsupported if there are
    none.
    """
    namespace = faulty_runtime.runtime.container(pod).output("readlink", "/proc/self/ns/net")
    mounts = [Path(point) for root, point, _ in mount_table() if root == namespace]
    if not mounts:
        unsupported(f"the runtime has no file for a pod's network namespace: no mount of {namespace}")
    return mounts


def until_nothing_is_left(
    faulty_runtime: FaultyRuntime, config: cri.PodSandboxConfig, before: set[str]
) -> None:
    """Remove the sandboxes that are listed of a pod, and wait until the runtime has no more on this machine
    than before.
    """
    for entry in faulty_runtime.runtime.sandboxes.created_from(config):
        faulty_runtime.remove(entry.id)
    faulty_runtime.runtime.eventually(
        "everything of the pod to go",
        lambda: faulty_runtime.runtime.daemon.objects(config) - before,
        CLEANUP_SECONDS,
        holds=lambda left: not left,
    )


def unmount(mounts: Sequence[Path]) -> None:
    """Unmount and delete the files that hold a namespace."""
    for mount in mounts:
        # lazily, as umount(2) fails with EBUSY for a mount in use
        subprocess.run(["umount", "--lazy", mount], check=True)
        mount.unlink(missing_ok=True)


def until_released(faulty_runtime: FaultyRuntime, leases: set[str]) -> None:
    """Wait until the runtime has no more leased addresses than before."""
    faulty_runtime.runtime.eventually(
        "every address of the pod to be released",
        lambda: faulty_runtime.runtime.daemon.leases - leases,
        CLEANUP_SECONDS,
        holds=lambda leased: not leased,
    )


@requirement("NET-19/refused")
@requires(Capability.POD_NETWORK)
@NETWORK_FAILURES
def test_pod_whose_network_setup_fails_is_refused(
    faulty_runtime: FaultyRuntime, config: cri.PodSandboxConfig, plan: Plan
) -> None:
    """RunPodSandbox MUST fail if a CNI plugin fails, and leave no sandbox that list or status report as
    READY.

    Source: RunPodSandbox, which returns a ready sandbox on success.
    """
    stub = faulty_runtime.runtime.stub
    rejected_run(faulty_runtime, config, plan)

    entries = faulty_runtime.runtime.sandboxes.created_from(config)
    requests = [cri.PodSandboxStatusRequest(pod_sandbox_id=entry.id) for entry in entries]
    states = {entry.state for entry in entries} | {
        stub.PodSandboxStatus(request).status.state for request in requests
    }
    assert states <= {cri.SANDBOX_NOTREADY}


@requirement("NET-19/message")
@requires(Capability.POD_NETWORK)
def test_the_message_of_a_failing_plugin_is_reported(
    faulty_runtime: FaultyRuntime, config: cri.PodSandboxConfig
) -> None:
    """RunPodSandbox SHOULD report the message of a failing CNI plugin in its error.

    Source: not stated by the CRI; the kubelet shows the error with the pod, where users look for it.
    """
    refusal = rejected_run(faulty_runtime, config, FAIL_AFTER_THE_ADDRESS)

    assert MESSAGE in refusal.words


@requirement("NET-19/cleaned")
@requires(Capability.POD_NETWORK)
@NETWORK_FAILURES
def test_pod_whose_network_setup_failed_leaves_nothing(
    faulty_runtime: FaultyRuntime, config: cri.PodSandboxConfig, plan: Plan
) -> None:
    """RunPodSandbox MUST release the address of a pod whose network setup fails, at the latest when the
    listed sandbox is removed; the same pod can be created then.

    Source: not stated by the CRI; a node runs out of addresses.
    """
    leases = faulty_runtime.runtime.daemon.leases

    rejected_run(faulty_runtime, config, plan)

    for entry in faulty_runtime.runtime.sandboxes.created_from(config):
        faulty_runtime.remove(entry.id)
    until_released(faulty_runtime, leases)
    assert faulty_runtime.runtime.sandboxes.attempt(config).state() == cri.SANDBOX_READY


@requirement("SBA-03")
@requires(Capability.POD_NETWORK)
def test_sandbox_whose_network_setup_failed_has_a_creation_time(
    faulty_runtime: FaultyRuntime, config: cri.PodSandboxConfig
) -> None:
    """A sandbox that is listed after its network failed MUST have its time of creation in list and status.

    Source: PodSandbox.created_at and PodSandboxStatus.created_at.
    """
    began = time.time_ns()

    rejected_run(faulty_runtime, config, FAIL_AT_BOTH_ENDS)

    entries = faulty_runtime.runtime.sandboxes.created_from(config)
    requests = [cri.PodSandboxStatusRequest(pod_sandbox_id=entry.id) for entry in entries]
    reported = [faulty_runtime.runtime.stub.PodSandboxStatus(each).status.created_at for each in requests]
    times = [*reported, *(entry.created_at for entry in entries)]
    for entry in entries:
        faulty_runtime.remove(entry.id)
    # the clocks of suite and runtime may differ a little
    assert [
        when for when in times if abs(when - began) > CLEANUP_SECONDS * 1e9 * faulty_runtime.runtime.scale
    ] == []


@requirement("SBX-10")
@requires(Capability.POD_NETWORK, Capability.SHARED_KERNEL)
@NETWORK_FAILURES
def test_pod_whose_network_setup_failed_leaves_no_object(
    faulty_runtime: FaultyRuntime,
    pod: Sandbox,
    config: cri.PodSandboxConfig,
    plan: Plan,
) -> None:
    """RunPodSandbox MUST leave no process, mount, cgroup, interface, address or directory of a pod whose
    network setup fails, at the latest when the listed sandbox is removed.

    Source: RunPodSandbox, whose sandbox does not exist; RemovePodSandbox.
    """
    # what the first pod and container of a runtime create stays
    faulty_runtime.runtime.container(pod, command=["sleep", "3600"])
    before = faulty_runtime.runtime.daemon.objects(config)

    rejected_run(faulty_runtime, config, plan)

    until_nothing_is_left(faulty_runtime, config, before)


@requirement("SBX-10")
@requires(Capability.POD_NETWORK, Capability.SHARED_KERNEL)
@pytest.mark.parametrize(("oci", "monitor"), LATE_FAILURES.values(), ids=LATE_FAILURES)
def test_pod_whose_process_failed_leaves_no_object(
    faulty_runtime: FaultyRuntime, pod: Sandbox, config: cri.PodSandboxConfig, oci: Plan, monitor: Plan
) -> None:
    """RunPodSandbox MUST leave no process, mount, cgroup, interface, address or directory of a pod if the OCI
    runtime or the monitor (shim) fails, at the latest when the listed sandbox is removed.

    Source: RunPodSandbox, whose sandbox does not exist; RemovePodSandbox.
    """
    runtime = faulty_runtime.runtime
    # what the first pod and container of a runtime create stays
    runtime.container(pod, command=["sleep", "3600"])
    before = runtime.daemon.objects(config)

    with faulty_runtime.oci.planned(oci), faulty_runtime.monitor.planned(monitor), must_be_refused():
        # without a sandbox process, the container is the first that the OCI runtime creates
        runtime.containers.attempt(runtime.containers.config(), in_sandbox=runtime.sandboxes.attempt(config))

    until_nothing_is_left(faulty_runtime, config, before)


@requirement("SBX-10")
@requires(Capability.POD_NETWORK)
def test_address_of_a_pod_whose_creation_failed_is_released(
    faulty_runtime: FaultyRuntime, config: cri.PodSandboxConfig
) -> None:
    """RunPodSandbox MUST release the address of a pod if the OCI runtime fails after the network setup, at
    the latest when the listed sandbox is removed.

    Source: RunPodSandbox, whose sandbox does not exist; StopPodSandbox, which reclaims its network resources.
    """
    leases = faulty_runtime.runtime.daemon.leases

    failing = {"create": [Fail(1, "the OCI runtime fails")]}
    with faulty_runtime.oci.planned(failing), must_be_refused():
        faulty_runtime.runtime.containers.attempt(
            faulty_runtime.runtime.containers.config(),
            in_sandbox=faulty_runtime.runtime.sandboxes.attempt(config),
        )

    for entry in faulty_runtime.runtime.sandboxes.created_from(config):
        faulty_runtime.remove(entry.id)
    until_released(faulty_runtime, leases)


@pytest.fixture
def _hanging_pod(faulty_runtime: FaultyRuntime, config: cri.PodSandboxConfig) -> Iterator[None]:
    """A call of RunPodSandbox that waits for a hanging CNI plugin."""
    with faulty_runtime.hanging(faulty_runtime.cni, "portmap/ADD"):
        call = faulty_runtime.runtime.stub.RunPodSandbox.future(
            faulty_runtime.runtime.sandboxes.creation(config)
        )
        faulty_runtime.until_held(faulty_runtime.cni)
        yield
    call.cancel()


@requirement("NET-20/others")
@requires(Capability.POD_NETWORK)
@pytest.mark.usefixtures("_hanging_pod")
def test_hanging_cni_plugin_blocks_no_other_call(faulty_runtime: FaultyRuntime) -> None:
    """ListPodSandbox, ListContainers and Status MUST return while a CNI plugin hangs.

    Source: not stated by the CRI; the kubelet would consider the whole node down.
    """
    stub = faulty_runtime.runtime.stub

    seconds = [
        faulty_runtime.runtime.timed(stub.ListPodSandbox, cri.ListPodSandboxRequest()).seconds,
        faulty_runtime.runtime.timed(stub.ListContainers, cri.ListContainersRequest()).seconds,
        faulty_runtime.runtime.timed(stub.Status, cri.StatusRequest()).seconds,
    ]

    assert max(seconds) < UNAFFECTED_SECONDS * faulty_runtime.runtime.scale


@requirement("NET-20/after")
@requires(Capability.POD_NETWORK)
def test_pod_whose_network_setup_hung_can_be_created_again(
    faulty_runtime: FaultyRuntime, config: cri.PodSandboxConfig
) -> None:
    """A pod whose RunPodSandbox call timed out while a CNI plugin hung MUST be removable once the plugin has
    exited: the same pod can be created then, and no address stays in use.

    Source: not stated by the CRI; the kubelet's own deadline is minutes, and it repeats the call.
    """
    runtime, request = faulty_runtime.runtime, faulty_runtime.runtime.sandboxes.creation(config)
    leases = runtime.daemon.leases

    with faulty_runtime.hanging(faulty_runtime.cni, "portmap/ADD"):
        call = runtime.stub.RunPodSandbox.future(request, timeout=CLIENT_DEADLINE_SECONDS * runtime.scale)
        faulty_runtime.until_held(faulty_runtime.cni)
        with must_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
            call.result()

    def remove_and_create() -> Sandbox:
        for entry in runtime.sandboxes.created_from(config):
            faulty_runtime.remove(entry.id)
        # the call may wait for the previous one of the same pod, up to its deadline
        return runtime.sandboxes.attempt(config, timeout=CLIENT_DEADLINE_SECONDS * runtime.scale)

    # the previous call may still complete
    again = runtime.retry_until_ok("RunPodSandbox of the same pod", remove_and_create)
    faulty_runtime.remove(again.id)
    until_released(faulty_runtime, leases)


@requirement("NET-21")
@requires(Capability.POD_NETWORK)
def test_del_is_called_for_every_plugin_whose_add_was_called(
    faulty_runtime: FaultyRuntime, config: cri.PodSandboxConfig
) -> None:
    """StopPodSandbox MUST call DEL of every CNI plugin whose ADD was called for the pod, with the same id.

    Source: the CNI specification's DEL; StopPodSandbox.
    """
    faulty_runtime.cni.take()
    with faulty_runtime.cni.planned({ALL: [Record()]}):
        pod = faulty_runtime.runtime.sandboxes.attempt(config)
        faulty_runtime.runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))

    calls = faulty_runtime.cni.take()
    added = {(call.program, call.id) for call in calls if call.operation == "ADD"}
    assert added, "no plugin was called"
    assert added <= {(call.program, call.id) for call in calls if call.operation == "DEL"}


@requirement("NET-21")
@requires(Capability.POD_NETWORK)
def test_no_plugin_is_called_for_a_pod_on_the_network_of_the_host(faulty_runtime: FaultyRuntime) -> None:
    """A pod on the node's network MUST NOT be added to another network by a CNI plugin.

    Source: NamespaceOption.network; a plugin would change the interfaces of the node.
    """
    config = faulty_runtime.runtime.sandboxes.config(namespaces=HOST_NETWORK)
    faulty_runtime.cni.take()

    with faulty_runtime.cni.planned({ALL: [Record()]}):
        faulty_runtime.remove(faulty_runtime.runtime.sandboxes.attempt(config).id)

    assert [call for call in faulty_runtime.cni.take() if call.operation == "ADD"] == []


@requirement("NET-24")
@requires(Capability.POD_NETWORK)
def test_pod_is_refused_if_its_cni_plugin_is_missing(
    faulty_runtime: FaultyRuntime, config: cri.PodSandboxConfig
) -> None:
    """RunPodSandbox MUST fail if the program of a CNI plugin is missing, and succeed once it is back.

    Source: RunPodSandbox, which returns a ready sandbox with its network on success.
    """
    runtime, request = faulty_runtime.runtime, faulty_runtime.runtime.sandboxes.creation(config)
    # the first plugin of the network, which assigns the address
    bridge = faulty_runtime.cni.directory / "bin" / "bridge"
    moved = bridge.rename(bridge.with_name("bridge.moved"))

    try:
        runtime.refusal(runtime.stub.RunPodSandbox, request)
    finally:
        moved.rename(bridge)

    for entry in runtime.sandboxes.created_from(config):
        faulty_runtime.remove(entry.id)
    response = runtime.retry_until_ok(
        "RunPodSandbox with the plugin in place", lambda: runtime.stub.RunPodSandbox(request)
    )
    assert runtime.sandboxes.adopt(response.pod_sandbox_id, config).state() == cri.SANDBOX_READY


@requirement("NET-25")
@requires(Capability.POD_NETWORK)
def test_pod_without_an_address_is_refused(
    faulty_runtime: FaultyRuntime, config: cri.PodSandboxConfig
) -> None:
    """RunPodSandbox SHOULD fail if the result of the CNI plugins has no address.

    Source: PodSandboxNetworkStatus.ip. Not stated by the CRI; the pod would be unreachable.
    """
    # the result is still JSON of a valid form
    no_address = {"ADD": [Edit('"ips"', '"others"')]}

    assert rejected_run(faulty_runtime, config, no_address).code is not grpc.StatusCode.OK


@requirement("SBX-13")
@requires(Capability.POD_NETWORK)
def test_stop_of_a_sandbox_releases_its_address(faulty_runtime: FaultyRuntime, pod: Sandbox) -> None:
    """StopPodSandbox MUST release the address of the pod.

    Source: StopPodSandbox, which reclaims the sandbox's network resources.
    """
    address = pod.status().network.ip
    assert address in faulty_runtime.runtime.daemon.leases

    faulty_runtime.runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))

    assert address not in faulty_runtime.runtime.daemon.leases


@requirement("SBX-19")
@requires(Capability.POD_NETWORK)
def test_stop_whose_network_teardown_failed_can_be_repeated(
    faulty_runtime: FaultyRuntime, pod: Sandbox
) -> None:
    """StopPodSandbox SHOULD fail if a CNI plugin fails, and release the address when it is called again and
    the plugin works.

    Source: StopPodSandbox, which reclaims the sandbox's network resources.
    """
    stop = cri.StopPodSandboxRequest(pod_sandbox_id=pod.id)
    address = pod.status().network.ip

    with faulty_runtime.cni.planned({"DEL": [Fail(101, MESSAGE)]}), must_be_refused():
        faulty_runtime.runtime.stub.StopPodSandbox(stop)
    faulty_runtime.runtime.stub.StopPodSandbox(stop)

    assert address not in faulty_runtime.runtime.daemon.leases


@requirement("NET-40")
@requires(Capability.POD_NETWORK, Capability.SHARED_KERNEL, Capability.ROOT)
def test_address_is_released_without_the_network_namespace(
    faulty_runtime: FaultyRuntime, pod: Sandbox
) -> None:
    """StopPodSandbox MUST release the address of a pod whose file for the network namespace is gone.

    Source: StopPodSandbox, which reclaims the sandbox's network resources.
    """
    address = pod.status().network.ip
    mounts = namespace_mounts(faulty_runtime, pod)

    unmount(mounts)
    faulty_runtime.runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))

    assert address not in faulty_runtime.runtime.daemon.leases


@requirement("NET-40")
@requires(Capability.POD_NETWORK, Capability.SHARED_KERNEL, Capability.ROOT)
def test_address_is_released_if_the_network_namespace_was_lost_with_the_daemon(
    faulty_runtime: FaultyRuntime, pod: Sandbox
) -> None:
    """StopPodSandbox MUST succeed at the first call and release the address of the pod if the file that held
    its network namespace disappeared while the daemon was down.

    Source: StopPodSandbox, which reclaims the sandbox's network resources, and must not fail if they are
    reclaimed already.
    """
    address = pod.status().network.ip
    mounts = namespace_mounts(faulty_runtime, pod)

    with faulty_runtime.runtime.down():
        unmount(mounts)
    faulty_runtime.runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))

    assert address not in faulty_runtime.runtime.daemon.leases
