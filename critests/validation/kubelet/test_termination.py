"""K8S: the end of a pod: gracefully, with a pre-stop hook, or by eviction."""

import grpc

from critests.api import api_pb2 as cri
from critests.testing import GRACE_SECONDS, Runtime, may_be_refused, requirement
from critests.validation.kubelet.pods import KubeletPod


@requirement("K8S-09")
def test_a_pod_terminates_gracefully(runtime: Runtime, pod: KubeletPod) -> None:
    """The kubelet's calls to end a pod MUST each have their effect: the pre-stop hook runs before the signal,
    the process exits by itself, its log stays readable, and then everything is removed.

    Source: what the kubelet calls: ExecSync, StopContainer, StopPodSandbox, RemoveContainer,
    RemovePodSandbox.
    """
    sandbox = pod.start()
    # `sleep 1`, as the last output before an exit may get lost, which only LOG-15 is about
    app = pod.run(sandbox, "app", on_term="cat /tmp/hook; echo bye; sleep 1; exit 0")
    app.wait_for_log("ready")

    runtime.stub.ExecSync(app.script_request("echo drained > /tmp/hook", timeout=GRACE_SECONDS))
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=app.id, timeout=GRACE_SECONDS))
    pod.await_states("app/0 EXITED", "sandbox/0 READY")
    assert app.exited().exit_code == 0

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=sandbox.id))
    pod.await_states("app/0 EXITED", "sandbox/0 NOTREADY")
    assert app.log_lines() == ["ready", "drained", "bye"]

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=app.id))
    pod.await_states("sandbox/0 NOTREADY")
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox.id))
    pod.await_states()


@requirement("K8S-09")
def test_a_pre_stop_hook_that_hangs_does_not_block_the_stop(runtime: Runtime, pod: KubeletPod) -> None:
    """StopContainer MUST stop a container whose pre-stop hook timed out, like any other container, and end
    the hook.

    Source: ExecSyncRequest.timeout, StopContainer; what the kubelet does when the grace period ends in the
    hook.
    """
    sandbox = pod.start()
    app = pod.run(sandbox, "app", on_term="exit 5")
    app.wait_for_log("ready")

    with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        runtime.stub.ExecSync(app.exec_request("sleep", "600", timeout=1))
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=app.id, timeout=2))

    pod.await_states("app/0 EXITED", "sandbox/0 READY")
    assert app.status().exit_code == 5


@requirement("K8S-18")
def test_the_containers_of_an_evicted_pod_are_killed_together(runtime: Runtime, pod: KubeletPod) -> None:
    """StopContainer, called at once for all containers of an evicted pod, MUST kill those that ignore SIGTERM
    at the same time, after the short grace period, and the pod MUST be removable.

    Source: StopContainerRequest.timeout; what the kubelet does under pressure.
    """
    sandbox = pod.start()
    names = ["one", "two", "three", "four"]
    # none of them exits at SIGTERM, so that each takes the whole grace period
    ignoring = [pod.run(sandbox, name, on_term="") for name in names]
    for container in ignoring:
        container.wait_for_log("ready")

    stops = [
        # the grace period of a hard eviction is one second
        runtime.stub.StopContainer.future(cri.StopContainerRequest(container_id=container.id, timeout=1))
        for container in ignoring
    ]
    for stop in stops:
        stop.result()
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=sandbox.id))

    pod.await_states(*(f"{name}/0 EXITED" for name in names), "sandbox/0 NOTREADY")
    ends = [container.status() for container in ignoring]
    assert {end.exit_code for end in ends} == {128 + 9}  # SIGKILL
    apart = (max(end.finished_at for end in ends) - min(end.finished_at for end in ends)) / 1e9
    # four containers stopped one after the other would end 3 s apart
    assert apart < 1.5 * runtime.scale
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox.id))
    pod.await_states()
