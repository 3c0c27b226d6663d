"""ERR: errors of calls that cannot succeed, and repetition of idempotent calls."""

from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Container,
    Containers,
    ImageName,
    OwnRuntime,
    RecordVariant,
    Registry,
    Runtime,
    Sandboxes,
    disruptive,
    may_be_refused,
    must_be_refused,
    refused_with,
    requirement,
    requires,
)

Call = Any  # a call of a stub: grpcio has no common public type
CallAndRequest = tuple[Call, Any]

UNKNOWN_ID = "0f" * 32
"""Has the form of an id, 64 hexadecimal digits, but no object has it."""
ABOUT_UNKNOWN_OBJECTS: dict[str, Message] = {
    "PodSandboxStatus": cri.PodSandboxStatusRequest(pod_sandbox_id=UNKNOWN_ID),
    "ContainerStatus": cri.ContainerStatusRequest(container_id=UNKNOWN_ID),
    "StartContainer": cri.StartContainerRequest(container_id=UNKNOWN_ID),
    "ExecSync": cri.ExecSyncRequest(container_id=UNKNOWN_ID, cmd=["true"], timeout=10),
    "Exec": cri.ExecRequest(container_id=UNKNOWN_ID, cmd=["true"], stdout=True),
    "Attach": cri.AttachRequest(container_id=UNKNOWN_ID, stdout=True),
    "ContainerStats": cri.ContainerStatsRequest(container_id=UNKNOWN_ID),
    "PodSandboxStats": cri.PodSandboxStatsRequest(pod_sandbox_id=UNKNOWN_ID),
    "ReopenContainerLog": cri.ReopenContainerLogRequest(container_id=UNKNOWN_ID),
    "UpdateContainerResources": cri.UpdateContainerResourcesRequest(
        container_id=UNKNOWN_ID, linux=cri.LinuxContainerResources(cpu_shares=100)
    ),
    "UpdatePodSandboxResources": cri.UpdatePodSandboxResourcesRequest(pod_sandbox_id=UNKNOWN_ID),
    "CheckpointContainer": cri.CheckpointContainerRequest(
        container_id=UNKNOWN_ID, location="/nowhere.tar", timeout=5
    ),
}
"""Calls about an object that does not exist."""
IDEMPOTENT: dict[str, Message] = {
    "StopPodSandbox": cri.StopPodSandboxRequest(pod_sandbox_id=UNKNOWN_ID),
    "StopContainer": cri.StopContainerRequest(container_id=UNKNOWN_ID, timeout=1),
    "RemovePodSandbox": cri.RemovePodSandboxRequest(pod_sandbox_id=UNKNOWN_ID),
    "RemoveContainer": cri.RemoveContainerRequest(container_id=UNKNOWN_ID),
    "RemoveImage": cri.RemoveImageRequest(
        image=cri.ImageSpec(image=f"localhost/critests/nobody:{UNKNOWN_ID[:12]}")
    ),
}
"""Calls that have nothing left to do, as the object does not exist."""


def about_unknown_object(runtime: Runtime, rpc: str) -> CallAndRequest:
    """Return a call about an object that does not exist, with its request."""
    return getattr(runtime.stub, rpc), ABOUT_UNKNOWN_OBJECTS[rpc]


@pytest.mark.parametrize(
    "rpc",
    [
        pytest.param("PodSandboxStatus", marks=requirement("ERR-01/error")),
        pytest.param("ContainerStatus", marks=requirement("CTA-16/error")),
        pytest.param("StartContainer", marks=requirement("CTR-20/error")),
        pytest.param("ExecSync", marks=requirement("EXS-16/error")),
        pytest.param("Exec", marks=requirement("ERR-01/error")),
        pytest.param("Attach", marks=requirement("ERR-01/error")),
        pytest.param("ContainerStats", marks=requirement("STA-13/error")),
        pytest.param(
            "PodSandboxStats", marks=[requirement("STA-24/unknown"), requires(Capability.POD_STATS)]
        ),
        pytest.param("ReopenContainerLog", marks=requirement("LOG-25/error")),
        pytest.param("UpdateContainerResources", marks=requirement("UPD-06/error")),
        pytest.param(
            "UpdatePodSandboxResources",
            marks=[requirement("UPD-19"), requires(Capability.POD_RESOURCE_UPDATES)],
        ),
        pytest.param("CheckpointContainer", marks=requirement("ERR-01/error")),
    ],
)
def test_calls_about_unknown_objects_fail(runtime: Runtime, rpc: str) -> None:
    """A call about a sandbox or container that does not exist MUST fail.

    Source: the API's description of each of these calls.
    """
    runtime.refusal(*about_unknown_object(runtime, rpc))


