"""ERR: what calls answer that cannot succeed, and that what may be repeated can be."""

from collections.abc import Callable
from typing import Any

import grpc
import pytest
from google.protobuf.message import Message

from critests.api import api_pb2 as cri
from critests.catalogue.words import Capability
from critests.fixtures.containers import Containers
from critests.fixtures.images import Registry
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.runtime import Runtime, may_be_refused, must_be_refused, refused_with
from critests.fixtures.sandboxes import Sandboxes
from critests.fixtures.session import Observe
from critests.lifecycle.containers import Container
from critests.lifecycle.requests import ImageName
from critests.run.marks import disruptive, requirement, requires

Call = Any  # a call of a stub: grpcio has no common public type
Asked = tuple[Call, Any]

NOBODYS_ID = "0f" * 32
"""Looks like an id, and nothing has it."""
OF_NOTHING: dict[str, Message] = {
    "PodSandboxStatus": cri.PodSandboxStatusRequest(pod_sandbox_id=NOBODYS_ID),
    "ContainerStatus": cri.ContainerStatusRequest(container_id=NOBODYS_ID),
    "StartContainer": cri.StartContainerRequest(container_id=NOBODYS_ID),
    "ExecSync": cri.ExecSyncRequest(container_id=NOBODYS_ID, cmd=["true"], timeout=10),
    "Exec": cri.ExecRequest(container_id=NOBODYS_ID, cmd=["true"], stdout=True),
    "Attach": cri.AttachRequest(container_id=NOBODYS_ID, stdout=True),
    "ContainerStats": cri.ContainerStatsRequest(container_id=NOBODYS_ID),
    "PodSandboxStats": cri.PodSandboxStatsRequest(pod_sandbox_id=NOBODYS_ID),
    "ReopenContainerLog": cri.ReopenContainerLogRequest(container_id=NOBODYS_ID),
    "UpdateContainerResources": cri.UpdateContainerResourcesRequest(
        container_id=NOBODYS_ID, linux=cri.LinuxContainerResources(cpu_shares=100)
    ),
    "UpdatePodSandboxResources": cri.UpdatePodSandboxResourcesRequest(pod_sandbox_id=NOBODYS_ID),
    "CheckpointContainer": cri.CheckpointContainerRequest(
        container_id=NOBODYS_ID, location="/nowhere.tar", timeout=5
    ),
}
"""Calls about an object that there is not."""
REPEATED: dict[str, Message] = {
    "StopPodSandbox": cri.StopPodSandboxRequest(pod_sandbox_id=NOBODYS_ID),
    "StopContainer": cri.StopContainerRequest(container_id=NOBODYS_ID, timeout=1),
    "RemovePodSandbox": cri.RemovePodSandboxRequest(pod_sandbox_id=NOBODYS_ID),
    "RemoveContainer": cri.RemoveContainerRequest(container_id=NOBODYS_ID),
    "RemoveImage": cri.RemoveImageRequest(
        image=cri.ImageSpec(image=f"localhost/critests/nobody:{NOBODYS_ID[:12]}")
    ),
}
"""Calls that bring about what is so already, as there is no such object."""


def of_nothing(runtime: Runtime, rpc: str) -> Asked:
    """Return a call about an object that there is not, with its request."""
    return getattr(runtime.stub, rpc), OF_NOTHING[rpc]


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
def test_calls_about_what_is_not_there_fail(runtime: Runtime, rpc: str) -> None:
    """A call about a sandbox or a container that there is not MUST fail.

    Source: what the API says of each of these calls.
    """
    runtime.refusal(*of_nothing(runtime, rpc))


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
def test_what_is_not_there_is_not_found(runtime: Runtime, rpc: str) -> None:
    """A call about a sandbox or a container that there is not SHOULD fail with NotFound.

    Source: the gRPC status codes. ContainerStatus names this code; for the others it is not stated by the
    CRI, and the kubelet takes NotFound for an object that is gone, and any other code for trouble.
    """
    assert runtime.refusal(*of_nothing(runtime, rpc)) is grpc.StatusCode.NOT_FOUND


