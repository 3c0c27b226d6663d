"""K8S: restarts by the kubelet of crashed containers and of pods whose sandbox has died."""

import os
import signal
from pathlib import Path

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    GRACE_SECONDS,
    TERMINATION_LOG,
    Capability,
    Container,
    Runtime,
    Sandbox,
    process_of_sandbox,
    requirement,
    requires,
)
from critests.validation.kubelet.pods import KubeletPod


@requirement("K8S-16")
def test_a_crash_loop_increments_the_attempt(runtime: Runtime, pod: KubeletPod) -> None:
    """CreateContainer MUST create each next attempt at a container that crashes repeatedly, under the same
    name, while the kubelet removes all but the newest exited ones; each exit code MUST be reported.

    Source: ContainerMetadata.attempt; what the kubelet does for CrashLoopBackOff.
    """
    sandbox = pod.start()
    codes: list[tuple[int, int]] = []
    dead: list[Container] = []

    for attempt in range(5):
        app = pod.run(sandbox, "app", attempt, script=f"exit {10 + attempt}")
        status = app.exited()
        codes.append((status.metadata.attempt, status.exit_code))
        dead.append(app)
        if attempt > 1:
            oldest = dead.pop(0)
            runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=oldest.id))

    pod.await_states("app/3 EXITED", "app/4 EXITED", "sandbox/0 READY")
    assert codes == [(0, 10), (1, 11), (2, 12), (3, 13), (4, 14)]


@requirement("K8S-16")
def test_log_and_status_of_a_crash_survive_the_next_attempt(pod: KubeletPod) -> None:
    """Log and status of a crashed attempt MUST NOT change while the next one runs.

    Source: ContainerStatus, ContainerConfig.log_path; what `kubectl logs --previous` shows.
    """
    sandbox = pod.start()
    crashed = pod.run(sandbox, "app", first="echo before the crash", on_term="exit 9")
    crashed.wait_for_log("ready")
    crashed.exec("/bin/sh", "-c", "kill -TERM 1")
    before, log = crashed.exited(), crashed.log_lines()

    again = pod.run(sandbox, "app", attempt=1, first="echo after the crash")

    again.wait_for_log("after the crash")
    after = crashed.status()
    assert (after.exit_code, after.reason, after.finished_at) == (9, before.reason, before.finished_at)
    assert after.log_path == str(crashed.log_path)
    assert crashed.log_lines() == log == ["before the crash", "ready"]
    assert again.log_lines() == ["after the crash"]


@requirement("K8S-16")
@requires(Capability.SAME_HOST)
def test_a_termination_message_reaches_the_kubelet(pod: KubeletPod, host_folder: Path) -> None:
    """A container's termination message MUST be in the file of the host that the kubelet mounts for it when
    the container has exited.

    Source: ContainerConfig.mounts; the kubelet's terminationMessagePath.
    """
    message = host_folder / "message"
    message.touch()
    mounts = [cri.Mount(container_path=TERMINATION_LOG, host_path=str(message))]
    sandbox = pod.start()

    app = pod.run(sandbox, "app", script=f"echo the message > {TERMINATION_LOG}; exit 1", mounts=mounts)

    assert app.exited().exit_code == 1
    assert message.read_text(encoding="utf-8") == "the message\n"


def restart_pod(runtime: Runtime, pod: KubeletPod, old: Sandbox, app: Container) -> tuple[Sandbox, Container]:
    """Do what the kubelet does when a sandbox is not ready: stop the rest of the pod, and start it with the
    next attempts.
    """
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=app.id, timeout=GRACE_SECONDS))
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=old.id))
    new = pod.start(attempt=1)
    return new, pod.run(new, "app", attempt=1, first="echo up again")


@requirement("K8S-06")
def test_a_pod_whose_sandbox_was_stopped_is_restarted(runtime: Runtime, pod: KubeletPod) -> None:
    """RunPodSandbox and CreateContainer MUST create the next attempts of a pod whose sandbox was stopped,
    under the same names, while the old ones still exist.

    Source: PodSandboxMetadata.attempt, ContainerMetadata.attempt; what the kubelet does.
    """
    old = pod.start()
    app = pod.run(old, "app")
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=old.id))
    pod.await_states("app/0 EXITED", "sandbox/0 NOTREADY")

    new, again = restart_pod(runtime, pod, old, app)

    pod.await_states("app/0 EXITED", "app/1 RUNNING", "sandbox/0 NOTREADY", "sandbox/1 READY")
    again.wait_for_log("up again")
    assert new.status().network.ip != ""


@pytest.fixture
def killed_pod(pod: KubeletPod) -> tuple[Sandbox, Container]:
    """The sandbox of a pod, whose process was killed without the runtime, and the container in it."""
    old = pod.start()
    app = pod.run(old, "app")
    os.kill(process_of_sandbox(old), signal.SIGKILL)
    return old, app


@requirement("K8S-06")
@requires(Capability.SANDBOX_PROCESS, Capability.SHARED_KERNEL, Capability.ROOT)
def test_a_pod_whose_sandbox_process_was_killed_is_restarted(
    runtime: Runtime, pod: KubeletPod, killed_pod: tuple[Sandbox, Container]
) -> None:
    """PodSandboxStatus MUST report a sandbox whose process has died as not ready, and the next attempts of
    the pod MUST start under the same names.

    Source: PodSandboxState, PodSandboxMetadata.attempt, ContainerMetadata.attempt; what the kubelet does.
    """
    old, app = killed_pod
    runtime.eventually(
        "the sandbox to be not ready", old.state, holds=lambda state: state == cri.SANDBOX_NOTREADY
    )

    restart_pod(runtime, pod, old, app)

    pod.await_states("app/0 EXITED", "app/1 RUNNING", "sandbox/0 NOTREADY", "sandbox/1 READY")
