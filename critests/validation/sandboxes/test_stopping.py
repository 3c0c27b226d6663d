"""SBX: StopPodSandbox, and what remains of a stopped sandbox."""

import secrets
import subprocess
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Containers,
    Runtime,
    Sandbox,
    Sandboxes,
    blocked,
    host_processes,
    mount_table,
    requirement,
    requires,
    unsupported,
)


@requirement("SBX-12")
def test_stop_pod_sandbox_makes_the_sandbox_not_ready(runtime: Runtime, own_sandbox: Sandbox) -> None:
    """StopPodSandbox MUST make the sandbox not ready, in PodSandboxStatus and in ListPodSandbox.

    Source: StopPodSandbox, PodSandbox.state.
    """
    before = [entry.state for entry in own_sandbox.entries()]

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert own_sandbox.state() == cri.SANDBOX_NOTREADY
    assert before == [cri.SANDBOX_READY]
    assert [entry.state for entry in own_sandbox.entries()] == [cri.SANDBOX_NOTREADY]


@requirement("SBX-12")
def test_stop_pod_sandbox_stops_its_containers(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StopPodSandbox MUST stop every running container of the sandbox.

    Source: StopPodSandbox, ListContainers.
    """
    # these exit at SIGTERM; other tests are about containers that ignore it
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
    """StopPodSandbox MUST return only once no process of the sandbox's containers exists.

    Source: StopPodSandbox.
    """
    # `:` ignores its arguments; the token identifies the process in the process table
    token = f"critests-{secrets.token_hex(8)}"
    containers.running(first=f": {token}", on_term="exit 3", in_sandbox=own_sandbox)
    if not host_processes(token):
        blocked(
            "the processes of containers are not visible from here; run the suite in the PID namespace of the"
            " machine"
        )

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert host_processes(token) == {}


@requirement("SBX-14/deadline")
def test_stop_pod_sandbox_kills_containers_that_ignore_sigterm(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StopPodSandbox MUST kill a container that ignores SIGTERM before the client's deadline, and the
    container MUST be reported as exited.

    Source: StopPodSandbox. Some runtimes wait for nearly all of the deadline before they kill; this test does
    not require that the response arrives.
    """
    container = containers.running(on_term="", in_sandbox=own_sandbox)

    # shorter than the usual deadline of StopPodSandbox, at which a call counts as hanging
    stop = runtime.stub.StopPodSandbox.future(
        cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id), timeout=15 * runtime.scale
    )

    assert stop.code() in {grpc.StatusCode.OK, grpc.StatusCode.DEADLINE_EXCEEDED}, stop.details()
    container.exited()


@requirement("SBX-14/at-once")
def test_stop_pod_sandbox_does_not_use_up_the_deadline(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StopPodSandbox SHOULD kill processes that ignore SIGTERM at once, not when the client's deadline ends.

    Source: StopPodSandbox. Not stated by the CRI; the kubelet has waited for the grace period by then.
    """
    containers.running(on_term="", in_sandbox=own_sandbox)

    call = runtime.timed(
        runtime.stub.StopPodSandbox,
        cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id),
        timeout=15 * runtime.scale,
    )

    # a third of the deadline: a kill takes only as long as a busy machine needs
    assert call.seconds < 5 * runtime.scale


@requirement("SBX-14/answered")
def test_stop_pod_sandbox_succeeds_if_containers_ignore_sigterm(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StopPodSandbox of a pod whose container ignores SIGTERM SHOULD succeed in the first call before the
    client's deadline.

    Source: StopPodSandbox. Not stated by the CRI; otherwise the kubelet creates an event for every such pod.
    """
    containers.running(on_term="", in_sandbox=own_sandbox)

    # 0.1 s: a runtime that gives a container all whole seconds of the deadline has no time left for the pod
    stop = runtime.stub.StopPodSandbox.future(
        cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id), timeout=15 * runtime.scale + 0.1
    )

    assert stop.code() is grpc.StatusCode.OK


@requirement("SBX-15")
def test_stop_pod_sandbox_is_idempotent(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """StopPodSandbox MUST succeed for a sandbox that is already stopped, any number of times.

    Source: StopPodSandbox.
    """
    stopped = sandboxes.in_state(cri.SANDBOX_NOTREADY)

    for _ in range(2):
        runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=stopped.id))

    assert stopped.state() == cri.SANDBOX_NOTREADY