@requirement("ERR-01/other-codes")
@pytest.mark.parametrize("rpc", [rpc for rpc in OF_NOTHING if not rpc.endswith("Status")])
def test_codes_of_calls_about_what_is_not_there(runtime: Runtime, observe: Observe, rpc: str) -> None:
    """A call about what is not there MAY be refused with any code.

    Source: the gRPC status codes; the CRI names none.
    """
    observe(runtime.refusal(*of_nothing(runtime, rpc)).name)


@requirement("ERR-02/remove")
@pytest.mark.parametrize("rpc", [rpc for rpc in REPEATED if rpc.startswith("Remove")])
def test_removal_of_what_is_not_there_succeeds(runtime: Runtime, rpc: str) -> None:
    """The removal of what is not there MUST succeed.

    Source: RemovePodSandbox, RemoveContainer and RemoveImage, which the API calls idempotent.
    """
    service = runtime.images if rpc == "RemoveImage" else runtime.stub

    assert getattr(service, rpc)(REPEATED[rpc]) is not None


@requirement("ERR-02/stop")
@pytest.mark.parametrize("rpc", [rpc for rpc in REPEATED if rpc.startswith("Stop")])
def test_stop_of_what_is_not_there_succeeds(runtime: Runtime, rpc: str) -> None:
    """The stop of what is not there SHOULD succeed.

    Source: StopPodSandbox and StopContainer, which the API calls idempotent.
    """
    assert getattr(runtime.stub, rpc)(REPEATED[rpc]) is not None


