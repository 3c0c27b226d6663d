"""STR: SPDY sessions whose client does not open all the streams of its request."""

import time
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest

from critests.api import api_pb2 as cri
from critests.client.streaming.ledger import RETAINED_BYTES, Ledger
from critests.client.streaming.spdy_transport import open_spdy
from critests.client.streaming.wire import connect
from critests.testing import (
    V4,
    Container,
    OwnRuntime,
    RecordVariant,
    RemoteCommand,
    Runtime,
    StreamChannel,
    Streams,
    StreamTimeout,
    disruptive,
    requirement,
    slow,
    yielding,
)

pytestmark = slow

Incomplete = Callable[[], RemoteCommand]

STREAM_SECONDS = 30
"""How long the servers of the kubelet's library wait for missing streams."""
RAN = "/ran-here"
PORT = 7020
HALF_CONNECTIONS = 20


@pytest.fixture
def incomplete(runtime: Runtime, running_container: Container, streams: Streams) -> Iterator[Incomplete]:
    """Request a command with output, and open only the error stream."""
    opened: list[RemoteCommand] = []

    def begin() -> RemoteCommand:
        request = cri.ExecRequest(
            container_id=running_container.id, cmd=["touch", RAN], stdout=True, stderr=True
        )
        url = runtime.stub.Exec(request).url
        assert urlsplit(url).scheme
        until = time.monotonic() + streams.patience
        ledger = Ledger(RETAINED_BYTES, lambda channel: channel == StreamChannel.ERROR, None)
        wire = connect(url, until)
        transport = open_spdy(wire, url, (V4,), ledger, method="POST", seconds=streams.patience, until=until)
        transport.start_stream(StreamChannel.ERROR, {"streamtype": "error"})
        opened.append(RemoteCommand(transport))
        return opened[-1]

    yield begin
    for session in opened:
        session.abort()


def ends(session: RemoteCommand, scale: float) -> bool:
    """Return whether a server that waits for missing streams ends a session in time."""
    try:
        # 3 s of margin after the server's time-out
        session.await_end((STREAM_SECONDS + 3) * scale)
    except StreamTimeout:
        return False
    return True


@requirement("STR-11/not-executed")
def test_a_command_without_all_its_streams_is_not_run(
    runtime: Runtime, running_container: Container, incomplete: Incomplete
) -> None:
    """Exec SHOULD NOT run a command whose client does not open all the streams of its request, not even after
    the server's time-out for streams.

    Source: ExecRequest.stdin, stdout and stderr; the header streamType. The output would be lost.
    """
    ends(incomplete(), runtime.scale)

    assert running_container.exec("test", "-e", RAN).exit_code == 1


@requirement("STR-11/close")
def test_form_of_the_end_of_a_session_without_all_its_streams(
    runtime: Runtime, running_container: Container, incomplete: Incomplete, record_variant: RecordVariant
) -> None:
    """Exec MAY close the connection when the streams of the request do not arrive in time, or leave it open
    until it is idle for too long; the container MUST keep running.

    Source: not stated by the CRI; the kubelet's library closes only idle connections.
    """
    ended = ends(incomplete(), runtime.scale)

    record_variant("is closed" if ended else "stays open")
    assert running_container.state() == cri.CONTAINER_RUNNING


@requirement("PFW-18")
@disruptive
def test_incomplete_connections_do_not_affect_others(own_runtime: OwnRuntime) -> None:
    """PortForward SHOULD open other connections of a session, which work, and the daemon SHOULD keep running,
    while the server waits for the second streams of incomplete connections and discards them.

    Source: PortForward; the headers requestID and streamType of the sub-protocol portforward.k8s.io. Not
    stated by the CRI; clients lose streams when a network connection breaks.
    """
    pod = own_runtime.sandbox()
    server = own_runtime.container(pod, command=yielding("nc", "-ll", "-p", str(PORT), "-e", "cat"))
    own_runtime.eventually(
        f"a listener at port {PORT}",
        lambda: server.output("netstat", "-ltn"),
        holds=lambda seen: f":{PORT} " in seen,
    )
    streams = Streams(own_runtime)
    session = streams.forward(cri.PortForwardRequest(pod_sandbox_id=pod.id, port=[PORT]))
    for number in range(HALF_CONNECTIONS):
        # the data stream has another request id than the error stream, so neither connection is complete
        session.connect(
            PORT, data_headers={"streamtype": "data", "port": str(PORT), "requestid": f"half-{number}"}
        )

    # until after the server's time-out, at which it discards all of them at once
    until = time.monotonic() + (STREAM_SECONDS + 2) * own_runtime.scale
    while time.monotonic() < until:
        connection = session.connect(PORT)
        connection.write(b"whole\n")
        assert connection.read_until(b"\n") == b"whole\n"
        connection.close()

    streams.close()
    assert not own_runtime.damage()
