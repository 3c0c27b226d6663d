"""SBX: StopPodSandbox, and what is left of a stopped sandbox."""

import secrets
import subprocess
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime
from critests.fixtures.sandboxes import Sandboxes
from critests.lifecycle.process import host_processes
from critests.lifecycle.sandboxes import Sandbox
from critests.node.remains import mount_table
from critests.run.marks import requirement, requires
from critests.run.outcomes import blocked, unsupported


@requirement("SBX-12")
def test_stop_pod_sandbox_ends_the_sandbox(runtime: Runtime, own_sandbox: Sandbox) -> None:
    """StopPodSandbox MUST make the sandbox not ready, in its status and in the list.

    Source: StopPodSandbox, PodSandbox.state.
    """
    before = [entry.state for entry in own_sandbox.entries()]

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert own_sandbox.state() == cri.SANDBOX_NOTREADY
    assert before == [cri.SANDBOX_READY]
    assert [entry.state for entry in own_sandbox.entries()] == [cri.SANDBOX_NOTREADY]


@requirement("SBX-12")
def test_stop_pod_sandbox_ends_its_containers(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StopPodSandbox MUST end every running container of the sandbox.

    Source: StopPodSandbox, ListContainers.
    """
    both = [containers.running(on_term="exit 3", in_sandbox=own_sandbox) for _ in range(2)]

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    listed = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(pod_sandbox_id=own_sandbox.id))
    ).containers
    assert {item.id: item.state for item in listed} == {
        container.id: cri.CONTAINER_EXITED for container in both
    }


@requirement("SBX-12")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_no_process_of_a_container_survives_stop_pod_sandbox(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """When StopPodSandbox returns, the kernel MUST NOT know the processes of the sandbox's containers any
    more.

    Source: StopPodSandbox.
    """
    # `:` does nothing with its arguments; they are there to be seen in the process table
    token = f"critests-{secrets.token_hex(8)}"
    containers.running(first=f": {token}", on_term="exit 3", in_sandbox=own_sandbox)
    if not host_processes(token):
        blocked(
            "the processes of containers cannot be seen from here; run the suite in the PID namespace of the"
            " machine"
        )

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert host_processes(token) == {}


@requirement("SBX-14/deadline")
def test_stop_pod_sandbox_ends_containers_that_ignore_the_signal(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StopPodSandbox MUST end a container that ignores SIGTERM before the client's deadline, and report it as
    exited.

    Source: StopPodSandbox. Some runtimes wait for nearly all of the deadline before they kill; whether the
    answer still comes is left open.
    """
    container = containers.running(on_term="", in_sandbox=own_sandbox)

    # less than StopPodSandbox has elsewhere, where a deadline that passes is a hang
    stop = runtime.stub.StopPodSandbox.future(
        cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id), timeout=15 * runtime.scale
    )

    assert stop.code() in {grpc.StatusCode.OK, grpc.StatusCode.DEADLINE_EXCEEDED}, stop.details()
    container.exited()