@requirement("ERR-03")
@pytest.mark.parametrize("mistake", ["no stream", "no command", "no reference", "no target of a mount"])
def test_codes_of_requests_that_are_wrong(
    runtime: Runtime, running_container: Container, containers: Containers, observe: Observe, mistake: str
) -> None:
    """A request that is wrong in itself MAY be refused with any code.

    Source: the gRPC status codes; the CRI names none.
    """
    container_id = running_container.id
    mount = cri.Mount(host_path="/etc")
    creation = containers.creation(containers.config(mounts=[mount]), running_container.sandbox)
    wrong: dict[str, Asked] = {
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
        answer = call(request)
    except grpc.RpcError as error:
        observe(refused_with(error).name)
    else:
        observe("accepted")
        if mistake == "no target of a mount":
            containers.adopt(answer.container_id, creation.config, running_container.sandbox)


@requirement("ERR-04")
def test_second_sandbox_of_a_name(runtime: Runtime, sandboxes: Sandboxes, observe: Observe) -> None:
    """A second RunPodSandbox with the same metadata MAY fail or return the sandbox that there is; there MUST
    be one.

    Source: PodSandboxMetadata, which makes a sandbox unique.
    """
    config = sandboxes.marked_config()
    first = sandboxes.ready(config)

    try:
        answer = runtime.stub.RunPodSandbox(sandboxes.creation(config), timeout=runtime.one_try)
    except grpc.RpcError as error:
        observe(refused_with(error, grpc.StatusCode.DEADLINE_EXCEEDED).name)
    else:
        observe("the same id" if answer.pod_sandbox_id == first.id else "another id")
    assert [item.id for item in sandboxes.made_from(config)] == [first.id]


@requirement("ERR-05/not-success")
def test_an_exec_that_took_too_long_is_no_success(runtime: Runtime, running_container: Container) -> None:
    """ExecSync MUST NOT answer as if the command had succeeded when its time-out has ended it.

    Source: ExecSyncRequest.timeout, ExecSyncResponse.exit_code.
    """
    request = running_container.exec_request("sleep", "30", timeout=1)

    with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        assert runtime.stub.ExecSync(request).exit_code != 0


@requirement("ERR-05/form")
def test_form_of_an_exec_that_took_too_long(
    runtime: Runtime, running_container: Container, observe: Observe
) -> None:
    """ExecSync MAY tell that its time-out has ended the command by a code of gRPC or by the exit code.

    Source: ExecSyncRequest.timeout; the CRI does not say how.
    """
    request = running_container.exec_request("sleep", "30", timeout=1)

    call = runtime.timed(_forgiving(runtime.stub.ExecSync), request)

    observe(call.response)
    assert call.seconds < 15 * runtime.scale


def _forgiving(call: Call) -> Callable[..., str]:
    """Return a call whose answer is its form, in words."""

    def form(request: object, timeout: float | None = None) -> str:
        try:
            return f"exit code {call(request, timeout=timeout).exit_code}"
        except grpc.RpcError as error:
            return refused_with(error, grpc.StatusCode.DEADLINE_EXCEEDED).name

    return form


@requirement("ERR-06")
@pytest.mark.parametrize("rpc", ["PodSandboxStatus", "ContainerStatus", "ExecSync", "StartContainer"])
def test_a_refusal_says_what_it_is_about(runtime: Runtime, rpc: str) -> None:
    """The words of a refusal SHOULD name the object, in one line.

    Source: the gRPC status message. Not stated by the CRI; the kubelet shows them to people as an event.
    """
    call, request = of_nothing(runtime, rpc)

    with must_be_refused() as refusal:
        call(request)

    assert NOBODYS_ID[:12] in refusal.words
    assert "\n" not in refusal.words.strip()


@requirement("ERR-07")
@disruptive
def test_what_may_be_repeated_can_be_after_a_restart(own_runtime: OwnRuntime) -> None:
    """Stop and removal MUST succeed again after a restart of the daemon, when they have succeeded before.

    Source: StopContainer, StopPodSandbox, RemoveContainer and RemovePodSandbox, which the API calls
    idempotent.
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
    for _ in range(2):
        stub.RemoveContainer(cri.RemoveContainerRequest(container_id=container.id))
        stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))
    assert pod.entries() == []


@requirement("ERR-08")
@pytest.mark.parametrize("mistake", ["unknown handler", "unknown image", "exec in an ended container"])
def test_a_request_that_failed_fails_in_the_same_way_again(
    runtime: Runtime,
    sandboxes: Sandboxes,
    containers: Containers,
    ended_container: Container,
    mistake: str,
) -> None:
    """A request that failed MUST fail with the same code when it is made again.

    Source: RunPodSandbox, CreateContainer, ExecSync. Not stated by the CRI; another code the second time
    means that the first has left something.
    """
    absent = ImageName("localhost/critests/nobody:1", "localhost/critests/nobody:1")
    wrong: dict[str, Asked] = {
        "unknown handler": (
            runtime.stub.RunPodSandbox,
            sandboxes.creation(sandboxes.config(), "critests-nobody"),
        ),
        "unknown image": (runtime.stub.CreateContainer, containers.creation(containers.config(image=absent))),
        "exec in an ended container": (runtime.stub.ExecSync, ended_container.exec_request("true")),
    }
    call, request = wrong[mistake]

    codes = [runtime.refusal(call, request) for _ in range(3)]

    assert len(set(codes)) == 1


@requirement("ERR-09")
def test_an_image_that_is_missing_is_not_found(
    runtime: Runtime, registry: Registry, containers: Containers
) -> None:
    """CreateContainer SHOULD refuse an image that the node does not have with NotFound.

    Source: the gRPC status codes. Not stated by the CRI; the kubelet shows the code with the words.
    """
    absent = registry.mint()
    config = containers.config(image=ImageName(absent.reference, absent.reference))

    code = runtime.refusal(runtime.stub.CreateContainer, containers.creation(config))

    assert code is grpc.StatusCode.NOT_FOUND
