import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.benchmark.floors.null_server import NullServer, NullServerFailed, start_null_server
from critests.benchmark.floors.null_server.headers import PathReader
from critests.client.endpoint import Endpoint
from critests.client.plain import PlainConnection, plain_stubs
from critests.lifecycle.process import stat_of

HELD = 250
EXEC_BYTES = 3 << 20
SECONDS = 20.0
METHODS = [
    (service.name, method)
    for service in cri.DESCRIPTOR.services_by_name.values()
    for method in service.methods
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NullServer]:
    with start_null_server(tmp_path_factory.mktemp("null"), entries=HELD, exec_bytes=EXEC_BYTES) as started:
        yield started


@pytest.fixture
def null(server: NullServer) -> Iterator[PlainConnection]:
    connection = plain_stubs(Endpoint.parse(server.endpoint))
    yield connection
    connection.close()


def run_pod(null: PlainConnection, **labels: str) -> str:
    config = cri.PodSandboxConfig(
        metadata=cri.PodSandboxMetadata(name="a", uid="a", namespace="a"), labels=labels
    )
    return null.runtime.RunPodSandbox(cri.RunPodSandboxRequest(config=config), timeout=SECONDS).pod_sandbox_id


def create(null: PlainConnection, sandbox: str, **labels: str) -> str:
    config = cri.ContainerConfig(metadata=cri.ContainerMetadata(name="c"), labels=labels)
    request = cri.CreateContainerRequest(pod_sandbox_id=sandbox, config=config)
    return null.runtime.CreateContainer(request, timeout=SECONDS).container_id


def status(null: PlainConnection, container: str) -> cri.ContainerStatus:
    return null.runtime.ContainerStatus(
        cri.ContainerStatusRequest(container_id=container), timeout=SECONDS
    ).status


def code_of(error: "pytest.ExceptionInfo[grpc.RpcError]") -> grpc.StatusCode:
    return error.value.code()


@pytest.mark.parametrize(("service", "method"), METHODS, ids=[method.name for _, method in METHODS])
def test_every_rpc_is_answered(null: PlainConnection, service: str, method: "object") -> None:
    name, fields = method.name, {field.name for field in method.input_type.fields}  # type: ignore[attr-defined]  # a MethodDescriptor
    sandbox = run_pod(null)
    known = {
        "pod_sandbox_id": sandbox,
        "container_id": create(null, sandbox),
        "image": cri.ImageSpec(image="example.test/held:1"),
    }
    request = getattr(cri, method.input_type.name)(**{key: known[key] for key in fields & set(known)})  # type: ignore[attr-defined]  # likewise
    call = getattr(null.runtime if service == "RuntimeService" else null.images, name)
    if name == "GetContainerEvents":
        events = call(request, timeout=SECONDS)
        assert events.initial_metadata() is not None
        events.cancel()
    elif name.startswith("Stream"):
        assert (
            sum(len(field) for message in call(request, timeout=SECONDS) for _, field in message.ListFields())
            >= HELD
        )
    else:
        answer = call(request, timeout=SECONDS)
        assert isinstance(answer, getattr(cri, method.output_type.name))  # type: ignore[attr-defined]  # likewise


def test_there_are_43_of_them() -> None:
    assert len(METHODS) == 43


def test_a_lifecycle_runs_through(null: PlainConnection) -> None:
    sandbox = run_pod(null, mark="life")
    container = create(null, sandbox, mark="life")
    assert sandbox != container
    assert status(null, container).state == cri.CONTAINER_CREATED
    null.runtime.StartContainer(cri.StartContainerRequest(container_id=container), timeout=SECONDS)
    assert (status(null, container).id, status(null, container).state) == (container, cri.CONTAINER_RUNNING)
    null.runtime.StopContainer(cri.StopContainerRequest(container_id=container, timeout=1), timeout=SECONDS)
    assert status(null, container).state == cri.CONTAINER_EXITED
    assert status(null, container).finished_at > status(null, container).started_at > 0
    null.runtime.RemoveContainer(cri.RemoveContainerRequest(container_id=container), timeout=SECONDS)
    null.runtime.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=sandbox), timeout=SECONDS)
    looked = null.runtime.PodSandboxStatus(
        cri.PodSandboxStatusRequest(pod_sandbox_id=sandbox), timeout=SECONDS
    )
    assert (looked.status.id, looked.status.state) == (sandbox, cri.SANDBOX_NOTREADY)
    null.runtime.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox), timeout=SECONDS)
    for identity in (container, "no such id", ""):
        with pytest.raises(grpc.RpcError) as refused:
            status(null, identity)
        assert code_of(refused) is grpc.StatusCode.NOT_FOUND


