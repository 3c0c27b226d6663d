"""K8S: how a pod ends: gracefully, with its pre-stop hooks, or evicted."""

import grpc

from critests.api import api_pb2 as cri
from critests.fixtures.runtime import Runtime, may_be_refused
from critests.lifecycle.kubelet_keys import GRACE_SECONDS
from critests.run.marks import requirement
from critests.validation.kubelet.pods import Pod


@requirement("K8S-09")
def test_a_pod_ends_gracefully(runtime: Runtime, pod: Pod) -> None:
    """The calls by which the kubelet ends a pod MUST each do their part: the pre-stop hook runs before the
    signal, the process ends by itself, its log stays readable, and then everything goes.

    Source: what the kubelet calls: ExecSync, StopContainer, StopPodSandbox, RemoveContainer,
    RemovePodSandbox.
    """
    sandbox = pod.start()
    # it stays a moment: what is printed last may get lost, and that only LOG-15 is about
    app = pod.run(sandbox, "app", on_term="cat /tmp/hook; echo bye; sleep 1; exit 0")
    app.wait_for_log("ready")

    runtime.stub.ExecSync(app.script_request("echo drained > /tmp/hook", timeout=GRACE_SECONDS))
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=app.id, timeout=GRACE_SECONDS))
    pod.shows("app/0 EXITED", "sandbox/0 READY")
    assert app.exited().exit_code == 0

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=sandbox.id))
    pod.shows("app/0 EXITED", "sandbox/0 NOTREADY")
    assert app.log_lines() == ["ready", "drained", "bye"]

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=app.id))
    pod.shows("sandbox/0 NOTREADY")
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox.id))
    pod.shows()


@requirement("K8S-09")
def test_a_pre_stop_hook_that_hangs_does_not_keep_a_pod(runtime: Runtime, pod: Pod) -> None:
    """A container whose pre-stop hook was given up MUST be stopped as any other, and the hook MUST go with
    it.

    Source: ExecSyncRequest.timeout, StopContainer; what the kubelet does when the grace period ends in the
    hook.
    """
    sandbox = pod.start()
    app = pod.run(sandbox, "app", on_term="exit 5")
    app.wait_for_log("ready")

    with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        runtime.stub.ExecSync(app.exec_request("sleep", "600", timeout=1))
    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=app.id, timeout=2))

    pod.shows("app/0 EXITED", "sandbox/0 READY")
    assert app.status().exit_code == 5


@requirement("K8S-18")
def test_an_evicted_pod_ends_at_once(runtime: Runtime, pod: Pod) -> None:
    """All containers of a pod that is evicted MUST end side by side when the short grace period is over, also
    those that ignore the signal, and the pod MUST go.

    Source: StopContainerRequest.timeout; what the kubelet does under pressure.
    """
    sandbox = pod.start()
    names = ["one", "two", "three", "four"]
    stubborn = [pod.run(sandbox, name, on_term="") for name in names]
    for container in stubborn:
        container.wait_for_log("ready")

    stops = [
        runtime.stub.StopContainer.future(cri.StopContainerRequest(container_id=container.id, timeout=1))
        for container in stubborn
    ]
    for stop in stops:
        stop.result()
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=sandbox.id))

    pod.shows(*(f"{name}/0 EXITED" for name in names), "sandbox/0 NOTREADY")
    ends = [container.status() for container in stubborn]
    assert {end.exit_code for end in ends} == {137}
    apart = (max(end.finished_at for end in ends) - min(end.finished_at for end in ends)) / 1e9
    # one after the other they would be 3 s apart
    assert apart < 1.5 * runtime.scale
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox.id))
    pod.shows()
