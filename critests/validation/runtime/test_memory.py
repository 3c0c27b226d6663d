"""GEN: the memory that the daemon uses after many pods have come and gone."""

from collections.abc import Callable
from functools import partial

from critests.api import api_pb2 as cri
from critests.runtimes.runtime_settings import MemoryProfiles
from critests.testing import (
    Capability,
    OwnRuntime,
    configured,
    disruptive,
    may_be_refused,
    requirement,
    slow,
)

FIRST, MORE = 20, 30
"""Pods before the first measurement, by then the daemon holds what it needs only once; and pods after it."""
BYTES_OF_A_POD = 24 << 10
"""Limit of the increase for each pod: runtimes without a leak stay below 10 KiB, as maps and pools grow."""
NO_PROGRAM = "/bin/critests-no-such-program"


def live_and_remove(own_runtime: OwnRuntime) -> None:
    """Create a pod with a container, ask for everything about them as the kubelet does, run commands that
    succeed and fail, and remove the pod.
    """
    stub, containers, pod = own_runtime.stub, own_runtime.containers, own_runtime.sandbox()
    running = containers.running(in_sandbox=pod)
    # what fails may not take memory either
    with may_be_refused():
        containers.attempt(containers.config(command=[NO_PROGRAM]), in_sandbox=pod)
    calls: list[Callable[[], object]] = [
        partial(stub.ExecSync, running.exec_request("true")),
        partial(stub.ExecSync, running.exec_request(NO_PROGRAM)),
        partial(stub.ContainerStats, cri.ContainerStatsRequest(container_id=running.id)),
        partial(stub.ListContainerStats, cri.ListContainerStatsRequest()),
    ]
    if own_runtime.has(Capability.POD_STATS):
        calls.append(partial(stub.ListPodSandboxStats, cri.ListPodSandboxStatsRequest()))
    if own_runtime.has(Capability.METRICS):
        calls.append(partial(stub.ListPodSandboxMetrics, cri.ListPodSandboxMetricsRequest()))
    for call in calls:
        with may_be_refused():
            call()
    stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))
    stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))


@requirement("GEN-22")
@slow
@disruptive
@configured(MemoryProfiles())
def test_removed_pods_take_no_memory_of_the_daemon(own_runtime: OwnRuntime) -> None:
    """RemovePodSandbox SHOULD free the memory that the daemon uses for a pod and its containers.

    Source: RemovePodSandbox; not stated by the CRI, on a node pods come and go for months.
    """
    for _ in range(FIRST):
        live_and_remove(own_runtime)
    before = own_runtime.live_memory

    for _ in range(MORE):
        live_and_remove(own_runtime)

    assert (own_runtime.live_memory - before) // MORE < BYTES_OF_A_POD
