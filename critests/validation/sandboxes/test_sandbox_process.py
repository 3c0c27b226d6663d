"""SBX: the process that a runtime may run for each sandbox, and the image of that process."""

import os
import signal

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Containers,
    Runtime,
    Sandbox,
    Sandboxes,
    blocked,
    not_under,
    process_of_sandbox,
    remains_of,
    requirement,
    requires,
)


@pytest.fixture
def killed_sandbox(own_sandbox: Sandbox) -> Sandbox:
    """A sandbox of this test whose process has been killed without the runtime."""
    pid = process_of_sandbox(own_sandbox)
    # the kernel drops signals to PID 1 of a PID namespace that it does not handle, but not a SIGKILL from the
    # parent namespace
    os.kill(pid, signal.SIGKILL)
    return own_sandbox


@requirement("SBX-18")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
def test_stop_pod_sandbox_succeeds_when_its_process_was_killed(
    runtime: Runtime, killed_sandbox: Sandbox
) -> None:
    """StopPodSandbox MUST succeed for a sandbox whose process has been killed.

    Source: StopPodSandbox.
    """
    runtime.eventually(
        "the sandbox to be not ready",
        killed_sandbox.state,
        seconds=10,
        holds=lambda state: state == cri.SANDBOX_NOTREADY,
    )

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=killed_sandbox.id))

    assert killed_sandbox.state() == cri.SANDBOX_NOTREADY


@requirement("SBX-28")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
def test_list_reports_the_death_of_the_sandbox_process(runtime: Runtime, killed_sandbox: Sandbox) -> None:
    """ListPodSandbox MUST report a sandbox as not ready within seconds of the death of its process.

    Source: PodSandbox.state.
    """
    request = cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id=killed_sandbox.id))

    runtime.eventually(
        "the sandbox to be listed as not ready",
        lambda: [item.state for item in runtime.stub.ListPodSandbox(request).items],
        seconds=10,
        holds=lambda states: states == [cri.SANDBOX_NOTREADY],
    )


@requirement("SBX-28")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
def test_pod_whose_process_died_can_be_created_again(
    runtime: Runtime, killed_sandbox: Sandbox, sandboxes: Sandboxes
) -> None:
    """RunPodSandbox MUST create the next attempt of a pod after a sandbox whose process has died was stopped
    and removed.

    Source: PodSandboxMetadata.attempt.
    """
    again = cri.PodSandboxConfig()
    again.CopyFrom(killed_sandbox.config)
    again.metadata.attempt += 1
    runtime.eventually(
        "the sandbox to be not ready",
        killed_sandbox.state,
        seconds=10,
        holds=lambda state: state == cri.SANDBOX_NOTREADY,
    )

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=killed_sandbox.id))
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=killed_sandbox.id))
    response = runtime.stub.RunPodSandbox(sandboxes.creation(again))

    assert sandboxes.adopt(response.pod_sandbox_id, again).state() == cri.SANDBOX_READY


@requirement("SBX-27")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
@not_under("killed-monitors", reason="it checks that the shim ends by itself")
def test_removal_of_a_pod_whose_sandbox_process_died_leaves_nothing(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """RemovePodSandbox SHOULD leave no mount, no process and no cgroup of a sandbox whose process was killed
    while a container ran in it.

    Source: RemovePodSandbox.
    """
    container = containers.running(in_sandbox=own_sandbox)
    os.kill(process_of_sandbox(own_sandbox), signal.SIGKILL)
    runtime.eventually(
        "the sandbox to be not ready",
        own_sandbox.state,
        seconds=10,
        holds=lambda state: state == cri.SANDBOX_NOTREADY,
    )
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    runtime.eventually(
        "the traces of the pod to go",
        lambda: remains_of(own_sandbox.id, container.id),
        seconds=10,
        holds=lambda left: not left,
    )


@requirement("SBX-37")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
def test_status_of_a_sandbox_whose_process_died(runtime: Runtime, killed_sandbox: Sandbox) -> None:
    """PodSandboxStatus MUST return metadata and creation time of a sandbox whose process has died.

    Source: PodSandboxStatus.
    """
    status = runtime.eventually(
        "the sandbox to be not ready",
        killed_sandbox.status,
        seconds=10,
        holds=lambda status: status.state == cri.SANDBOX_NOTREADY,
    )

    assert status.metadata == killed_sandbox.config.metadata
    assert status.created_at > 0


@requirement("SBX-37")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
def test_verbose_status_of_a_sandbox_whose_process_died(runtime: Runtime, killed_sandbox: Sandbox) -> None:
    """PodSandboxStatus with verbose MUST succeed for a sandbox whose process has died.

    Source: PodSandboxStatusRequest.verbose.
    """
    runtime.eventually(
        "the sandbox to be not ready",
        killed_sandbox.state,
        seconds=10,
        holds=lambda state: state == cri.SANDBOX_NOTREADY,
    )

    response = runtime.stub.PodSandboxStatus(
        cri.PodSandboxStatusRequest(pod_sandbox_id=killed_sandbox.id, verbose=True)
    )

    assert response.status.metadata == killed_sandbox.config.metadata


@requirement("SBX-33")
@requires(Capability.SANDBOX_PROCESS)
def test_image_of_the_sandbox_process_is_pinned(runtime: Runtime, own_sandbox: Sandbox) -> None:
    """Image.pinned of the image of sandbox processes SHOULD be true.

    Source: Image.pinned.
    """
    name = own_sandbox.verbose_value("image")
    if not isinstance(name, str) or not name:
        blocked("the verbose status of a sandbox does not name the image of its process")

    response = runtime.images.ImageStatus(cri.ImageStatusRequest(image=cri.ImageSpec(image=name)))

    assert response.image.pinned, f"{name} is not pinned"
