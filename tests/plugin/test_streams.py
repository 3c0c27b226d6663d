"""Over which protocol a test's session is opened."""

from types import SimpleNamespace

import pytest

from critests.api import api_pb2 as cri
from critests.client.streaming import command_sessions
from critests.client.streaming.streams import Protocol
from critests.fixtures.streaming import Streams


@pytest.mark.parametrize(
    ("takes_websocket", "asked", "opened"),
    [
        (True, None, Protocol.WEBSOCKET),
        (False, None, Protocol.SPDY),
        (False, Protocol.WEBSOCKET, Protocol.WEBSOCKET),
    ],
    ids=["a server of today", "one without WebSocket", "a test about WebSocket"],
)
def test_a_server_has_to_speak_one_of_the_two(
    takes_websocket: bool, asked: Protocol | None, opened: Protocol, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Protocol] = []
    monkeypatch.setattr(
        command_sessions, "open_remote_command", lambda _url, *, protocol, **_: seen.append(protocol)
    )
    runtime = SimpleNamespace(has=lambda _: takes_websocket, scale=1.0)
    streams = Streams(runtime)  # type: ignore[arg-type]  # as much of a runtime as opening a session asks

    streams.open(lambda _: SimpleNamespace(url="http://127.0.0.1/"), cri.ExecRequest(), protocol=asked)

    assert seen == [opened]
