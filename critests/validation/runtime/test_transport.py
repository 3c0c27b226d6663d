"""GEN: transport of calls, independent of their subject."""

import contextlib
import json
import math
import stat

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    Capability,
    Container,
    Containers,
    NoEvents,
    OwnRuntime,
    RecordVariant,
    Runtime,
    Sandbox,
    Sandboxes,
    configured,
    disruptive,
    may_be_refused,
    must_be_refused,
    refused_with,
    requirement,
    requires,
    unsupported,
)

UNKNOWN_FIELD = b"\xfa\xff\x7f\x08critests"
"""Field 262143, which no message has, with a string of eight bytes; on the wire the tag and the length come
first.
"""


@requirement("GEN-01")
def test_runtime_service_is_served(runtime: Runtime) -> None:
    """The runtime MUST serve the RuntimeService of CRI v1 at its endpoint.

    Source: RuntimeService.
    """
    response = runtime.stub.Version(cri.VersionRequest(version="0.1.0"))

    assert response.runtime_name


@requirement("GEN-01")
def test_image_service_is_served(runtime: Runtime, image: object) -> None:
    """The runtime MUST serve the ImageService of CRI v1, at the same endpoint or at a separate one.

    Source: ImageService.
    """
    response = runtime.images.ListImages(cri.ListImagesRequest())

    assert image
    assert len(response.images) > 0


@requirement("GEN-16")
@requires(Capability.SAME_HOST)
@pytest.mark.parametrize("service", ["RuntimeService", "ImageService"])
def test_sockets_are_not_writable_for_all_users(runtime: Runtime, service: str) -> None:
    """The socket of a service SHOULD NOT be writable for all users: a client that can connect is root on the
    node.

    Source: not stated by the CRI, which knows no users.
    """
    context = runtime.context
    endpoint = context.endpoint if service == "RuntimeService" else context.image_endpoint
    assert runtime.stub.Version(cri.VersionRequest()).runtime_name
    if endpoint.socket is None:
        unsupported("a socket: the endpoint is reached over the network")

    # a client needs the permission to write to connect, unix(7)
    mode = stat.S_IMODE(endpoint.socket.stat().st_mode)

    assert not mode & stat.S_IWOTH, f"{endpoint.socket} has mode {mode:o}"


@requirement("GEN-17")
def test_daemon_outlives_a_pod(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """The daemon MUST keep running after the requests that create and remove a pod.

    Source: gRPC, where every call ends with a response or a status of the server; a server that exits returns
    neither. The suite checks this after every other test too, and reports an exit against this requirement.
    """
    pod = sandboxes.ready()
    runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=pod.id))
    runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=pod.id))

    response = runtime.stub.Version(cri.VersionRequest())

    assert response.runtime_version == runtime.version.runtime_version


@requirement("GEN-02/unknown")
@pytest.mark.parametrize("service", ["RuntimeService", "ImageService"])
def test_unknown_method_is_unimplemented(runtime: Runtime, service: str) -> None:
    """A call of a method that a runtime does not know MUST fail at once with Unimplemented.

    Source: gRPC status codes. Kubelets detect by this code what a runtime supports.
    """
    channel = runtime.connection.image_channel if service == "ImageService" else runtime.channel
    method: grpc.UnaryUnaryMultiCallable[cri.VersionRequest, cri.VersionResponse] = channel.unary_unary(
        f"/runtime.v1.{service}/CritestsNoSuchMethod",
        cri.VersionRequest.SerializeToString,
        cri.VersionResponse.FromString,
    )

    with must_be_refused(grpc.StatusCode.UNIMPLEMENTED) as refusal:
        method(cri.VersionRequest(), timeout=5 * runtime.scale)

    assert refusal.code is grpc.StatusCode.UNIMPLEMENTED


@requirement("GEN-03")
def test_unknown_field_of_a_request_is_ignored(runtime: Runtime, sandbox: Sandbox) -> None:
    """A request field that the runtime does not know MUST be ignored: the call has the same effect as without
    it.

    Source: Protocol Buffers, unknown fields. A newer kubelet talks to an older runtime.
    """
    plain = cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id=sandbox.id))
    newer = cri.ListPodSandboxRequest.FromString(plain.SerializeToString() + UNKNOWN_FIELD)
    assert newer.ByteSize() > plain.ByteSize()

    response = runtime.stub.ListPodSandbox(newer)

    assert [item.id for item in response.items] == [sandbox.id]


