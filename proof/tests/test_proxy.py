"""The proxy in front of our small CRI server: what passes unchanged, and what each fault does."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from critests_proof.language.faults import FaultError
from critests_proof.proxy.fault_proxy import FaultProxy, run_proxy

from critests.api import api_pb2 as cri
from tests.criserver import CriServer, serve
from tests.criserver.clients import Client, code_of, connect, eventually


class Bench:
    """A server, a proxy in front of it, and a client of each."""

    def __init__(self, server: CriServer, proxy: FaultProxy, client: Client, direct: Client) -> None:
        self.server, self.proxy, self.client, self.direct = server, proxy, client, direct
        self.runtime = client.runtime

    def break_(self, *faults: str) -> None:
        self.proxy.faults = faults

    def hit(self) -> int:
        return sum(self.proxy.hits.values())


@contextlib.contextmanager
def bench_of(server: CriServer, tmp_path: Path) -> Iterator[Bench]:
    logs = str(tmp_path)
    with (
        serve(server) as endpoint,
        FaultProxy(endpoint) as proxy,
        connect(proxy.endpoint, logs) as client,
        connect(endpoint, logs) as direct,
    ):
        yield Bench(server, proxy, client, direct)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with bench_of(CriServer(), tmp_path) as bench:
        yield bench


def boxes(client: Client, **wish: object) -> list[str]:
    request = cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(**wish))  # type: ignore[arg-type]  # fields of the message
    return [item.id for item in client.runtime.ListPodSandbox(request, timeout=10).items]


def code(client: Client, timeout: float = 10) -> grpc.StatusCode:
    try:
        client.runtime.Version(cri.VersionRequest(), timeout=timeout)
    except grpc.RpcError as error:
        return code_of(error)
    return grpc.StatusCode.OK


def raw(client: Client, path: str) -> Callable[..., bytes]:
    """Return what calls a method with bytes and answers with bytes."""
    call: grpc.UnaryUnaryMultiCallable[bytes, bytes] = client.channel.unary_unary(path)
    return call


def test_without_faults_everything_passes(bench: Bench) -> None:
    box = bench.client.run_sandbox(app="x")
    container = bench.client.run_container(box, ["sh", "-c", "exit 3"])
    assert bench.client.wait_exited(container) == bench.direct.status(container)
    assert boxes(bench.client) == boxes(bench.direct) == [box]
    with pytest.raises(grpc.RpcError) as error:
        bench.client.status("unknown")
    assert code_of(error.value) == grpc.StatusCode.NOT_FOUND
    assert "unknown" in str(error.value)


def test_streams_pass(bench: Bench) -> None:
    for name in "abc":
        bench.client.run_sandbox(name)
    pieces = list(bench.runtime.StreamPodSandboxes(cri.StreamPodSandboxesRequest(), timeout=10))
    assert [len(piece.pod_sandboxes) for piece in pieces] == [2, 1]
    with contextlib.closing(Events(bench.client)) as events:
        box = bench.client.run_sandbox("d")
        assert eventually(lambda: events.seen, lambda seen: len(seen) == 2)[0].container_id == box
    eventually(lambda: bench.server.services.store._listeners, lambda listeners: not listeners)


class Events:
    """A reader of GetContainerEvents."""

    def __init__(self, client: Client) -> None:
        self.seen: list[cri.ContainerEventResponse] = []
        self._call = client.runtime.GetContainerEvents(cri.GetEventsRequest())
        self._call.initial_metadata()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with contextlib.suppress(grpc.RpcError):
            self.seen.extend(self._call)

    def close(self) -> None:
        self._call.cancel()
        self._thread.join(5)


def test_unknown_methods_pass(bench: Bench) -> None:
    with pytest.raises(grpc.RpcError) as error:
        raw(bench.client, "/other.Service/Method")(b"x", timeout=5)
    assert code_of(error.value) == grpc.StatusCode.UNIMPLEMENTED


def test_unknown_fields_pass(bench: Bench) -> None:
    call = raw(bench.client, "/runtime.v1.RuntimeService/Version")
    assert cri.VersionResponse.FromString(call(b"\xfa\x3f\x01x", timeout=5)).runtime_api_version == "v1"


def test_huge_messages_pass(tmp_path: Path) -> None:
    with bench_of(CriServer(wrong=["huge=Status"]), tmp_path) as bench:
        assert bench.runtime.Status(cri.StatusRequest(), timeout=20).ByteSize() > 16 << 20
        bench.break_("Status.response.status.conditions: drop-first")
        assert len(bench.runtime.Status(cri.StatusRequest(), timeout=20).status.conditions) == 1


def test_what_is_no_message_passes_and_is_reported_under_a_fault(tmp_path: Path) -> None:
    with bench_of(CriServer(wrong=["garbage=Version"]), tmp_path) as bench:
        call = raw(bench.client, "/runtime.v1.RuntimeService/Version")
        assert call(b"", timeout=5).startswith(b"\xff")
        bench.break_("Version.response.version: set x")
        with pytest.raises(grpc.RpcError, match="cannot decode"):
            call(b"", timeout=5)


def test_deadlines_and_cancellation_reach_the_runtime(tmp_path: Path) -> None:
    with bench_of(CriServer(wrong=["hangs=Version"]), tmp_path) as bench:
        started = time.monotonic()
        assert code(bench.client, timeout=1) == grpc.StatusCode.DEADLINE_EXCEEDED
        assert time.monotonic() - started < 20
        call = bench.runtime.Version.future(cri.VersionRequest())
        eventually(lambda: len(bench.server.calls), lambda calls: calls == 2)
        call.cancel()
        assert bench.runtime.Status(cri.StatusRequest(), timeout=5).status.conditions


def test_a_dead_runtime_is_unavailable_and_comes_back(tmp_path: Path) -> None:
    socket = tmp_path / "cri.sock"
    with FaultProxy(f"unix://{socket}") as proxy, connect(proxy.endpoint) as client:
        assert code(client, timeout=2) == grpc.StatusCode.UNAVAILABLE
        server = CriServer()
        server.start(socket)
        eventually(lambda: code(client), lambda seen: seen == grpc.StatusCode.OK)
        server.stop()
        assert code(client, timeout=2) == grpc.StatusCode.UNAVAILABLE


def test_faults_in_requests_and_answers(bench: Bench) -> None:
    first, second = bench.client.run_sandbox("a"), bench.client.run_sandbox("b")
    bench.break_(
        "ListPodSandbox.request.filter.id: clear",
        "ListPodSandbox.response.items[].state: set SANDBOX_NOTREADY",
    )
    items = bench.runtime.ListPodSandbox(
        cri.ListPodSandboxRequest(filter=cri.PodSandboxFilter(id=first)), timeout=5
    ).items
    assert {item.id for item in items} == {first, second}
    assert {item.state for item in items} == {cri.SANDBOX_NOTREADY}
    assert list(bench.proxy.hits.values()) == [1, 1]
    bench.break_()
    assert boxes(bench.client, id=first) == [first]


def test_append_other_adds_what_the_filter_left_out(bench: Bench) -> None:
    first, second = bench.client.run_sandbox("a"), bench.client.run_sandbox("b")
    bench.break_("ListPodSandbox.response.items: append-other")
    assert boxes(bench.client, id=first) == [first, second]


def test_swallow(bench: Bench) -> None:
    box = bench.client.run_sandbox()
    bench.break_("RemovePodSandbox: swallow")
    bench.runtime.RemovePodSandbox(cri.RemovePodSandboxRequest(pod_sandbox_id=box), timeout=5)
    assert boxes(bench.direct) == [box]
    assert bench.hit() == 1


def test_error_and_conditions(bench: Bench) -> None:
    bench.break_('Version: error UNAVAILABLE "not now" when nth=2')
    assert [code(bench.client) for _ in range(3)] == [
        grpc.StatusCode.OK,
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.OK,
    ]
    bench.break_("Version: error NOT_FOUND when repeated")
    assert [code(bench.client) for _ in range(2)] == [grpc.StatusCode.OK, grpc.StatusCode.NOT_FOUND]


def test_fail_after_and_empty(bench: Bench) -> None:
    bench.break_("RunPodSandbox: fail-after UNKNOWN")
    with pytest.raises(grpc.RpcError):
        bench.client.run_sandbox("a")
    assert len(boxes(bench.client)) == 1
    bench.break_("RunPodSandbox: empty")
    assert not bench.client.run_sandbox("b")
    assert len(boxes(bench.client)) == 2


@pytest.mark.parametrize("action", ["delay", "delay-answer"])
def test_delays(bench: Bench, action: str) -> None:
    bench.break_(f"Version: {action} 300ms")
    started = time.monotonic()
    assert code(bench.client) == grpc.StatusCode.OK
    assert 0.3 <= time.monotonic() - started < 20


def test_hang(bench: Bench) -> None:
    bench.break_("Version: hang")
    assert code(bench.client, timeout=0.3) == grpc.StatusCode.DEADLINE_EXCEEDED
    assert "Version" not in bench.server.calls


def test_twice(bench: Bench) -> None:
    bench.break_("Version: twice")
    assert code(bench.client) == grpc.StatusCode.OK
    assert bench.server.calls == ["Version", "Version"]


def test_old_answers(bench: Bench) -> None:
    bench.break_("ListPodSandbox: frozen")
    assert boxes(bench.client) == []
    first = bench.client.run_sandbox("a")
    assert boxes(bench.client) == []
    bench.break_("ListPodSandbox: lagging")
    assert boxes(bench.client) == [first]
    second = bench.client.run_sandbox("b")
    assert boxes(bench.client) == [first]
    assert boxes(bench.client) == [second, first]
    bench.break_("ListPodSandbox: stale")
    assert boxes(bench.client, id=first) == [second, first]


def test_an_old_answer_stands_for_an_error_too(bench: Bench) -> None:
    status = bench.runtime.PodSandboxStatus
    first = cri.PodSandboxStatusRequest(pod_sandbox_id=bench.client.run_sandbox("a"))
    unknown = cri.PodSandboxStatusRequest(pod_sandbox_id="unknown")
    with pytest.raises(grpc.RpcError):
        status(unknown, timeout=5)

    bench.break_("PodSandboxStatus: stale")

    with pytest.raises(grpc.RpcError):
        status(unknown, timeout=5)  # nothing was answered before
    first_response = status(first, timeout=5)
    assert status(unknown, timeout=5) == first_response


def test_additional_calls(bench: Bench) -> None:
    bench.break_('RunPodSandbox: after StopPodSandbox {"pod_sandbox_id": "$response.pod_sandbox_id"}')
    bench.client.run_sandbox()
    (item,) = bench.runtime.ListPodSandbox(cri.ListPodSandboxRequest(), timeout=5).items
    assert item.state == cri.SANDBOX_NOTREADY
    bench.break_('PodSandboxStatus: before RemovePodSandbox {"pod_sandbox_id": "$request.pod_sandbox_id"}')
    with pytest.raises(grpc.RpcError):
        bench.runtime.PodSandboxStatus(cri.PodSandboxStatusRequest(pod_sandbox_id=item.id), timeout=5)


@pytest.mark.parametrize(
    ("fault", "sizes"),
    [
        ("StreamPodSandboxes: cut 1", [2]),
        ("StreamPodSandboxes: swallow", []),
        ("StreamPodSandboxes.response: drop when message=1", [1]),
        ("StreamPodSandboxes.response: duplicate when message=2", [2, 1, 1]),
        ("StreamPodSandboxes.response: clear", [0, 0]),
        ("StreamPodSandboxes.response: postpone when message=1", [1, 2]),
        ("StreamPodSandboxes.response: postpone when message=2", [2, 1]),
        ("StreamPodSandboxes.response: postpone", [1, 2]),
        ("StreamPodSandboxes.response: delay 10ms", [2, 1]),
        ("StreamPodSandboxes.response.pod_sandboxes: drop-first when message=1", [1, 1]),
        ("StreamPodSandboxes.request.filter.label_selector[app]: set none", []),
    ],
)
def test_faults_in_streams(bench: Bench, fault: str, sizes: list[int]) -> None:
    for name in "abc":
        bench.client.run_sandbox(name)
    bench.break_(fault)
    pieces = list(bench.runtime.StreamPodSandboxes(cri.StreamPodSandboxesRequest(), timeout=10))
    assert [len(piece.pod_sandboxes) for piece in pieces] == sizes
    assert bench.hit()


def test_an_error_in_the_middle_of_a_stream(bench: Bench) -> None:
    for name in "abc":
        bench.client.run_sandbox(name)
    bench.break_("StreamPodSandboxes: fail-after UNAVAILABLE when message=2")
    stream = bench.runtime.StreamPodSandboxes(cri.StreamPodSandboxesRequest(), timeout=10)
    assert len(next(stream).pod_sandboxes) == 2
    with pytest.raises(grpc.RpcError) as error:
        next(stream)
    assert code_of(error.value) == grpc.StatusCode.UNAVAILABLE


def test_another_code_where_the_runtime_refuses(bench: Bench) -> None:
    bench.break_("PodSandboxStatus: recode DATA_LOSS")
    box = bench.client.run_sandbox()
    request = cri.PodSandboxStatusRequest(pod_sandbox_id=box)
    assert bench.runtime.PodSandboxStatus(request, timeout=5).status.id == box
    assert not bench.hit()
    request.pod_sandbox_id = "nowhere"
    with pytest.raises(grpc.RpcError) as error:
        bench.runtime.PodSandboxStatus(request, timeout=5)
    assert code_of(error.value) == grpc.StatusCode.DATA_LOSS
    assert bench.hit() == 1


def test_an_event_can_be_dropped(bench: Bench) -> None:
    bench.break_(
        "GetContainerEvents.response: drop when response.container_event_type==CONTAINER_STARTED_EVENT"
    )
    with contextlib.closing(Events(bench.client)) as events:
        box = bench.client.run_sandbox()
        bench.runtime.StopPodSandbox(cri.StopPodSandboxRequest(pod_sandbox_id=box), timeout=5)
        seen = eventually(lambda: events.seen, lambda seen: len(seen) == 2)
    assert [event.container_event_type for event in seen] == [
        cri.CONTAINER_CREATED_EVENT,
        cri.CONTAINER_STOPPED_EVENT,
    ]


def test_a_block_can_be_honest(bench: Bench) -> None:
    bench.break_("Version: error UNAVAILABLE")
    with bench.proxy.honest():
        assert code(bench.client) == grpc.StatusCode.OK
    assert code(bench.client) == grpc.StatusCode.UNAVAILABLE
    assert bench.hit() == 1


def test_many_clients_at_once_while_faults_change(bench: Bench) -> None:
    wrong: list[grpc.StatusCode] = []

    def call() -> None:
        wrong.extend(seen for seen in (code(bench.client) for _ in range(25)) if seen != grpc.StatusCode.OK)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        bench.break_("Version.response.version: set x")
        bench.break_()
    for thread in threads:
        thread.join(20)
    assert not wrong


def test_two_endpoints() -> None:
    with contextlib.ExitStack() as stack:
        runtime = stack.enter_context(serve(CriServer(without=["ListImages"])))
        images = stack.enter_context(serve(CriServer(without=["Version"])))
        proxy = stack.enter_context(FaultProxy(runtime, image_upstream=images))
        client = stack.enter_context(connect(proxy.endpoint))
        assert code(client) == grpc.StatusCode.OK
        assert not client.image.ListImages(cri.ListImagesRequest(), timeout=5).images


def test_run_proxy_says_what_it_did(tmp_path: Path) -> None:
    said: list[str] = []
    over = threading.Event()
    with serve(CriServer()) as endpoint:
        listen = tmp_path / "proxy.sock"
        arguments = (listen, endpoint, ["Version.response.version: set x"])
        thread = threading.Thread(
            target=run_proxy, args=arguments, kwargs={"say": said.append, "until": over}
        )
        thread.start()
        eventually(listen.exists, bool)
        with connect(f"unix://{listen}") as client:
            assert client.runtime.Version(cri.VersionRequest(), timeout=5).version == "x"
        over.set()
        thread.join(10)
    assert not listen.exists()
    assert said[0] == f"proxy for {endpoint} at unix://{listen}"
    assert said[-1] == "  changed something 1 times: Version.response.version: set x"


def test_run_proxy_refuses_a_bad_fault_before_it_listens(tmp_path: Path) -> None:
    with pytest.raises(FaultError):
        run_proxy(tmp_path / "proxy.sock", "unix:///nowhere", ["nonsense"])
    assert not (tmp_path / "proxy.sock").exists()


def test_the_socket_is_open_to_everybody_while_the_fault_is_set(bench: Bench) -> None:
    socket = Path(bench.proxy.endpoint.removeprefix("unix://"))

    bench.break_("socket: world-writable")
    modes = [socket.stat().st_mode & 0o777]
    assert bench.hit() == 1
    bench.break_()
    modes.append(socket.stat().st_mode & 0o777)

    assert modes == [0o777, 0o755]
    with pytest.raises(FaultError, match="can only be world-writable"):
        bench.break_("socket: missing")