def test_a_sandbox_takes_its_containers_with_it(null: PlainConnection) -> None:
    sandbox = run_pod(null)
    container = create(null, sandbox)
    null.runtime.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=sandbox), timeout=SECONDS)
    assert status(null, container).state == cri.CONTAINER_EXITED
    null.runtime.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox), timeout=SECONDS)
    with pytest.raises(grpc.RpcError):
        status(null, container)


def test_lists_obey_their_filters(null: PlainConnection) -> None:
    sandbox = run_pod(null, mark="filtered")
    container = create(null, sandbox, mark="filtered")
    chosen = cri.ContainerFilter(label_selector={"mark": "filtered"})
    listed = null.runtime.ListContainers(cri.ListContainersRequest(filter=chosen), timeout=SECONDS).containers
    assert [(item.id, item.pod_sandbox_id, item.state, dict(item.labels)) for item in listed] == [
        (container, sandbox, cri.CONTAINER_CREATED, {"mark": "filtered"})
    ]
    for wanted in (
        cri.PodSandboxFilter(label_selector={"mark": "filtered"}),
        cri.PodSandboxFilter(id=sandbox),
    ):
        pods = null.runtime.ListPodSandbox(cri.ListPodSandboxRequest(filter=wanted), timeout=SECONDS).items
        assert [item.id for item in pods] == [sandbox]
    everything = null.runtime.ListContainers(cri.ListContainersRequest(), timeout=SECONDS).containers
    assert len(everything) > HELD
    assert container in {item.id for item in everything}
    streamed = null.runtime.StreamContainers(cri.StreamContainersRequest(), timeout=SECONDS)
    assert [item.id for message in streamed for item in message.containers] == [
        item.id for item in everything
    ]
    null.runtime.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox), timeout=SECONDS)
    assert not null.runtime.ListContainers(
        cri.ListContainersRequest(filter=chosen), timeout=SECONDS
    ).containers


def test_images_come_and_go(null: PlainConnection) -> None:
    name = cri.ImageSpec(image="example.test/pulled:1")
    before = len(null.images.ListImages(cri.ListImagesRequest(), timeout=SECONDS).images)
    reference = null.images.PullImage(cri.PullImageRequest(image=name), timeout=SECONDS).image_ref
    found = null.images.ImageStatus(
        cri.ImageStatusRequest(image=cri.ImageSpec(image=reference)), timeout=SECONDS
    ).image
    assert list(found.repo_tags) == [name.image]
    assert len(null.images.ListImages(cri.ListImagesRequest(), timeout=SECONDS).images) == before + 1
    null.images.RemoveImage(cri.RemoveImageRequest(image=name), timeout=SECONDS)
    assert not null.images.ImageStatus(cri.ImageStatusRequest(image=name), timeout=SECONDS).HasField("image")


def test_output_larger_than_every_window_arrives_whole(null: PlainConnection) -> None:
    container = create(null, run_pod(null))
    with ThreadPoolExecutor(4) as pool:
        calls = [
            pool.submit(null.runtime.ExecSync, cri.ExecSyncRequest(container_id=container), timeout=SECONDS)
            for _ in range(8)
        ]
    assert {call.result().stdout for call in calls} == {b"x" * EXEC_BYTES}


def test_requests_larger_than_every_window_are_taken(null: PlainConnection) -> None:
    for _ in range(3):
        sandbox = run_pod(null, big="y" * (2 << 20))
        chosen = cri.PodSandboxFilter(id=sandbox)
        items = null.runtime.ListPodSandbox(cri.ListPodSandboxRequest(filter=chosen), timeout=SECONDS).items
        assert len(items[0].labels["big"]) == 2 << 20
        null.runtime.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=sandbox), timeout=SECONDS)