@requirement("GEN-03")
def test_unknown_field_of_a_configuration_is_ignored(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """A field of PodSandboxConfig that the runtime does not know MUST be ignored: the pod becomes READY.

    Source: Protocol Buffers, unknown fields. A newer kubelet talks to an older runtime.
    """
    config = sandboxes.config()
    newer = cri.PodSandboxConfig.FromString(config.SerializeToString() + UNKNOWN_FIELD)

    response = runtime.stub.RunPodSandbox(sandboxes.creation(newer))

    assert sandboxes.adopt(response.pod_sandbox_id, config).state() == cri.SANDBOX_READY


@requirement("GEN-04")
def test_response_of_more_than_four_mebibytes_arrives(runtime: Runtime, running_container: Container) -> None:
    """A response above gRPC's default limit of 4 MiB MUST arrive whole at a client that accepts 16 MiB, as
    kubelets do.

    Source: ExecSyncResponse.stdout, which is cut at 16 MiB and not before; node-wide lists and the output of
    probes grow beyond 4 MiB.
    """
    # 6 MiB of `x`: zeros, made printable
    script = f"head -c {6 << 20} /dev/zero | tr '\\000' x"

    response = runtime.stub.ExecSync(running_container.script_request(script, timeout=30))

    assert len(response.stdout) == 6 << 20
    assert response.stdout.strip(b"x") == b""


@requirement("GEN-08")
@pytest.mark.usefixtures("sandbox")
def test_sandbox_of_a_cancelled_run_can_be_removed(runtime: Runtime, sandboxes: Sandboxes) -> None:
    """A sandbox left by a cancelled RunPodSandbox MUST be removable, and the next RunPodSandbox MUST succeed.

    Source: RunPodSandbox.
    """
    config = sandboxes.marked_config()
    request = sandboxes.creation(config)

    call = runtime.stub.RunPodSandbox.future(request)
    # long enough for the request to reach the runtime, too short to create a pod
    with contextlib.suppress(grpc.FutureTimeoutError):
        call.exception(timeout=0.03)
    call.cancel()

    def remove_what_is_left() -> None:
        for item in sandboxes.created_from(config):
            runtime.stub.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=item.id))
            runtime.stub.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=item.id))

    def call_again() -> cri.RunPodSandboxResponse:
        remove_what_is_left()
        return runtime.stub.RunPodSandbox(request, timeout=runtime.one_try)

    # the cancelled call may reserve the name until it ends
    again = runtime.retry_until_ok("RunPodSandbox after one that was cancelled", call_again, seconds=60)
    sandboxes.adopt(again.pod_sandbox_id, config)
    remove_what_is_left()
    assert sandboxes.created_from(config) == []


@requirement("GEN-07")
def test_create_container_can_be_repeated_after_a_deadline(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """A container left by a CreateContainer whose deadline passed MUST be removable, and the same request
    MUST then succeed.

    Source: CreateContainer, RemoveContainer. Not stated by the CRI; the kubelet calls again until it has its
    container.
    """
    config = containers.config()
    request = containers.creation(config, own_sandbox)
    inside = cri.ListContainersRequest(filter=cri.ContainerFilter(pod_sandbox_id=own_sandbox.id))
    with may_be_refused(grpc.StatusCode.DEADLINE_EXCEEDED):
        # the request reaches the runtime, and the client leaves before there is a container
        runtime.stub.CreateContainer(request, timeout=0.01)

    def call_again() -> cri.CreateContainerResponse:
        for item in runtime.stub.ListContainers(inside).containers:
            runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=item.id))
        return runtime.stub.CreateContainer(request, timeout=runtime.one_try)

    # the first call may reserve the name until it ends: minutes, where the machine is busy
    again = runtime.retry_until_ok("CreateContainer once more", call_again, seconds=180)
    container_id = containers.adopt(again.container_id, config, own_sandbox).id
    runtime.stub.StartContainer(cri.StartContainerRequest(container_id=container_id))
    listed = runtime.stub.ListContainers(inside).containers
    assert [(item.id, item.state) for item in listed] == [(container_id, cri.CONTAINER_RUNNING)]


@requirement("GEN-09")
def test_reads_return_during_a_long_stop(runtime: Runtime, containers: Containers) -> None:
    """Lists and Status MUST return while a slow StopContainer of another object is in progress.

    Source: StopContainerRequest.timeout. Not stated by the CRI; the kubelet lists all the time.
    """
    container = containers.running(on_term="")

    # far more than three reads take, on a busy machine too; the process ignores SIGTERM for all of it
    grace_seconds = math.ceil(10 * runtime.scale)
    stop = runtime.stub.StopContainer.future(
        cri.StopContainerRequest(container_id=container.id, timeout=grace_seconds)
    )
    during_the_stop = {}
    runtime.stub.ListContainers(cri.ListContainersRequest())
    during_the_stop["ListContainers"] = not stop.done()
    runtime.stub.ListPodSandbox(cri.ListPodSandboxRequest())
    during_the_stop["ListPodSandbox"] = not stop.done()
    runtime.stub.Status(cri.StatusRequest())
    during_the_stop["Status"] = not stop.done()

    # the stop itself is not judged; clean-up kills the container
    stop.cancel()
    assert during_the_stop == {"ListContainers": True, "ListPodSandbox": True, "Status": True}


