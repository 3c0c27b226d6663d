"""The plugin, connected to a fake runtime."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from google.protobuf.message import Message

from critests.api import nri_pb2 as nri
from critests.api import ttrpc_pb2
from critests.node.nri import ttrpc
from critests.node.nri.multiplexer import PLUGIN, RUNTIME, Multiplexer
from critests.node.nri.nri_plugin import (
    PACKAGE,
    WITHOUT_VALIDATION,
    HookRefusal,
    NriPlugin,
    PluginEvent,
    PluginNotConnected,
)

SECONDS = 10.0


class Peer:
    """The runtime's end of the connection, which makes one call at a time."""

    def __init__(self, trunk: socket.socket) -> None:
        trunk.settimeout(SECONDS)
        self.multiplexer = Multiplexer(trunk)
        self._stream = -1

    def call(self, method: str, request: Message) -> ttrpc_pb2.Response:
        self._stream += 2
        frame = ttrpc.request(self._stream, f"{PACKAGE}.Plugin", method, request.SerializeToString(), SECONDS)
        self.multiplexer.send(PLUGIN, frame.packed())
        return ttrpc_pb2.Response.FromString(self.next(PLUGIN).payload)

    def next(self, connection: int) -> ttrpc.TtrpcFrame:
        frames = ttrpc.Frames()
        while True:
            found, data = self.multiplexer.receive()
            assert found == connection
            for frame in frames.feed(data):
                return frame

    def take(self, message: Message | ttrpc_pb2.Status) -> ttrpc_pb2.Request:
        frame = self.next(RUNTIME)
        response = (
            ttrpc.refusal(frame.stream, message.code, message.message)
            if isinstance(message, ttrpc_pb2.Status)
            else ttrpc.answer(frame.stream, message.SerializeToString())
        )
        self.multiplexer.send(RUNTIME, response.packed())
        return ttrpc_pb2.Request.FromString(frame.payload)


@pytest.fixture
def sockets() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture
def plugin(sockets: tuple[socket.socket, socket.socket]) -> Iterator[NriPlugin]:
    plugin = NriPlugin(sockets[0], "test", "07")
    yield plugin
    plugin.close()


@pytest.fixture
def peer(sockets: tuple[socket.socket, socket.socket]) -> Peer:
    return Peer(sockets[1])


def test_plugin_subscribes_to_events_in_configure(plugin: NriPlugin, peer: Peer) -> None:
    response = peer.call("Configure", nri.ConfigureRequest(runtime_name="ours", request_timeout=2000))

    assert nri.ConfigureResponse.FromString(response.payload).events == WITHOUT_VALIDATION == 0x7FF
    assert plugin.configuration is not None
    assert (plugin.configuration.runtime_name, plugin.configuration.request_timeout) == ("ours", 2000)


def test_synchronization_of_several_messages_is_joined(plugin: NriPlugin, peer: Peer) -> None:
    first = nri.SynchronizeRequest(pods=[nri.PodSandbox(id="p")], more=True)
    last = nri.SynchronizeRequest(containers=[nri.Container(id="c", pod_sandbox_id="p")])

    more = nri.SynchronizeResponse.FromString(peer.call("Synchronize", first).payload).more
    synchronized = plugin.is_synchronized(0)
    peer.call("Synchronize", last)

    assert (more, synchronized) == (True, False)
    assert plugin.is_synchronized(SECONDS)
    assert plugin.snapshot is not None
    assert (set(plugin.snapshot.pods), set(plugin.snapshot.containers)) == ({"p"}, {"c"})


def test_a_hook_may_respond_to_the_synchronization(plugin: NriPlugin, peer: Peer) -> None:
    update = nri.ContainerUpdate(container_id="c")

    with plugin.hooked("Synchronize", lambda _: nri.SynchronizeResponse(update=[update])):
        response = peer.call("Synchronize", nri.SynchronizeRequest(pods=[nri.PodSandbox(id="p")]))

    assert list(nri.SynchronizeResponse.FromString(response.payload).update) == [update]
    assert plugin.snapshot is not None
    assert set(plugin.snapshot.pods) == {"p"}


