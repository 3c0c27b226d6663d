"""STR: the end of one direction of a session over WebSocket, which v5.channel.k8s.io has a word for."""

import pytest

from critests.api import api_pb2 as cri
from critests.client.streaming.errors import UpgradeRefused
from critests.client.streaming.session import V4
from critests.client.streaming.sessions import RemoteCommand
from critests.client.streaming.streams import Protocol
from critests.fixtures.runtime import Runtime
from critests.fixtures.streaming import Streams
from critests.lifecycle.containers import Container
from critests.run.marks import requirement
from critests.run.outcomes import unsupported

V5 = "v5.channel.k8s.io"


@pytest.fixture
def session(runtime: Runtime, running_container: Container, streams: Streams) -> RemoteCommand:
    """A command that prints its input until that ends, over v5.channel.k8s.io."""
    script = "cat; echo the input has ended"
    request = cri.ExecRequest(
        container_id=running_container.id, cmd=["/bin/sh", "-c", script], stdin=True, stdout=True, stderr=True
    )
    try:
        opened = streams.open(runtime.stub.Exec, request, protocol=Protocol.WEBSOCKET, subprotocols=(V5, V4))
    except UpgradeRefused as error:
        unsupported(f"WebSocket v5: the server answers HTTP {error.status}")
    if opened.subprotocol != V5:
        unsupported(f"WebSocket v5: the server chooses {opened.subprotocol or 'none'}")
    return opened


@requirement("STR-14")
def test_the_end_of_input_is_told_over_websocket(session: RemoteCommand) -> None:
    """Over v5.channel.k8s.io, where the client says on channel 255 that stdin has ended, the command MUST see
    the end of its input, and what it still prints MUST come.

    Source: ExecRequest.stdin; the sub-protocol v5.channel.k8s.io.
    """
    session.write(b"one\n")
    session.close_stdin()

    finished = session.finish()

    assert finished.stdout == b"one\nthe input has ended\n"
    assert finished.failure == ""