def test_events_reach_every_subscriber(server: NullServer, null: PlainConnection) -> None:
    other = plain_stubs(Endpoint.parse(server.endpoint))
    streams = [
        connection.runtime.GetContainerEvents(cri.GetEventsRequest(), timeout=SECONDS)
        for connection in (null, other)
    ]
    for stream in streams:
        assert stream.initial_metadata() is not None
    container = create(null, run_pod(null))
    null.runtime.StartContainer(cri.StartContainerRequest(container_id=container), timeout=SECONDS)
    null.runtime.RemoveContainer(cri.RemoveContainerRequest(container_id=container), timeout=SECONDS)
    wanted = ["CREATED", "STARTED", "STOPPED", "DELETED"]
    for stream in streams:
        mine: list[str] = []
        for event in stream:
            if event.container_id == container:
                mine.append(cri.ContainerEventType.Name(event.container_event_type))
            if len(mine) == len(wanted):
                break
        assert mine == [f"CONTAINER_{name}_EVENT" for name in wanted]
        stream.cancel()
    other.close()
    assert null.runtime.Version(cri.VersionRequest(), timeout=SECONDS).runtime_name == "null"


def test_many_connections_at_once_get_ids_of_their_own(server: NullServer) -> None:
    identities: list[str] = []

    def client() -> None:
        connection = plain_stubs(Endpoint.parse(server.endpoint))
        identities.extend(run_pod(connection) for _ in range(30))
        connection.close()

    threads = [threading.Thread(target=client) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(identities)) == 180


def test_a_method_that_the_cri_lacks_is_unimplemented(null: PlainConnection) -> None:
    nonsense = null.channel.unary_unary(
        "/runtime.v1.RuntimeService/Nonsense",
        cri.VersionRequest.SerializeToString,
        cri.VersionResponse.FromString,
    )
    with pytest.raises(grpc.RpcError) as refused:
        nonsense(cri.VersionRequest(), timeout=SECONDS)
    assert code_of(refused) is grpc.StatusCode.UNIMPLEMENTED


def test_paths_are_read_after_more_headers_than_the_table_holds(null: PlainConnection) -> None:
    for number in range(300):
        metadata = ((f"x-key-{number}", "v" * 60),)
        assert (
            null.runtime.Version(cri.VersionRequest(), timeout=SECONDS, metadata=metadata).runtime_name
            == "null"
        )


def test_a_header_block_is_read_as_the_standard_shows() -> None:
    reader = PathReader()
    literal = (
        b"\x82\x86\x44\x0c/sample/path"  # RFC 7541 C.2: indexed fields, then :path with incremental indexing
    )
    assert reader.path(literal) == "/sample/path"
    assert reader.path(b"\x82\x86\xbe") == "/sample/path"
    assert reader.path(b"\x20\x82\x84") == "/"


def test_it_ends_with_whoever_started_it(tmp_path: Path) -> None:
    code = f"""
import os, signal
from pathlib import Path
from critests.benchmark.floors.null_server import start_null_server
server = start_null_server(Path({str(tmp_path)!r}))
print(server.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
    starter = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert starter.returncode == -signal.SIGKILL
    pid = int(starter.stdout)
    deadline = time.monotonic() + SECONDS
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert list(tmp_path.iterdir()) == []
    while (state := stat_of(pid)[:1]) not in ([], ["Z"]):
        assert time.monotonic() < deadline, state
        time.sleep(0.02)


def test_stopping_twice_is_no_harm_and_nothing_is_left(tmp_path: Path) -> None:
    server = start_null_server(tmp_path)
    server.stop()
    server.stop()
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ProcessLookupError):
        os.kill(server.pid, 0)


def test_a_server_that_cannot_listen_says_so(tmp_path: Path) -> None:
    with pytest.raises(NullServerFailed, match=r"cannot listen at .*No such file"):
        start_null_server(tmp_path / "absent")
    with pytest.raises(NullServerFailed, match=r"cannot listen at .*too long"):
        start_null_server(tmp_path / ("long" * 40))
