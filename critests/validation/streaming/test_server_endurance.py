"""STR: what the streaming server must stand: a restart of the daemon, and clients that never come."""

import contextlib
from collections.abc import Callable, Iterator

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.client.streaming.errors import SessionEnded
from critests.client.streaming.sessions import RemoteCommand
from critests.client.streaming.streams import Protocol
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.runtime import refused_with
from critests.fixtures.streaming import Streams
from critests.lifecycle.containers import Container
from critests.run.marks import disruptive, requirement, slow

Catting = Callable[[Container], RemoteCommand]


@pytest.fixture
def catting(own_runtime: OwnRuntime) -> Iterator[Catting]:
    """Open a session over SPDY on the runtime of the test's own, in which `cat` sends back every line."""
    streams = Streams(own_runtime)

    def begin(container: Container) -> RemoteCommand:
        request = cri.ExecRequest(
            container_id=container.id, cmd=["cat"], stdin=True, stdout=True, stderr=True
        )
        return streams.open(own_runtime.stub.Exec, request, protocol=Protocol.SPDY)

    yield begin
    streams.close()


def echo(session: RemoteCommand, line: bytes) -> bytes:
    """Send a line to `cat` and return what comes back."""
    session.write(line)
    return session.stdout_until(b"\n")


@requirement("STR-20")
@disruptive
def test_session_does_not_fall_silent_when_the_daemon_restarts(
    own_runtime: OwnRuntime, catting: Catting
) -> None:
    """A session that is open while the daemon restarts SHOULD either go on or end for its client as well.

    Source: ExecResponse.url; not stated by the CRI, a client that hears nothing waits for ever.
    """
    assert own_runtime.daemon  # blocks the test where the suite may not restart the daemon
    session = catting(own_runtime.container())
    assert echo(session, b"before\n") == b"before\n"

    own_runtime.restart()

    with contextlib.suppress(SessionEnded):
        assert echo(session, b"after\n") == b"after\n"


@requirement("STR-20")
@disruptive
def test_sessions_can_be_opened_after_the_daemon_restarted(own_runtime: OwnRuntime, catting: Catting) -> None:
    """After a restart of the daemon, new sessions SHOULD work in the containers of before.

    Source: ExecResponse.url.
    """
    assert own_runtime.daemon  # blocks the test where the suite may not restart the daemon
    container = own_runtime.container()

    own_runtime.restart()

    assert echo(catting(container), b"new\n") == b"new\n"


@requirement("STR-03")
@slow
@disruptive
def test_urls_that_nobody_uses_do_not_pile_up(own_runtime: OwnRuntime) -> None:
    """Where very many URLs wait for a client that never comes, Exec SHOULD fail with ResourceExhausted
    instead of giving out more.

    Source: ExecResponse.url, the gRPC status codes; not stated by the CRI, the daemon would have to remember
    them all.
    """
    container = own_runtime.container()
    request = cri.ExecRequest(container_id=container.id, cmd=["true"], stdout=True, stderr=True)

    def code() -> grpc.StatusCode:
        try:
            own_runtime.stub.Exec(request)
        except grpc.RpcError as error:
            return refused_with(error)
        return grpc.StatusCode.OK

    # both known servers take a thousand
    codes = (code() for _ in range(2000))
    refused = next((code for code in codes if code is not grpc.StatusCode.OK), grpc.StatusCode.OK)

    assert refused is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not own_runtime.damage()
