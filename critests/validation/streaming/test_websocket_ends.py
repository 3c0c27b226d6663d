"""STR: how a WebSocket session ends, and how the client closes stdin (v5.channel.k8s.io)."""

import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    V4,
    Container,
    Containers,
    EndedBy,
    Protocol,
    RemoteCommand,
    Runtime,
    Streams,
    UpgradeRefused,
    requirement,
    unsupported,
)

V5 = "v5.channel.k8s.io"
NORMAL_CLOSURE = 1000
"""The code of a close frame after a complete session."""


@pytest.fixture
def session(runtime: Runtime, running_container: Container, streams: Streams) -> RemoteCommand:
    """A session over v5.channel.k8s.io with a command that prints its input and reports the end of it."""
    script = "cat; echo the input has ended"
    request = cri.ExecRequest(
        container_id=running_container.id, cmd=["/bin/sh", "-c", script], stdin=True, stdout=True, stderr=True
    )
    try:
        opened = streams.open(runtime.stub.Exec, request, protocol=Protocol.WEBSOCKET, subprotocols=(V5, V4))
    except UpgradeRefused as error:
        unsupported(f"WebSocket v5: the server returns HTTP {error.status}")
    if opened.subprotocol != V5:
        unsupported(f"WebSocket v5: the server chooses {opened.subprotocol or 'none'}")
    return opened


@requirement("STR-14")
def test_closing_stdin_over_websocket(session: RemoteCommand) -> None:
    """Exec over v5.channel.k8s.io MUST close the command's stdin when the client closes it by a message
    on channel 255, and send what the command prints after that.

    Source: ExecRequest.stdin; the sub-protocol v5.channel.k8s.io.
    """
    session.write(b"one\n")
    session.close_stdin()

    finished = session.finish()

    assert finished.stdout == b"one\nthe input has ended\n"
    assert finished.failure == ""


@requirement("STR-22")
@pytest.mark.parametrize("rpc", ["Exec", "Attach"])
def test_completed_session_ends_with_a_close_frame(
    runtime: Runtime, containers: Containers, streams: Streams, rpc: str
) -> None:
    """The streaming server SHOULD end a WebSocket session with a close frame when the process has exited.

    Source: RFC 6455, 7.1.1 and 7.4.1; ExecResponse.url and AttachResponse.url. Clients treat a connection
    that ends without a close frame as broken.
    """
    # exits after a line of input, which ends the attached session
    container = containers.running(script="read go", stdin=True)
    requests: dict[str, cri.ExecRequest | cri.AttachRequest] = {
        "Exec": cri.ExecRequest(container_id=container.id, cmd=["head", "-n", "1"], stdin=True, stdout=True),
        "Attach": cri.AttachRequest(container_id=container.id, stdin=True, stdout=True),
    }
    opened = streams.open(getattr(runtime.stub, rpc), requests[rpc], protocol=Protocol.WEBSOCKET)

    opened.write(b"go\n")

    finished = opened.finish()
    assert (finished.ended_by, finished.close_code) == (EndedBy.CLOSE_FRAME, NORMAL_CLOSURE)