@pytest.mark.parametrize(
    "rpc",
    [
        pytest.param("PodSandboxStatus", marks=requirement("ERR-01/status-code")),
        pytest.param("ContainerStatus", marks=requirement("CTA-16/code")),
        pytest.param("StartContainer", marks=requirement("CTR-20/code")),
        pytest.param("ExecSync", marks=requirement("EXS-16/code")),
        pytest.param("ContainerStats", marks=requirement("STA-13/code")),
        pytest.param("ReopenContainerLog", marks=requirement("LOG-25/code")),
        pytest.param("UpdateContainerResources", marks=requirement("UPD-06/code")),
    ],
)
def test_calls_about_unknown_objects_fail_with_not_found(runtime: Runtime, rpc: str) -> None:
    """A call about a sandbox or container that does not exist SHOULD fail with NotFound.

    Source: the gRPC status codes. For ContainerStatus the CRI names this code; for the others it is not
    stated. The kubelet takes NotFound for an object that is gone, and any other code for an error.
    """
    assert runtime.refusal(*about_unknown_object(runtime, rpc)) is grpc.StatusCode.NOT_FOUND


@requirement("ERR-01/other-codes")
@pytest.mark.parametrize("rpc", [rpc for rpc in ABOUT_UNKNOWN_OBJECTS if not rpc.endswith("Status")])
def test_codes_of_calls_about_unknown_objects(
    runtime: Runtime, record_variant: RecordVariant, rpc: str
) -> None:
    """A call about an object that does not exist MAY fail with any code.

    Source: the gRPC status codes; the CRI names none.
    """
    record_variant(runtime.refusal(*about_unknown_object(runtime, rpc)).name)


@requirement("ERR-02/remove")
@pytest.mark.parametrize("rpc", [rpc for rpc in IDEMPOTENT if rpc.startswith("Remove")])
def test_removal_of_unknown_objects_succeeds(runtime: Runtime, rpc: str) -> None:
    """RemovePodSandbox, RemoveContainer and RemoveImage of an object that does not exist MUST succeed.

    Source: RemovePodSandbox, RemoveContainer and RemoveImage, which are idempotent by the API.
    """
    service = runtime.images if rpc == "RemoveImage" else runtime.stub

    assert getattr(service, rpc)(IDEMPOTENT[rpc]) is not None


@requirement("ERR-02/stop")
@pytest.mark.parametrize("rpc", [rpc for rpc in IDEMPOTENT if rpc.startswith("Stop")])
def test_stop_of_unknown_objects_succeeds(runtime: Runtime, rpc: str) -> None:
    """StopPodSandbox and StopContainer of an object that does not exist SHOULD succeed.

    Source: StopPodSandbox and StopContainer, which are idempotent by the API.
    """
    assert getattr(runtime.stub, rpc)(IDEMPOTENT[rpc]) is not None


@requirement("ERR-03")
@pytest.mark.parametrize("mistake", ["no stream", "no command", "no reference", "no target of a mount"])
def test_codes_of_invalid_requests(
    runtime: Runtime,
    running_container: Container,
    containers: Containers,
    record_variant: RecordVariant,
    mistake: str,
) -> None:
    """An invalid request MAY be rejected with any code.

    Source: the gRPC status codes; the CRI names none.
    """
    container_id = running_container.id
    mount = cri.Mount(host_path="/etc")
    creation = containers.creation(containers.config(mounts=[mount]), running_container.sandbox)
    wrong: dict[str, CallAndRequest] = {
        "no stream": (runtime.stub.Exec, cri.ExecRequest(container_id=container_id, cmd=["true"])),
        "no command": (runtime.stub.ExecSync, cri.ExecSyncRequest(container_id=container_id, timeout=10)),
        "no reference": (
            runtime.images.PullImage,
            cri.PullImageRequest(image=cri.ImageSpec(image="Not A Reference")),
        ),
        "no target of a mount": (runtime.stub.CreateContainer, creation),
    }
    call, request = wrong[mistake]

    try:
        response = call(request)
    except grpc.RpcError as error:
        record_variant(refused_with(error).name)
    else:
        record_variant("accepted")
        if mistake == "no target of a mount":
            containers.adopt(response.container_id, creation.config, running_container.sandbox)


@requirement("ERR-04")
def test_second_sandbox_with_the_same_metadata(
    runtime: Runtime, sandboxes: Sandboxes, record_variant: RecordVariant
) -> None:
    """RunPodSandbox with the metadata of an existing sandbox MAY fail or return that sandbox; only one
    sandbox MUST exist afterwards.

    Source: PodSandboxMetadata, which makes a sandbox unique.
    """
    config = sandboxes.marked_config()
    first = sandboxes.ready(config)

    try:
        response = runtime.stub.RunPodSandbox(sandboxes.creation(config), timeout=runtime.one_try)
    except grpc.RpcError as error:
        record_variant(refused_with(error, grpc.StatusCode.DEADLINE_EXCEEDED).name)
    else:
        record_variant("the same id" if response.pod_sandbox_id == first.id else "another id")
    assert [item.id for item in sandboxes.created_from(config)] == [first.id]