@requirement("SBX-14/at-once")
def test_stop_pod_sandbox_does_not_use_up_the_deadline(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StopPodSandbox SHOULD kill what ignores SIGTERM at once instead of at the end of the client's deadline.

    Source: StopPodSandbox. Not stated by the CRI; the kubelet has waited for the grace period by then.
    """
    containers.running(on_term="", in_sandbox=own_sandbox)

    call = runtime.timed(
        runtime.stub.StopPodSandbox,
        cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id),
        timeout=15 * runtime.scale,
    )

    # the client's deadline is far longer; a kill takes as long as a busy machine needs
    assert call.seconds < 5 * runtime.scale


@requirement("SBX-14/answered")
def test_stop_pod_sandbox_of_what_ignores_the_signal_is_answered(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """The first StopPodSandbox of a pod whose container ignores SIGTERM SHOULD succeed before the client's
    deadline.

    Source: StopPodSandbox. Not stated by the CRI; the kubelet would make an event of every such pod.
    """
    containers.running(on_term="", in_sandbox=own_sandbox)

    # a tenth more than whole seconds: who gives a container all whole ones has nothing left for its pod
    stop = runtime.stub.StopPodSandbox.future(
        cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id), timeout=15 * runtime.scale + 0.1
    )

    assert stop.code() is grpc.StatusCode.OK


@requirement("SBX-15")
def test_stop_pod_sandbox_is_idempotent(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """StopPodSandbox MUST succeed for a sandbox that is stopped already, however often.

    Source: StopPodSandbox.
    """
    stopped = sandboxes.in_state(cri.SANDBOX_NOTREADY)

    for _ in range(2):
        runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=stopped.id))

    assert stopped.state() == cri.SANDBOX_NOTREADY


@requirement("SBX-16")
def test_stop_pod_sandbox_of_an_unknown_id_succeeds(runtime: Runtime) -> None:
    """StopPodSandbox SHOULD succeed for an id that never was.

    Source: StopPodSandbox. Not stated by the CRI; the kubelet cannot know what became of a sandbox.
    """
    # the form of an id, and no object's
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id="0" * 64))


@requirement("SBX-16")
def test_stop_pod_sandbox_of_a_removed_sandbox_succeeds(runtime: Runtime, own_sandbox: Sandbox) -> None:
    """StopPodSandbox SHOULD succeed for a sandbox that has been removed.

    Source: StopPodSandbox. Not stated by the CRI; the kubelet cannot know what became of a sandbox.
    """
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))


@requirement("SBX-17")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_stop_pod_sandbox_succeeds_without_the_network_namespace(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StopPodSandbox MUST succeed when the file that held the pod's network namespace has been taken away.

    Source: StopPodSandbox, no error where what it takes back is gone already; after a crash the file may be
    gone, and the pod must still end.
    """
    namespace = containers.running(in_sandbox=own_sandbox).output("readlink", "/proc/self/ns/net")
    pins = [point for root, point, _ in mount_table() if root == namespace]
    if not pins:
        unsupported(
            "the runtime keeps no file for a pod's network namespace: the mount table does not name"
            f" {namespace}"
        )
    # lazily: a mount that is in use would not go otherwise
    for point in pins:
        subprocess.run(["umount", "--lazy", point], check=True)
        Path(point).unlink(missing_ok=True)

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert own_sandbox.state() == cri.SANDBOX_NOTREADY


@requirement("SBX-35/end")
def test_containers_of_a_stopped_sandbox_tell_how_they_ended(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """After StopPodSandbox its containers MUST stay listed as exited, with an exit code and the time of their
    end.

    Source: StopPodSandbox, ContainerStatus.
    """
    container = containers.running(on_term="exit 3", in_sandbox=own_sandbox)

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    listed = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(id=container.id))
    ).containers
    status = runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=container.id)).status
    assert [item.state for item in listed] == [cri.CONTAINER_EXITED]
    # its own, or that of SIGKILL or SIGTERM: a stopping pod owes its processes no grace period
    assert status.exit_code in {3, 128 + 9, 128 + 15}
    assert status.finished_at > status.started_at > 0


@requirement("SBX-35/reason")
def test_containers_of_a_stopped_sandbox_have_a_reason(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """After StopPodSandbox its containers SHOULD tell a reason for their end.

    Source: ContainerStatus.reason; which one is set is stated for the exit code 0 only.
    """
    container = containers.running(on_term="exit 3", in_sandbox=own_sandbox)

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    status = runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=container.id)).status
    assert status.reason != ""


@requirement("SBX-36")
@pytest.mark.parametrize("rpc", ["StopPodSandbox", "StopContainer"])
def test_stopping_does_not_rewrite_how_a_container_ended(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, rpc: str
) -> None:
    """StopPodSandbox and StopContainer MUST NOT change exit code, reason or end of a container that had ended
    by itself.

    Source: StopContainer, StopPodSandbox, ContainerStatus.
    """
    container = containers.exited(script="exit 7", in_sandbox=own_sandbox)
    before = container.status()

    if rpc == "StopContainer":
        runtime.stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=1))
    else:
        runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    after = container.status()
    assert after.exit_code == 7
    assert (after.exit_code, after.reason, after.finished_at) == (
        before.exit_code,
        before.reason,
        before.finished_at,
    )


@requirement("SBX-37")
def test_stopped_sandbox_stays_known_with_all_it_was(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """A stopped sandbox MUST stay in PodSandboxStatus and ListPodSandbox with metadata, creation time and
    annotations.

    Source: PodSandboxStatus, PodSandbox.
    """
    stopped = sandboxes.ready(attempt=2, annotations={"critests.example/kept": "as it was"})
    before = stopped.status()

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=stopped.id))

    listed = runtime.stub.ListPodSandbox(
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id=stopped.id))
    ).items
    assert [item.id for item in listed] == [stopped.id]
    for seen in (stopped.status(), listed[0]):
        assert seen.state == cri.SANDBOX_NOTREADY
        assert seen.metadata == stopped.config.metadata
        assert seen.created_at == before.created_at > 0
        assert dict(seen.annotations) == dict(stopped.config.annotations)
