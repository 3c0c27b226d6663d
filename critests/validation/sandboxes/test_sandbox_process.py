"""SBX: the process that a runtime may keep for each sandbox, and the image that it comes from."""

import os
import signal

import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.runtime import Runtime
from critests.fixtures.sandbox_process import process_of_sandbox
from critests.fixtures.sandboxes import Sandboxes
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import requirement, requires
from critests.run.outcomes import blocked


@pytest.fixture
def orphaned(own_sandbox: Sandbox) -> Sandbox:
    """A sandbox of the test's own whose process has been killed behind the runtime's back."""
    pid = process_of_sandbox(own_sandbox)
    # of signals to process 1 of a PID namespace the kernel drops what it does not handle, but no SIGKILL from
    # outside
    os.kill(pid, signal.SIGKILL)
    return own_sandbox


@requirement("SBX-18")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
def test_stop_pod_sandbox_succeeds_when_its_process_was_killed(runtime: Runtime, orphaned: Sandbox) -> None:
    """StopPodSandbox MUST succeed for a sandbox whose process was killed from outside.

    Source: StopPodSandbox.
    """
    runtime.eventually(
        "the death to be noticed",
        orphaned.state,
        seconds=10,
        holds=lambda state: state == cri.SANDBOX_NOTREADY,
    )

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=orphaned.id))

    assert orphaned.state() == cri.SANDBOX_NOTREADY


@requirement("SBX-28")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
def test_death_of_the_sandbox_process_shows_in_the_list(runtime: Runtime, orphaned: Sandbox) -> None:
    """A sandbox whose process has died MUST be listed as not ready within seconds.

    Source: PodSandbox.state.
    """
    wanted = cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id=orphaned.id))

    runtime.eventually(
        "the sandbox to be listed as not ready",
        lambda: [item.state for item in runtime.stub.ListPodSandbox(wanted).items],
        seconds=10,
        holds=lambda states: states == [cri.SANDBOX_NOTREADY],
    )


@requirement("SBX-28")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
def test_pod_whose_process_died_can_be_made_anew(
    runtime: Runtime, orphaned: Sandbox, sandboxes: Sandboxes
) -> None:
    """A sandbox whose process has died MUST be replaceable: stopped, removed, and made again as the next
    attempt.

    Source: PodSandboxMetadata.attempt.
    """
    again = cri.PodSandboxConfig()
    again.CopyFrom(orphaned.config)
    again.metadata.attempt += 1
    runtime.eventually(
        "the death to be noticed",
        orphaned.state,
        seconds=10,
        holds=lambda state: state == cri.SANDBOX_NOTREADY,
    )

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=orphaned.id))
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=orphaned.id))
    answer = runtime.stub.RunPodSandbox(sandboxes.creation(again))

    assert sandboxes.adopt(answer.pod_sandbox_id, again).state() == cri.SANDBOX_READY


@requirement("SBX-37")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
def test_sandbox_whose_process_died_stays_known(runtime: Runtime, orphaned: Sandbox) -> None:
    """A sandbox whose process has died MUST stay in PodSandboxStatus with its metadata and creation time.

    Source: PodSandboxStatus.
    """
    status = runtime.eventually(
        "the sandbox to be not ready",
        orphaned.status,
        seconds=10,
        holds=lambda status: status.state == cri.SANDBOX_NOTREADY,
    )

    assert status.metadata == orphaned.config.metadata
    assert status.created_at > 0


@requirement("SBX-37")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
def test_sandbox_whose_process_died_is_told_of_at_length(runtime: Runtime, orphaned: Sandbox) -> None:
    """A verbose PodSandboxStatus MUST be answered as well for a sandbox whose process has died.

    Source: PodSandboxStatusRequest.verbose.
    """
    runtime.eventually(
        "the death to be noticed",
        orphaned.state,
        seconds=10,
        holds=lambda state: state == cri.SANDBOX_NOTREADY,
    )

    answer = runtime.stub.PodSandboxStatus(
        cri.PodSandboxStatusRequest(pod_sandbox_id=orphaned.id, verbose=True)
    )

    assert answer.status.metadata == orphaned.config.metadata


@requirement("SBX-33")
@requires(Capability.SANDBOX_PROCESS)
def test_image_of_the_sandbox_process_is_pinned(runtime: Runtime, own_sandbox: Sandbox) -> None:
    """The image that sandbox processes come from SHOULD be reported as pinned.

    Source: Image.pinned.
    """
    name = own_sandbox.verbose_value("image")
    if not isinstance(name, str) or not name:
        blocked("the verbose status of a sandbox does not name the image of its process")

    answer = runtime.images.ImageStatus(cri.ImageStatusRequest(image=cri.ImageSpec(image=name)))

    assert answer.image.pinned, f"{name} is not pinned"
