"""K8S: the maximum number of pods on a node."""

import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from critests.api import api_pb2 as cri
from critests.testing import OwnRuntime, blocked, disruptive, requirement
from critests.validation.kubelet.pods import KubeletPod

PODS = 110
"""The kubelet's default for a node."""
BYTES_OF_A_POD = 32 << 20
"""An estimate for a sandbox and an idle container, with the runtime's processes for them."""


@pytest.fixture
def pods_of_a_node(own_runtime: OwnRuntime) -> list[KubeletPod]:
    """The pods of a full node, on the test's own runtime; none has been started."""
    # too little memory would fail the test because of the machine
    needed, free = PODS * BYTES_OF_A_POD, psutil.virtual_memory().available
    if free < needed:
        blocked(f"{PODS} pods may need {needed >> 20} MiB, and {free >> 20} MiB are free")
    sandboxes, containers = own_runtime.sandboxes, own_runtime.containers
    return [KubeletPod(own_runtime, sandboxes, containers, name=f"dense-{number}") for number in range(PODS)]


@requirement("K8S-12")
@disruptive
def test_a_node_runs_the_maximum_number_of_pods(
    own_runtime: OwnRuntime, pods_of_a_node: list[KubeletPod]
) -> None:
    """A runtime SHOULD start the pods of a full node, 99 % of them within five seconds, and then list all of
    them within a second, the period of the kubelet's relist.

    Source: the kubelet's maxPods, and the service level objective of Kubernetes for the start of a pod.
    """

    def start(pod: KubeletPod) -> float:
        begin = time.perf_counter()
        pod.run(pod.start(), "app")
        return time.perf_counter() - begin

    with ThreadPoolExecutor(2) as kubelet:
        seconds = sorted(kubelet.map(start, pods_of_a_node))

    pods = own_runtime.timed(own_runtime.stub.ListPodSandbox, cri.ListPodSandboxRequest())
    containers = own_runtime.timed(own_runtime.stub.ListContainers, cri.ListContainersRequest())
    assert {each.state for each in pods.response.items} == {cri.SANDBOX_READY}
    assert {each.state for each in containers.response.containers} == {cri.CONTAINER_RUNNING}
    assert (len(pods.response.items), len(containers.response.containers)) == (PODS, PODS)
    # the 99th percentile
    assert seconds[PODS * 99 // 100] < 5 * own_runtime.scale
    assert pods.seconds + containers.seconds < 1 * own_runtime.scale