@requirement("SBX-16")
def test_stop_pod_sandbox_of_an_unknown_id_succeeds(runtime: Runtime, sandbox: Sandbox) -> None:
    """StopPodSandbox SHOULD succeed for an id that never existed, and leave other sandboxes as they are.

    Source: StopPodSandbox. Not stated by the CRI; the kubelet cannot know what happened to a sandbox.
    """
    # formed like an id, but of no object
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id="0" * 64))

    assert sandbox.state() == cri.SANDBOX_READY


@requirement("SBX-16")
def test_stop_pod_sandbox_of_a_removed_sandbox_succeeds(runtime: Runtime, own_sandbox: Sandbox) -> None:
    """StopPodSandbox SHOULD succeed for a sandbox that has been removed.

    Source: StopPodSandbox. Not stated by the CRI; the kubelet cannot know what happened to a sandbox.
    """
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert own_sandbox.entries() == []


@requirement("SBX-17")
@requires(Capability.SHARED_KERNEL, Capability.ROOT)
def test_stop_pod_sandbox_succeeds_without_the_network_namespace(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """StopPodSandbox MUST succeed if the file that pins the pod's network namespace is gone.

    Source: StopPodSandbox, which is no error if the resources to release are gone already; after a crash the
    file may be missing, and the pod must still stop.
    """
    namespace = containers.running(in_sandbox=own_sandbox).output("readlink", "/proc/self/ns/net")
    pins = [point for root, point, _ in mount_table() if root == namespace]
    if not pins:
        unsupported(
            "the runtime has no file for a pod's network namespace: the mount table does not have"
            f" {namespace}"
        )
    # lazily, as unmounting fails while a mount is in use
    for point in pins:
        subprocess.run(["umount", "--lazy", point], check=True)
        Path(point).unlink(missing_ok=True)

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    assert own_sandbox.state() == cri.SANDBOX_NOTREADY


@requirement("SBX-35/end")
def test_containers_of_a_stopped_sandbox_report_their_exit(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """ListContainers and ContainerStatus MUST report the containers of a stopped sandbox as exited, with an
    exit code and the time of their exit.

    Source: StopPodSandbox, ContainerStatus.
    """
    container = containers.running(on_term="exit 3", in_sandbox=own_sandbox)

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    listed = runtime.stub.ListContainers(
        cri.ListContainersRequest(filter=cri.ContainerFilter(id=container.id))
    ).containers
    status = runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=container.id)).status
    assert [item.state for item in listed] == [cri.CONTAINER_EXITED]
    # 3, or that of SIGKILL or SIGTERM: StopPodSandbox gives processes no guaranteed grace period
    assert status.exit_code in {3, 128 + 9, 128 + 15}
    assert status.finished_at > status.started_at > 0


@requirement("SBX-35/reason")
def test_containers_of_a_stopped_sandbox_have_a_reason(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """ContainerStatus SHOULD report a reason for the exit of a stopped sandbox's containers.

    Source: ContainerStatus.reason; the CRI defines its value for the exit code 0 only.
    """
    container = containers.running(on_term="exit 3", in_sandbox=own_sandbox)

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=own_sandbox.id))

    status = runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=container.id)).status
    assert status.reason != ""


@requirement("SBX-36")
@pytest.mark.parametrize("rpc", ["StopPodSandbox", "StopContainer"])
def test_stopping_does_not_change_the_exit_of_a_container(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers, rpc: str
) -> None:
    """StopPodSandbox and StopContainer MUST NOT change exit code, reason or finished_at of a container that
    has already exited.

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
def test_stopped_sandbox_is_still_reported(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """PodSandboxStatus and ListPodSandbox MUST report metadata, creation time and annotations of a stopped
    sandbox.

    Source: PodSandboxStatus, PodSandbox.
    """
    stopped = sandboxes.ready(attempt=2, annotations={"critests.example/note": "as it was"})
    before = stopped.status()

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=stopped.id))

    listed = runtime.stub.ListPodSandbox(
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id=stopped.id))
    ).items
    assert [item.id for item in listed] == [stopped.id]
    for reported in (stopped.status(), listed[0]):
        assert reported.state == cri.SANDBOX_NOTREADY
        assert reported.metadata == stopped.config.metadata
        assert reported.created_at == before.created_at > 0
        assert dict(reported.annotations) == dict(stopped.config.annotations)
