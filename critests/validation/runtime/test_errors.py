"""ERR: what calls answer that cannot succeed, and that what may be repeated can be."""

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.fixtures.containers import Containers
from critests.fixtures.images import Registry
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.runtime import Runtime, may_be_refused, must_be_refused, refused_with
from critests.fixtures.sandboxes import Sandboxes
from critests.fixtures.session import Observe
from critests.lifecycle.containers import Container
from critests.lifecycle.requests import ImageName
from critests.lifecycle.sandboxes import Sandbox
from critests.run.marks import disruptive, requirement

Call = Any  # a call of a stub: grpcio has no common public type
Asked = tuple[Call, Any]

NOBODYS_ID = "0f" * 32
"""Looks like an id, and nothing has it."""
OF_NOTHING: dict[str, Callable[[Runtime], Asked]] = {
    "PodSandboxStatus": lambda runtime: (
        runtime.stub.PodSandboxStatus,
        cri.PodSandboxStatusRequest(pod_sandbox_id=NOBODYS_ID),
    ),
    "ContainerStatus": lambda runtime: (
        runtime.stub.ContainerStatus,
        cri.ContainerStatusRequest(container_id=NOBODYS_ID),
    ),
    "StartContainer": lambda runtime: (
        runtime.stub.StartContainer,
        cri.StartContainerRequest(container_id=NOBODYS_ID),
    ),
    "ExecSync": lambda runtime: (
        runtime.stub.ExecSync,
        cri.ExecSyncRequest(container_id=NOBODYS_ID, cmd=["true"], timeout=10),
    ),
    "Exec": lambda runtime: (
        runtime.stub.Exec,
        cri.ExecRequest(container_id=NOBODYS_ID, cmd=["true"], stdout=True),
    ),
    "Attach": lambda runtime: (
        runtime.stub.Attach,
        cri.AttachRequest(container_id=NOBODYS_ID, stdout=True),
    ),
    "ContainerStats": lambda runtime: (
        runtime.stub.ContainerStats,
        cri.ContainerStatsRequest(container_id=NOBODYS_ID),
    ),
    "PodSandboxStats": lambda runtime: (
        runtime.stub.PodSandboxStats,
        cri.PodSandboxStatsRequest(pod_sandbox_id=NOBODYS_ID),
    ),
    "ReopenContainerLog": lambda runtime: (
        runtime.stub.ReopenContainerLog,
        cri.ReopenContainerLogRequest(container_id=NOBODYS_ID),
    ),
    "UpdateContainerResources": lambda runtime: (
        runtime.stub.UpdateContainerResources,
        cri.UpdateContainerResourcesRequest(
            container_id=NOBODYS_ID, linux=cri.LinuxContainerResources(cpu_shares=100)
        ),
    ),
    "UpdatePodSandboxResources": lambda runtime: (
        runtime.stub.UpdatePodSandboxResources,
        cri.UpdatePodSandboxResourcesRequest(pod_sandbox_id=NOBODYS_ID),
    ),
    "CheckpointContainer": lambda runtime: (
        runtime.stub.CheckpointContainer,
        cri.CheckpointContainerRequest(container_id=NOBODYS_ID, location="/nowhere.tar", timeout=5),
    ),
}
"""Calls about an object that there is not."""
STATUSES = ("PodSandboxStatus", "ContainerStatus")
REPEATED: dict[str, Callable[[Runtime], Asked]] = {
    "StopPodSandbox": lambda runtime: (
        runtime.stub.StopPodSandbox,
        cri.StopPodSandboxRequest(pod_sandbox_id=NOBODYS_ID),
    ),
    "StopContainer": lambda runtime: (
        runtime.stub.StopContainer,
        cri.StopContainerRequest(container_id=NOBODYS_ID, timeout=1),
    ),
    "RemovePodSandbox": lambda runtime: (
        runtime.stub.RemovePodSandbox,
        cri.RemovePodSandboxRequest(pod_sandbox_id=NOBODYS_ID),
    ),
    "RemoveContainer": lambda runtime: (
        runtime.stub.RemoveContainer,
        cri.RemoveContainerRequest(container_id=NOBODYS_ID),
    ),
    "RemoveImage": lambda runtime: (
        runtime.images.RemoveImage,
        cri.RemoveImageRequest(image=cri.ImageSpec(image=f"localhost/critests/nobody:{NOBODYS_ID[:12]}")),
    ),
}
"""Calls that bring about what is so already, as there is no such object."""


@requirement("ERR-01/error")
@pytest.mark.parametrize("rpc", OF_NOTHING)
def test_calls_about_what_is_not_there_fail(runtime: Runtime, rpc: str) -> None:
    """A call about a sandbox or a container that there is not MUST fail.

    Source: what the API says of each of these calls.
    """
    call, request = OF_NOTHING[rpc](runtime)

    assert runtime.refusal(call, request) is not grpc.StatusCode.OK


@requirement("ERR-01/error")
def test_a_container_is_not_made_in_a_sandbox_that_is_not_there(
    runtime: Runtime, sandbox: Sandbox, containers: Containers
) -> None:
    """CreateContainer MUST fail in a sandbox that there is not.

    Source: CreateContainerRequest.pod_sandbox_id.
    """
    request = containers.creation(containers.config(), sandbox)
    request.pod_sandbox_id = NOBODYS_ID

    assert runtime.refusal(runtime.stub.CreateContainer, request) is not grpc.StatusCode.OK


@requirement("ERR-01/status-code")
@pytest.mark.parametrize("rpc", STATUSES)
def test_status_of_what_is_not_there_is_not_found(runtime: Runtime, rpc: str) -> None:
    """The status of a sandbox or a container that there is not SHOULD be refused with NotFound.

    Source: the gRPC status codes. Not stated by the CRI; the kubelet takes NotFound for an object that is
    gone, and any other code for trouble.
    """
    call, request = OF_NOTHING[rpc](runtime)

    assert runtime.refusal(call, request) is grpc.StatusCode.NOT_FOUND


@requirement("ERR-01/other-codes")
@pytest.mark.parametrize("rpc", [rpc for rpc in OF_NOTHING if rpc not in STATUSES])
def test_codes_of_calls_about_what_is_not_there(runtime: Runtime, observe: Observe, rpc: str) -> None:
    """A call about what is not there MAY be refused with any code.

    Source: the gRPC status codes; the CRI names none.
    """
    call, request = OF_NOTHING[rpc](runtime)

    observe(runtime.refusal(call, request).name)


@requirement("ERR-02/remove")
@pytest.mark.parametrize("rpc", [rpc for rpc in REPEATED if rpc.startswith("Remove")])
def test_removal_of_what_is_not_there_succeeds(runtime: Runtime, rpc: str) -> None:
    """The removal of what is not there MUST succeed.

    Source: RemovePodSandbox, RemoveContainer and RemoveImage, which the API calls idempotent.
    """
    call, request = REPEATED[rpc](runtime)

    assert call(request) is not None


@requirement("ERR-02/stop")
@pytest.mark.parametrize("rpc", [rpc for rpc in REPEATED if rpc.startswith("Stop")])
def test_stop_of_what_is_not_there_succeeds(runtime: Runtime, rpc: str) -> None:
    """The stop of what is not there SHOULD succeed.

    Source: StopPodSandbox and StopContainer, which the API calls idempotent.
    """
    call, request = REPEATED[rpc](runtime)

    assert call(request) is not None


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
    call, request = OF_NOTHING[rpc](runtime)

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