@requirement("ERR-05/not-success")
def test_exec_sync_that_times_out_is_not_reported_as_success(
    runtime: Runtime, running_container: Container
) -> None:
    """ExecSync MUST NOT report success when the command is ended by its timeout.

    Source: ExecSyncRequest.timeout, ExecSyncResponse.exit_code.
    """
    request = running_container.exec_request("sleep", "30", timeout=1)

    with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        assert runtime.stub.ExecSync(request).exit_code != 0


@requirement("ERR-05/form")
def test_form_of_a_timeout_of_exec_sync(
    runtime: Runtime, running_container: Container, record_variant: RecordVariant
) -> None:
    """ExecSync MAY report a timeout of the command by a gRPC code or by the exit code.

    Source: ExecSyncRequest.timeout; the CRI does not say how.
    """
    request = running_container.exec_request("sleep", "30", timeout=1)

    call = runtime.timed(_outcome_in_words(runtime.stub.ExecSync), request)

    record_variant(call.response)
    # between the timeout of 1 second and the 30 seconds of the command
    assert call.seconds < 15 * runtime.scale


def _outcome_in_words(call: Call) -> Callable[..., str]:
    """Return a call that returns in words how ExecSync ended."""

    def outcome(request: object, timeout: float | None = None) -> str:
        try:
            return f"exit code {call(request, timeout=timeout).exit_code}"
        except grpc.RpcError as error:
            return refused_with(error, grpc.StatusCode.DEADLINE_EXCEEDED).name

    return outcome


@requirement("ERR-06")
@pytest.mark.parametrize("rpc", ["PodSandboxStatus", "ContainerStatus", "ExecSync", "StartContainer"])
def test_error_message_names_the_object(runtime: Runtime, rpc: str) -> None:
    """The error message of a rejected call SHOULD name the object, in one line.

    Source: the gRPC status message. Not stated by the CRI; the kubelet shows it to users as an event.
    """
    call, request = about_unknown_object(runtime, rpc)

    with must_be_refused() as refusal:
        call(request)

    # a message may have the short form of an id, as Docker prints it
    assert UNKNOWN_ID[:12] in refusal.words
    assert "\n" not in refusal.words.strip()


@requirement("ERR-07")
@disruptive
def test_idempotent_calls_succeed_again_after_a_restart(own_runtime: OwnRuntime) -> None:
    """Stop and Remove calls that succeeded before a restart of the daemon MUST succeed again after it.

    Source: StopContainer, StopPodSandbox, RemoveContainer and RemovePodSandbox, which are idempotent by the
    API.
    """
    assert own_runtime.daemon  # blocks the test where the suite may not restart the daemon
    container = own_runtime.container()
    stub, pod = own_runtime.stub, container.sandbox
    stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=10))
    stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))

    own_runtime.restart()

    stub = own_runtime.stub
    stub.StopContainer(cri.StopContainerRequest(container_id=container.id, timeout=10))
    stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))
    # the second removals have nothing left to do
    for _ in range(2):
        stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))
        stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))
    assert pod.entries() == []


@requirement("ERR-08")
@pytest.mark.parametrize("mistake", ["unknown handler", "unknown image", "exec in an exited container"])
def test_failed_request_fails_again_with_the_same_code(
    runtime: Runtime,
    sandboxes: Sandboxes,
    containers: Containers,
    exited_container: Container,
    mistake: str,
) -> None:
    """A request that failed MUST fail with the same code when it is repeated.

    Source: RunPodSandbox, CreateContainer, ExecSync. Not stated by the CRI; a different code the second time
    means that the first call has left something behind.
    """
    absent = ImageName("localhost/critests/nobody:1", "localhost/critests/nobody:1")
    wrong: dict[str, CallAndRequest] = {
        "unknown handler": (
            runtime.stub.RunPodSandbox,
            sandboxes.creation(sandboxes.config(), "critests-nobody"),
        ),
        "unknown image": (runtime.stub.CreateContainer, containers.creation(containers.config(image=absent))),
        "exec in an exited container": (runtime.stub.ExecSync, exited_container.exec_request("true")),
    }
    call, request = wrong[mistake]

    # `refusal` also asserts that each call has changed nothing
    codes = [runtime.refusal(call, request) for _ in range(3)]

    assert len(set(codes)) == 1


@requirement("ERR-09")
def test_create_container_from_a_missing_image_fails_with_not_found(
    runtime: Runtime, registry: Registry, containers: Containers
) -> None:
    """CreateContainer SHOULD fail with NotFound when the image is not on the node.

    Source: the gRPC status codes. Not stated by the CRI; the kubelet shows the code with the message.
    """
    absent = registry.mint()
    config = containers.config(image=ImageName(absent.reference, absent.reference))

    code = runtime.refusal(runtime.stub.CreateContainer, containers.creation(config))

    assert code is grpc.StatusCode.NOT_FOUND