@requirement("GEN-11")
@disruptive
@pytest.mark.parametrize("what", ["sandbox", "container"])
def test_empty_id_selects_nothing(own_runtime: OwnRuntime, what: str) -> None:
    """An empty id SHOULD NOT match any sandbox or container, even where only one exists.

    Source: PodSandboxStatusRequest.pod_sandbox_id, ContainerStatusRequest.container_id.
    """
    # the only object of its runtime, so that even an empty prefix of its id is unique
    if what == "sandbox":
        pod = own_runtime.sandbox()
        own_runtime.refusal(own_runtime.stub.PodSandboxStatus, cri.PodSandboxStatusRequest(pod_sandbox_id=""))
        assert pod.state() == cri.SANDBOX_READY
    else:
        only = own_runtime.container()
        own_runtime.refusal(own_runtime.stub.ContainerStatus, cri.ContainerStatusRequest(container_id=""))
        assert only.state() == cri.CONTAINER_RUNNING


@requirement("GEN-12")
def test_ids_of_sandboxes_and_containers_are_unique(
    runtime: Runtime, sandboxes: Sandboxes, sandbox: Sandbox, container: Container, containers: Containers
) -> None:
    """RunPodSandbox and CreateContainer MUST return ids that are not empty and that no other object has.

    Source: RunPodSandboxResponse.pod_sandbox_id, CreateContainerResponse.container_id.
    """
    config, container_config = sandboxes.config(), containers.config()

    pod_id = runtime.stub.RunPodSandbox(sandboxes.creation(config)).pod_sandbox_id
    pod = sandboxes.adopt(pod_id, config)
    inside = runtime.stub.CreateContainer(containers.creation(container_config, pod)).container_id
    containers.adopt(inside, container_config, pod)

    ids = [sandbox.id, container.id, pod_id, inside]
    assert all(ids)
    assert len(set(ids)) == 4


@requirement("GEN-02/disabled")
@disruptive
@configured(NoEvents())
def test_form_of_a_disabled_rpc(own_runtime: OwnRuntime, record_variant: RecordVariant) -> None:
    """An RPC that the configuration disables MAY fail with any code, or, if it is a stream, end at once; it
    never hangs.

    Source: gRPC status codes; the CRI does not say.
    """
    stream = own_runtime.stub.GetContainerEvents(cri.GetEventsRequest(), timeout=10 * own_runtime.scale)

    try:
        events = list(stream)
    except grpc.RpcError as error:
        record_variant(f"refused with {refused_with(error, grpc.StatusCode.UNIMPLEMENTED).name}")
    else:
        record_variant("ends at once")
        assert events == []


def oci_annotations(container: Container) -> dict[str, str]:
    """Return the annotations that a runtime passes to its OCI runtime for a container, including the
    runtime's own, as far as ContainerStatus reports them.
    """
    request = cri.ContainerStatusRequest(container_id=container.id, verbose=True)
    for text in container.connection.runtime.ContainerStatus(request).info.values():
        with contextlib.suppress(ValueError, AttributeError, TypeError):
            annotations = json.loads(text)["runtimeSpec"]["annotations"] if "runtimeSpec" in text else {}
            if annotations:
                return {str(key): str(value) for key, value in annotations.items()}
    return {}


@requirement("GEN-14")
def test_annotations_of_one_container_do_not_affect_another(
    runtime: Runtime, own_sandbox: Sandbox, containers: Containers
) -> None:
    """CreateContainer with all annotations that the runtime itself gave to another container SHOULD be
    rejected or create a separate container: calls on it do not affect the other one.

    Source: ContainerConfig.annotations, which users write, and which are opaque to a runtime.
    """
    other = containers.running(in_sandbox=own_sandbox, annotations={"colour": "green"})
    before, entry = other.status(), other.entries()
    config = containers.config(annotations={**oci_annotations(other), "colour": "red"})

    created: list[Container] = []
    with may_be_refused():
        created.append(containers.attempt(config, in_sandbox=own_sandbox))
    for annotated in created:
        assert annotated.status().metadata == config.metadata
        assert annotated.status().annotations["colour"] == "red"
        runtime.stub.StopContainer(cri.StopContainerRequest(container_id=annotated.id, timeout=1))
        runtime.stub.RemoveContainer(cri.RemoveContainerRequest(container_id=annotated.id))
        assert annotated.entries() == []

    assert (other.status(), other.entries()) == (before, entry)
    assert other.output("echo", "alive") == "alive"
