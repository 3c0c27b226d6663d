"""The small CRI server, where it is right."""

import threading
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
import websocket

from critests.api import api_pb2 as cri
from tests.criserver import CriServer, serve
from tests.criserver.clients import IMAGE, Client, code_of, connect, eventually


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with serve(CriServer()) as endpoint, connect(endpoint, str(tmp_path)) as client:
        yield client


def wait_for_log(path: Path, text: bytes) -> None:
    eventually(lambda: path.read_bytes() if path.exists() else b"", lambda log: text in log)


def test_sandbox_life(client: Client) -> None:
    box = client.run_sandbox("a", app="x")
    status = client.runtime.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=box)).status
    assert (status.state, status.metadata.name, status.labels["app"]) == (cri.SANDBOX_READY, "a", "x")
    assert status.network.ip.startswith("10.77.")

    for _ in range(2):
        client.runtime.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=box))
    (item,) = client.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items
    assert item.state == cri.SANDBOX_NOTREADY

    for _ in range(2):
        client.runtime.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=box))
    with pytest.raises(grpc.RpcError) as error:
        client.runtime.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=box))
    assert code_of(error.value) == grpc.StatusCode.NOT_FOUND


def test_sandbox_filters(client: Client) -> None:
    wanted, other = client.run_sandbox("a", app="x"), client.run_sandbox("b", app="y")
    client.runtime.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=other))
    for wish in (
        cri.PodSandboxFilter(id=wanted),
        cri.PodSandboxFilter(state=cri.PodSandboxStateValue(state=cri.SANDBOX_READY)),
        cri.PodSandboxFilter(label_selector={"app": "x"}),
    ):
        assert [
            item.id for item in client.runtime.ListPodSandbox(cri.ListPodSandboxRequest(filter=wish)).items
        ] == [wanted]
    assert len(client.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items) == 2


def test_container_runs_logs_and_exits(client: Client, tmp_path: Path) -> None:
    container = client.run_container(
        client.run_sandbox(), ["sh", "-c", "echo ' out '; echo err >&2; printf end; exit 7"]
    )
    status = client.wait_exited(container)
    assert (status.exit_code, status.reason) == (7, "Error")
    assert 0 < status.created_at <= status.started_at <= status.finished_at
    log = Path(status.log_path)
    assert log.parent == tmp_path
    lines = {tuple(line.split(b" ", 3)[1:]) for line in log.read_bytes().splitlines()}
    assert lines == {(b"stdout", b"F", b" out "), (b"stderr", b"F", b"err"), (b"stdout", b"P", b"end")}


def test_long_lines_are_split(client: Client) -> None:
    container = client.run_container(
        client.run_sandbox(), ["sh", "-c", "head -c 40000 /dev/zero | tr '\\0' x; echo"]
    )
    log = Path(client.wait_exited(container).log_path).read_bytes().splitlines()
    assert [line.split(b" ")[2] for line in log] == [b"P", b"P", b"F"]
    assert sum(len(line.split(b" ", 3)[3]) for line in log) == 40000


def test_stop_waits_for_the_grace_period_and_then_kills(client: Client) -> None:
    box = client.run_sandbox()
    polite = client.run_container(
        box, ["sh", "-c", "trap 'exit 3' TERM; echo ready; while :; do sleep 0.02; done"], name="polite"
    )
    deaf = client.run_container(
        box, ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.02; done"], name="deaf"
    )
    for container in (polite, deaf):
        wait_for_log(Path(client.status(container).log_path), b"ready")
    client.runtime.StopContainer(cri.StopContainerRequest(container_id=polite, timeout=10))
    client.runtime.StopContainer(cri.StopContainerRequest(container_id=deaf, timeout=1))
    assert (client.status(polite).exit_code, client.status(deaf).exit_code) == (3, 137)


def test_exec_sync(client: Client) -> None:
    container = client.run_container(
        client.run_sandbox(), ["sleep", "100"], envs=[cri.KeyValue(key="GREETING", value=b"hello")]
    )
    command = ["sh", "-c", 'echo "$GREETING"; echo no >&2; exit 4']
    answer = client.runtime.ExecSync(cri.ExecSyncRequest(container_id=container, cmd=command))
    assert (answer.stdout, answer.stderr, answer.exit_code) == (b"hello\n", b"no\n", 4)
    with pytest.raises(grpc.RpcError) as error:
        client.runtime.ExecSync(cri.ExecSyncRequest(container_id=container, cmd=["sleep", "30"], timeout=1))
    assert code_of(error.value) == grpc.StatusCode.DEADLINE_EXCEEDED


def test_exec_over_websocket(client: Client) -> None:
    container = client.run_container(client.run_sandbox(), ["sleep", "100"])
    request = cri.ExecRequest(
        container_id=container,
        cmd=["sh", "-c", "read x; echo got $x; exit 5"],
        stdin=True,
        stdout=True,
        stderr=True,
    )
    url = client.runtime.Exec(request).url
    session = websocket.create_connection(
        url.replace("http", "ws", 1), subprotocols=["v4.channel.k8s.io"], timeout=10
    )
    session.send_binary(b"\x00word\n")
    frames = []
    while True:
        opcode, data = session.recv_data()
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            break
        frames.append(data)
    session.shutdown()  # type: ignore[no-untyped-call]  # the library has no types here
    assert frames[0] == b"\x01"
    assert b"\x01got word\n" in frames
    assert frames[-1].startswith(b"\x03")
    assert b'"message": "5"' in frames[-1]