def test_events_of_old_and_new_runtimes_have_the_same_names(plugin: NriPlugin, peer: Peer) -> None:
    pod, container = nri.PodSandbox(id="p"), nri.Container(id="c")
    peer.call("RunPodSandbox", nri.PodRequest(pod=pod))
    peer.call("StateChange", nri.StateChangeEvent(event=nri.RUN_POD_SANDBOX, pod=pod))
    event = nri.StateChangeEvent(event=nri.POST_START_CONTAINER, pod=pod, container=container)
    peer.call("StateChange", event)
    peer.call("CreateContainer", nri.ContainerRequest(pod=pod, container=container))

    assert [event.name for event in plugin.events_of("p")] == ["RunPodSandbox", "RunPodSandbox"]
    assert [event.name for event in plugin.events_of("c")] == ["PostStartContainer", "CreateContainer"]
    first = plugin.first("CreateContainer", "c")
    assert first is not None
    assert first.pod.id == "p"
    assert plugin.first("StopContainer", "c") is None


def test_hook_returns_the_response(plugin: NriPlugin, peer: Peer) -> None:
    adjustment = nri.ContainerAdjustment(annotations={"a": "b"})

    with plugin.hooked("CreateContainer", lambda _: nri.CreateContainerResponse(adjust=adjustment)):
        response = peer.call("CreateContainer", nri.ContainerRequest())
    after = peer.call("CreateContainer", nri.ContainerRequest())

    assert nri.CreateContainerResponse.FromString(response.payload).adjust == adjustment
    assert after.payload == b""


def test_hook_can_reject_a_call(plugin: NriPlugin, peer: Peer) -> None:
    def refuse(_: PluginEvent) -> NoReturn:
        raise HookRefusal("not this one")

    plugin.hooks["StartContainer"] = refuse

    response = peer.call("StateChange", nri.StateChangeEvent(event=nri.START_CONTAINER))

    assert (response.status.code, response.status.message) == (ttrpc.UNKNOWN, "not this one")


def test_unknown_method_is_unimplemented(plugin: NriPlugin, peer: Peer) -> None:
    assert peer.call("Newest", nri.Empty()).status.code == ttrpc.UNIMPLEMENTED
    assert plugin.received == []


def test_plugin_calls_the_runtime(plugin: NriPlugin, peer: Peer) -> None:
    failed = nri.UpdateContainersResponse(failed=[nri.ContainerUpdate(container_id="c")])
    calls: list[ttrpc_pb2.Request] = []
    serving = threading.Thread(target=lambda: calls.extend((peer.take(nri.Empty()), peer.take(failed))))
    serving.start()

    plugin.register()
    response = plugin.update(nri.UpdateContainersRequest(update=[nri.ContainerUpdate(container_id="c")]))

    serving.join(SECONDS)
    assert response == failed
    assert [(call.service, call.method) for call in calls] == [
        (f"{PACKAGE}.Runtime", "RegisterPlugin"),
        (f"{PACKAGE}.Runtime", "UpdateContainers"),
    ]
    registration = nri.RegisterPluginRequest.FromString(calls[0].payload)
    assert (registration.plugin_name, registration.plugin_idx) == ("test", "07")


def test_error_of_the_runtime_is_raised(plugin: NriPlugin, peer: Peer) -> None:
    serving = threading.Thread(target=lambda: peer.take(ttrpc_pb2.Status(code=2, message="no")))
    serving.start()

    with pytest.raises(ttrpc.TtrpcError, match="no") as failure:
        plugin.register()

    serving.join(SECONDS)
    assert failure.value.code == 2


def test_plugin_notices_a_closed_connection(plugin: NriPlugin, peer: Peer) -> None:
    peer.multiplexer.close()

    assert plugin.ends_within(SECONDS)
    with pytest.raises(PluginNotConnected, match="ended"):
        plugin.register()


def test_connect_fails_without_a_listening_runtime(tmp_path: Path) -> None:
    with pytest.raises(PluginNotConnected, match="takes no plugins"):
        NriPlugin.connect(tmp_path / "nri.sock", "test", "07", seconds=1)


def test_connect_fails_without_synchronize(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "nri.sock"))
        server.listen()

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                Peer(connection).take(nri.Empty())
                connection.recv(1)

        serving = threading.Thread(target=serve)
        serving.start()
        with pytest.raises(PluginNotConnected, match="neither Configure nor Synchronize came"):
            NriPlugin.connect(tmp_path / "nri.sock", "test", "07", seconds=0.2)
        serving.join(SECONDS)
