"""K8S: what the kubelet's relist finds of a pod after each step of its lifecycle."""

from critests.api import api_pb2 as cri
from critests.testing import Runtime, requirement
from critests.validation.kubelet.pods import KubeletPod


@requirement("K8S-02")
def test_a_relist_finds_every_state_of_a_pod(runtime: Runtime, pod: KubeletPod) -> None:
    """ListPodSandbox and ListContainers without a filter MUST list a pod in every state of its lifecycle,
    each sandbox and container once.

    Source: ListPodSandbox and ListContainers, as the kubelet's generic PLEG calls them.
    """
    sandbox = pod.start()
    pod.await_states("sandbox/0 READY")

    app = pod.containers.created(pod.config(sandbox, "app"), in_sandbox=sandbox)
    pod.await_states("app/0 CREATED", "sandbox/0 READY")

    runtime.stub.StartContainer(cri.StartContainerRequest(container_id=app.id))
    pod.await_states("app/0 RUNNING", "sandbox/0 READY")

    runtime.stub.StopContainer(cri.StopContainerRequest(container_id=app.id, timeout=0))
    pod.await_states("app/0 EXITED", "sandbox/0 READY")

    runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=app.id))
    pod.await_states("sandbox/0 READY")

    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=sandbox.id))
    pod.await_states("sandbox/0 NOTREADY")

    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox.id))
    pod.await_states()


@requirement("K8S-02")
def test_the_statuses_of_a_pod_agree_with_its_relist(runtime: Runtime, pod: KubeletPod) -> None:
    """PodSandboxStatus and ContainerStatus MUST report the same state, name and attempt as the lists.

    Source: PodSandboxStatus and ContainerStatus, as the kubelet's generic PLEG calls them after the lists.
    """
    sandbox = pod.start()
    pod.run(sandbox, "app", script="exit 1").exited()
    pod.run(sandbox, "app", attempt=1)
    pod.containers.created(pod.config(sandbox, "debugger"), in_sandbox=sandbox)
    pod.await_states("app/0 EXITED", "app/1 RUNNING", "debugger/0 CREATED", "sandbox/0 READY")

    containers = runtime.stub.ListContainers(cri.ListContainersRequest()).containers
    listed = sandbox.entry()
    status = sandbox.status()
    pod_containers = [each for each in containers if each.pod_sandbox_id == sandbox.id]
    statuses = [
        runtime.stub.ContainerStatus(cri.ContainerStatusRequest(container_id=each.id)).status
        for each in pod_containers
    ]

    assert (status.state, status.metadata) == (listed.state, listed.metadata)
    assert [(each.id, each.state, each.metadata) for each in statuses] == [
        (each.id, each.state, each.metadata) for each in pod_containers
    ]
    assert len(pod_containers) == 3