def test_reopen_log_follows_the_name(client: Client) -> None:
    script = "echo one; while ! test -e /proc/self/cwd/none; do echo more; sleep 0.02; done"
    container = client.run_container(client.run_sandbox(), ["sh", "-c", script])
    log = Path(client.status(container).log_path)
    wait_for_log(log, b"more")
    log.rename(log.with_suffix(".1"))
    client.runtime.ReopenContainerLog(cri.ReopenContainerLogRequest(container_id=container))
    wait_for_log(log, b"more")


def test_images(client: Client) -> None:
    spec = cri.ImageSpec(image=IMAGE)
    assert not client.image.ImageStatus(cri.ImageStatusRequest(image=spec)).HasField("image")
    reference = client.image.PullImage(cri.PullImageRequest(image=spec)).image_ref
    image = client.image.ImageStatus(cri.ImageStatusRequest(image=spec)).image
    assert (image.id, list(image.repo_tags)) == (reference, [IMAGE, "example.test/busybox:latest"][:1])
    client.image.PullImage(cri.PullImageRequest(image=cri.ImageSpec(image="example.test/busybox")))
    (listed,) = client.image.ListImages(cri.ListImagesRequest()).images
    assert sorted(listed.repo_tags) == ["example.test/busybox:1", "example.test/busybox:latest"]
    for _ in range(2):
        client.image.RemoveImage(cri.RemoveImageRequest(image=spec))
    assert not client.image.ListImages(cri.ListImagesRequest()).images
    with pytest.raises(grpc.RpcError) as error:
        client.image.PullImage(cri.PullImageRequest(image=cri.ImageSpec(image="example.test/nothing:1")))
    assert code_of(error.value) == grpc.StatusCode.NOT_FOUND


def test_streaming_lists_hold_what_the_unary_ones_do(client: Client) -> None:
    assert not list(client.runtime.StreamPodSandboxes(cri.StreamPodSandboxesRequest()))
    for name in "abc":
        client.run_sandbox(name)
    streamed = [
        item.id
        for piece in client.runtime.StreamPodSandboxes(cri.StreamPodSandboxesRequest())
        for item in piece.pod_sandboxes
    ]
    assert streamed == [item.id for item in client.runtime.ListPodSandbox(cri.ListPodSandboxRequest()).items]
    assert len(list(client.runtime.StreamPodSandboxes(cri.StreamPodSandboxesRequest()))) == 2


def test_events_of_one_container(client: Client) -> None:
    events = client.runtime.GetContainerEvents(cri.GetEventsRequest())
    events.initial_metadata()
    seen: list[tuple[str, int]] = []
    done = threading.Event()

    def read() -> None:
        for event in events:
            seen.append((event.container_id, event.container_event_type))
            if event.container_event_type == cri.CONTAINER_DELETED_EVENT:
                break
        done.set()

    threading.Thread(target=read, daemon=True).start()
    box = client.run_sandbox()
    container = client.run_container(box, ["true"])
    client.wait_exited(container)
    client.runtime.RemoveContainer(cri.RemoveContainerRequest(container_id=container))
    assert done.wait(10)
    events.cancel()
    assert [kind for owner, kind in seen if owner == container] == [
        cri.CONTAINER_CREATED_EVENT,
        cri.CONTAINER_STARTED_EVENT,
        cri.CONTAINER_STOPPED_EVENT,
        cri.CONTAINER_DELETED_EVENT,
    ]


def test_stats(client: Client) -> None:
    box = client.run_sandbox()
    container = client.run_container(box, ["sleep", "100"])
    assert (
        client.runtime.ContainerStats(
            cri.ContainerStatsRequest(container_id=container)
        ).stats.memory.working_set_bytes.value
        > 0
    )
    (stats,) = client.runtime.ListPodSandboxStats(cri.ListPodSandboxStatsRequest()).stats
    assert [one.attributes.id for one in stats.linux.containers] == [container]
    (metrics,) = client.runtime.ListPodSandboxMetrics(cri.ListPodSandboxMetricsRequest()).pod_metrics
    assert metrics.container_metrics[0].container_id == container


def test_what_is_left_out_is_unimplemented() -> None:
    without = ["RuntimeConfig", "CheckpointContainer"]
    with serve(CriServer(without=without)) as endpoint, connect(endpoint) as client:
        for call in (
            lambda: client.runtime.RuntimeConfig(cri.RuntimeConfigRequest()),
            lambda: client.runtime.CheckpointContainer(cri.CheckpointContainerRequest()),
        ):
            with pytest.raises(grpc.RpcError) as error:
                call()
            assert code_of(error.value) == grpc.StatusCode.UNIMPLEMENTED
