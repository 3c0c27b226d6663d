"""GEN: requests with an invalid or extreme value in one field, for every field that a runtime reads."""

import contextlib
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.documents.message_values import nonsense_for
from critests.testing import Container, OwnRuntime, disruptive, malformed, pulling, requirement, slow

pytestmark = [malformed, disruptive, slow]

RESPONSE_SECONDS = 60.0
"""Limit for the response to every request, before scaling."""
MOST_CRASHES = 3
"""After this many crashes of the daemon a test sends no more requests."""
SKIPPED = ("windows", "overhead", "sandbox_config")
"""Messages that are not changed: for another operating system, of the same type as the field next to it, and
covered by RunPodSandbox (`test_malformed_requests` leaves it out).
"""

ValidRequest = Callable[[OwnRuntime, Container], Message]

SANDBOXES: dict[str, ValidRequest] = {
    "RunPodSandbox": lambda runtime, _: runtime.sandboxes.creation(runtime.sandboxes.config()),
}
# with a device and a mount, so that their fields are changed, too
CONTAINERS: dict[str, ValidRequest] = {
    "CreateContainer": lambda runtime, container: runtime.containers.creation(
        runtime.containers.config(
            devices=[cri.Device(host_path="/dev/null", container_path="/dev/nothing", permissions="r")],
            mounts=[
                cri.Mount(
                    host_path=container.sandbox.config.log_directory, container_path="/logs", readonly=True
                )
            ],
        ),
        container.sandbox,
    ),
}
RESOURCES: dict[str, ValidRequest] = {
    "UpdateContainerResources": lambda _, container: cri.UpdateContainerResourcesRequest(
        container_id=container.id, linux=cri.LinuxContainerResources(cpu_shares=100)
    ),
    "UpdatePodSandboxResources": lambda _, container: cri.UpdatePodSandboxResourcesRequest(
        pod_sandbox_id=container.sandbox.id, resources=cri.LinuxContainerResources(cpu_shares=100)
    ),
    "UpdateRuntimeConfig": lambda *_: cri.UpdateRuntimeConfigRequest(),
}
IMAGES: dict[str, ValidRequest] = {
    "PullImage": lambda runtime, _: pulling(runtime.pulled().written),
    "ImageStatus": lambda runtime, _: cri.ImageStatusRequest(image=runtime.pulled().spec()),
    "ListImages": lambda *_: cri.ListImagesRequest(),
    "RemoveImage": lambda runtime, _: cri.RemoveImageRequest(image=runtime.pulled().spec()),
}
QUESTIONS: dict[str, ValidRequest] = {
    "Version": lambda *_: cri.VersionRequest(),
    "PodSandboxStatus": lambda *_: cri.PodSandboxStatusRequest(),
    "ListPodSandbox": lambda *_: cri.ListPodSandboxRequest(),
    "PodSandboxStats": lambda *_: cri.PodSandboxStatsRequest(),
    "ListPodSandboxStats": lambda *_: cri.ListPodSandboxStatsRequest(),
    "ContainerStatus": lambda *_: cri.ContainerStatusRequest(),
    "ListContainers": lambda *_: cri.ListContainersRequest(),
    "ContainerStats": lambda *_: cri.ContainerStatsRequest(),
    "ListContainerStats": lambda *_: cri.ListContainerStatsRequest(),
}
STEPS: dict[str, ValidRequest] = {
    "ExecSync": lambda _, container: container.exec_request("true"),
    "Exec": lambda _, container: cri.ExecRequest(container_id=container.id, cmd=["true"], stdout=True),
    "Attach": lambda _, container: cri.AttachRequest(container_id=container.id, stdout=True),
    "PortForward": lambda _, container: cri.PortForwardRequest(
        pod_sandbox_id=container.sandbox.id, port=[80]
    ),
    "ReopenContainerLog": lambda *_: cri.ReopenContainerLogRequest(),
    "StartContainer": lambda *_: cri.StartContainerRequest(),
    "StopContainer": lambda _, container: cri.StopContainerRequest(container_id=container.id, timeout=5),
    "RemoveContainer": lambda *_: cri.RemoveContainerRequest(),
    "StopPodSandbox": lambda *_: cri.StopPodSandboxRequest(),
    "RemovePodSandbox": lambda *_: cri.RemovePodSandboxRequest(),
}
GROUPS = {
    "sandboxes": SANDBOXES,
    "containers": CONTAINERS,
    "resources": RESOURCES,
    "images": IMAGES,
    "questions": QUESTIONS,
    "steps": STEPS,
}
"""Valid requests by RPC, one field of which is made invalid at a time."""


def remove(runtime: OwnRuntime, response: Any) -> None:  # noqa: ANN401 - the response of any RPC
    """Remove what a request has created in spite of its invalid field, if possible: the runtime is stopped
    after the test anyway.
    """
    stub = runtime.stub
    with contextlib.suppress(grpc.RpcError):
        if isinstance(response, cri.RunPodSandboxResponse):
            stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=response.pod_sandbox_id))
            stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=response.pod_sandbox_id))
        if isinstance(response, cri.CreateContainerResponse):
            stub.RemoveContainer(cri.RemoveContainerRequest(container_id=response.container_id))


def harm_of(runtime: OwnRuntime, rpc: str, request: Message) -> str:
    """Send a request, and return how it harmed the daemon; empty if the daemon responded and is healthy."""
    method = getattr(runtime.stub, rpc, None) or getattr(runtime.images, rpc)
    try:
        remove(runtime, method(request, timeout=RESPONSE_SECONDS * runtime.scale))
    except grpc.RpcError as error:
        if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
            return "no response"
    return runtime.damage()


@requirement("GEN-06/fields")
@pytest.mark.parametrize("group", GROUPS)
def test_daemon_survives_an_invalid_value_in_any_field(own_runtime: OwnRuntime, group: str) -> None:
    """The daemon MUST respond to a request with an invalid value in any one field, and MUST NOT exit.

    Source: the message of each RPC. Not stated by the CRI; a daemon that any client can crash is unusable.
    """
    container = own_runtime.container()

    harmed: dict[str, str] = {}
    for rpc, valid in GROUPS[group].items():
        for nonsense in nonsense_for(valid(own_runtime, container), SKIPPED):
            if len(harmed) == MOST_CRASHES:
                break
            request = valid(own_runtime, container)
            nonsense.spoil(request)
            if harm := harm_of(own_runtime, rpc, request):
                harmed[f"{rpc}, {nonsense}"] = harm
                own_runtime.restart()

    assert harmed == {}
