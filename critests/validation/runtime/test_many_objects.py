"""CNC, GEN: hundreds of containers on a node, and responses above the message limit."""

from concurrent.futures import ThreadPoolExecutor

import grpc

from critests.api import api_pb2 as cri
from critests.testing import OwnRuntime, disruptive, requirement, slow
from critests.validation.runtime.concurrent_calls import reads_about

MANY, AT_ONCE, PODS = 300, 8, 3
READ_SECONDS = 5.0
"""Limit for calls that only read, before scaling."""
LARGE, ENOUGH = {"example.com/large": "x" * 200_000}, 88
"""An annotation below the 256 KiB that Kubernetes allows, and the number of containers with it whose list
exceeds the 16 MiB that a client accepts.
"""


@requirement("CNC-14")
@disruptive
@slow
def test_reads_return_in_time_with_hundreds_of_containers(own_runtime: OwnRuntime) -> None:
    """Status, statistics and lists SHOULD be returned within seconds on a node with hundreds of containers.

    Source: ListContainers. Not stated by the CRI; the kubelet lists all containers every second.
    """
    pods, containers = [own_runtime.sandbox() for _ in range(PODS)], own_runtime.containers
    one = containers.running(in_sandbox=pods[0])
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for call in [
            threads.submit(containers.created, in_sandbox=pods[number % PODS]) for number in range(MANY)
        ]:
            call.result()

    late = {}
    for name, read, request in reads_about(own_runtime, one):
        seconds = own_runtime.timed(read, request).seconds
        if seconds > READ_SECONDS * own_runtime.scale:
            late[name] = seconds
    listed = own_runtime.timed(own_runtime.stub.ListContainers, cri.ListContainersRequest())

    assert late == {}
    # the created ones and the running one
    assert len(listed.response.containers) == MANY + 1
    assert listed.seconds < READ_SECONDS * own_runtime.scale


@requirement("GEN-05")
@disruptive
@slow
def test_response_above_the_message_limit_fails_alone(own_runtime: OwnRuntime) -> None:
    """A response larger than its client accepts SHOULD fail with ResourceExhausted, and later calls SHOULD
    succeed.

    Source: ListContainers; the gRPC status codes. Not stated by the CRI; the kubelet lists all containers.
    """
    pod, containers = own_runtime.sandbox(), own_runtime.containers
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for call in [
            threads.submit(containers.created, in_sandbox=pod, annotations=LARGE) for _ in range(ENOUGH)
        ]:
            call.result()

    code = own_runtime.refusal(own_runtime.stub.ListContainers, cri.ListContainersRequest())

    one = cri.ListContainersRequest(filter=cri.ContainerFilter(id=pod.container_ids[0]))
    assert len(own_runtime.stub.ListContainers(one).containers) == 1
    assert own_runtime.damage() == ""
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
