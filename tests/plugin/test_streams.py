"""The protocol of a streaming session of a test."""

from types import SimpleNamespace

import pytest

from critests.api import api_pb2 as cri
from critests.client.streaming import command_sessions
from critests.client.streaming.streams import Protocol
from critests.fixtures.streaming import Streams


@pytest.mark.parametrize(
    ("takes_websocket", "requested", "opened"),
    [
        (True, None, Protocol.WEBSOCKET),
        (False, None, Protocol.SPDY),
        (False, Protocol.WEBSOCKET, Protocol.WEBSOCKET),
    ],
    ids=["server with WebSocket", "server without WebSocket", "WebSocket requested"],
)
def test_session_uses_websocket_if_supported_or_requested(
    takes_websocket: bool, requested: Protocol | None, opened: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    protocols: list[Protocol] = []
    monkeypatch.setattr(
        command_sessions, "open_remote_command", lambda _url, *, protocol, **_: protocols.append(protocol)
    )
    runtime = SimpleNamespace(has=lambda _: takes_websocket, scale=1.0)
    streams = Streams(runtime)  # type: ignore[arg-type]  # the parts of a runtime that a session needs

    streams.open(lambda _: SimpleNamespace(url="http://127.0.0.1/"), cri.ExecRequest(), protocol=requested)

    assert protocols == [opened]
