"""NET: the address of a pod is released although its process, its network namespace, its network
configuration or the state of its daemon was lost.
"""

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    FaultyRuntime,
    OwnRuntime,
    Sandbox,
    disruptive,
    mount_table,
    process_of_sandbox,
    requirement,
    requires,
    unsupported,
)

pytestmark = [requires(Capability.POD_NETWORK), disruptive]

RELEASE_SECONDS = 30.0
"""For a runtime that tears networks down in the background once their configuration exists."""
STATE_SECONDS = 10.0


@pytest.fixture
def pod(faulty_runtime: FaultyRuntime) -> Sandbox:
    """A READY sandbox on a runtime whose daemon can be restarted."""
    return faulty_runtime.runtime.sandbox()


def kill_process_of(runtime: OwnRuntime, pod: Sandbox) -> None:
    """Kill the process of a sandbox, and wait until the runtime has noticed."""
    os.kill(process_of_sandbox(pod), signal.SIGKILL)
    runtime.eventually(
        "the sandbox to be not ready", pod.state, STATE_SECONDS, lambda state: state == cri.SANDBOX_NOTREADY
    )


def until_released(runtime: OwnRuntime, address: str) -> None:
    """Wait until an address is released."""
    runtime.eventually(
        "the address of the pod to be released",
        lambda: runtime.daemon.leases,
        RELEASE_SECONDS,
        lambda leases: address not in leases,
    )


def namespace_files(runtime: OwnRuntime, pod: Sandbox) -> list[Path]:
    """Return the files that hold the network namespace of a pod; unsupported if there are none."""
    namespace = runtime.container(pod).output("readlink", "/proc/self/ns/net")
    files = [Path(point) for root, point, _ in mount_table() if root == namespace]
    return files or unsupported(f"the runtime has no file for a pod's network namespace: no {namespace}")


def unmount(files: list[Path]) -> None:
    """Unmount namespaces from their files, which stay as empty files."""
    for file in files:
        # lazily, as umount(2) fails with EBUSY for a mount in use
        subprocess.run(["umount", "--lazy", file], check=True)


@requirement("NET-40")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
def test_removal_alone_releases_the_address_of_a_pod_whose_process_died(
    faulty_runtime: FaultyRuntime, pod: Sandbox
) -> None:
    """RemovePodSandbox MUST release the address of a pod whose process was killed, also if StopPodSandbox was
    not called.

    Source: RemovePodSandbox, after which no other call can release it.
    """
    runtime, address = faulty_runtime.runtime, pod.status().network.ip
    kill_process_of(runtime, pod)

    removal = cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id)
    runtime.stub.RemovePodSandbox(removal)

    assert pod.entries() == []
    until_released(runtime, address)


@requirement("NET-40")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
def test_address_is_released_without_process_and_namespace(
    faulty_runtime: FaultyRuntime, pod: Sandbox
) -> None:
    """StopPodSandbox and RemovePodSandbox MUST succeed for a pod whose process and network namespace are
    gone, and release its address.

    Source: StopPodSandbox, which reclaims the sandbox's network resources.
    """
    runtime, address = faulty_runtime.runtime, pod.status().network.ip
    files = namespace_files(runtime, pod)
    kill_process_of(runtime, pod)
    unmount(files)
    for file in files:
        file.unlink(missing_ok=True)

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))

    assert pod.entries() == []
    until_released(runtime, address)


@requirement("SBX-27")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_file_of_a_lost_namespace_goes_with_its_pod(faulty_runtime: FaultyRuntime, pod: Sandbox) -> None:
    """StopPodSandbox and RemovePodSandbox SHOULD succeed for a pod whose file for the network namespace is an
    empty file after a restart of the daemon, and SHOULD delete this file.

    Source: RemovePodSandbox. Not stated by the CRI for this case, which is that of a reboot.
    """
    runtime = faulty_runtime.runtime
    files = namespace_files(runtime, pod)
    with runtime.down():
        unmount(files)

    faulty_runtime.remove(pod.id)

    assert pod.entries() == []
    assert [file for file in files if file.exists()] == []


@requirement("RST-18")
def test_address_is_released_if_the_network_is_configured_late_after_a_reboot(
    own_runtime: OwnRuntime,
) -> None:
    """The address of a pod from before a reboot MUST be released, at the latest when the listed pod is
    removed, also if the CNI configuration is written only after the daemon has started.

    Source: StopPodSandbox, which reclaims the network resources of the sandbox. Network plugins write their
    configuration from a pod, and so after the daemon has started.
    """
    pod = own_runtime.sandbox()
    address = pod.status().network.ip
    conflist = own_runtime.conflist
    hidden, daemon = conflist.rename(conflist.with_suffix(".late")), own_runtime.daemon.pid

    def has_no_network() -> bool:
        try:
            status = own_runtime.stub.Status(cri.StatusRequest()).status
        except grpc.RpcError:
            return False
        conditions = {each.type: each.status for each in status.conditions}
        return own_runtime.daemon.pid != daemon and not conditions["NetworkReady"]

    with ThreadPoolExecutor(1) as thread:
        # returns only when the network is ready
        reboot = thread.submit(own_runtime.reboot)
        own_runtime.eventually("the next daemon to be without a network", has_no_network, RELEASE_SECONDS)
        hidden.rename(conflist)
        reboot.result()

    for entry in pod.entries():
        stop = cri.StopPodSandboxRequest(pod_sandbox_id=entry.id)
        own_runtime.retry_until_ok("StopPodSandbox", lambda stop=stop: own_runtime.stub.StopPodSandbox(stop))  # type: ignore[misc]  # mypy cannot type a lambda's default
        own_runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=entry.id))
    until_released(own_runtime, address)
