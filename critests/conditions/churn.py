"""The condition `churn`: pods with containers come and go on the runtime under test."""

from typing import Final

from critests.api import api_pb2 as cri
from critests.conditions.background_client import CONDITION_LABEL, BackgroundClient
from critests.conditions.condition_table import CHURN
from critests.lifecycle.requests import HOST_NETWORK

NAMESPACE: Final = "critests-churn"
COMMAND: Final = ("/bin/sh", "-c", "trap 'exit 0' TERM; while :; do sleep 0.1; done")
LONGEST_PAUSE_SECONDS: Final = 0.2
"""Long enough for a machine with two cores to run tests as well."""


def churn(client: BackgroundClient) -> None:
    """Create a pod with containers and remove it again, in one of the orders that a kubelet may choose."""
    namespaces = client.random.choice((None, HOST_NETWORK))
    labels = {CONDITION_LABEL: CHURN}
    pod = client.requests.sandbox(namespace=NAMESPACE, labels=labels, namespaces=namespaces)
    # one cgroup for all, because nothing removes thousands of them before the end of the run
    pod.linux.cgroup_parent = client.requests.cgroups.of_pod(CHURN)
    sandbox = client.call(
        "RunPodSandbox", cri.RunPodSandboxRequest(config=pod, runtime_handler=client.handler)
    )
    if sandbox is None:
        client.pause(LONGEST_PAUSE_SECONDS)
        return
    for _ in range(client.random.choice((1, 1, 2)) if client.image is not None else 0):
        _container(client, sandbox.pod_sandbox_id, pod)
    client.pause(LONGEST_PAUSE_SECONDS)
    client.call("StopPodSandbox", cri.StopPodSandboxRequest(pod_sandbox_id=sandbox.pod_sandbox_id))
    client.call("RemovePodSandbox", cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox.pod_sandbox_id))
    client.pause(LONGEST_PAUSE_SECONDS)


def _container(client: BackgroundClient, sandbox_id: str, pod: cri.PodSandboxConfig) -> None:
    """Create a container; mostly start it, run a command in it, and stop and remove it before its pod."""
    assert client.image is not None
    config = client.requests.container(
        client.image,
        pod=pod.metadata,
        command=COMMAND,
        labels={CONDITION_LABEL: CHURN},
        namespaces=pod.linux.security_context.namespace_options,
    )
    created = client.call(
        "CreateContainer",
        cri.CreateContainerRequest(pod_sandbox_id=sandbox_id, config=config, sandbox_config=pod),
    )
    if created is None:
        return
    identity = created.container_id
    if client.random.random() < 0.9:
        client.call("StartContainer", cri.StartContainerRequest(container_id=identity))
    if client.random.random() < 0.5:
        client.call("ExecSync", cri.ExecSyncRequest(container_id=identity, cmd=["/bin/true"], timeout=10))
    if client.random.random() < 0.7:
        grace = client.random.choice((0, 1, 10))
        client.call("StopContainer", cri.StopContainerRequest(container_id=identity, timeout=grace))
        client.call("RemoveContainer", cri.RemoveContainerRequest(container_id=identity))
