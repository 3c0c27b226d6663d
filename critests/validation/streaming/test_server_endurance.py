"""STR: what the streaming server must stand: a restart of the daemon, and clients that never come."""

import contextlib
from collections.abc import Callable, Iterator

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.client.streaming.errors import CannotConnect, SessionEnded
from critests.client.streaming.sessions import RemoteCommand, open_remote_command
from critests.client.streaming.streams import Protocol, Stream
from critests.fixtures.containers import WAITING, shell
from critests.fixtures.own_runtime import OwnRuntime
from critests.fixtures.streaming import GOODBYE_SECONDS, SESSION_SECONDS
from critests.lifecycle.containers import Container
from critests.run.marks import disruptive, requirement, slow
from critests.run.outcomes import SetUpFailed

Catting = Callable[[Container], RemoteCommand]

MOST_WAITING = 2000
"""URLs that nobody uses; both known servers take a thousand of them."""


@pytest.fixture
def catting(own_runtime: OwnRuntime) -> Iterator[Catting]:
    """Call Exec on the runtime of the test's own, and open a session over SPDY in which `cat` says again what
    it is told.
    """
    sessions: list[RemoteCommand] = []

    def begin(container: Container) -> RemoteCommand:
        url = own_runtime.stub.Exec(
            cri.ExecRequest(container_id=container.id, cmd=["cat"], stdin=True, stdout=True, stderr=True)
        ).url
        seconds = SESSION_SECONDS * own_runtime.scale
        try:
            session = open_remote_command(
                url,
                stdin=True,
                stdout=True,
                stderr=True,
                tty=False,
                protocol=Protocol.SPDY,
                deadline_seconds=seconds,
            )
        except CannotConnect as error:
            raise SetUpFailed("Exec", str(error)) from error
        sessions.append(session)
        return session

    yield begin
    for session in sessions:
        session.close(GOODBYE_SECONDS)


def echo(session: RemoteCommand, line: bytes, seconds: float) -> bytes:
    """Say a line to `cat` and return what comes back."""
    session.write(line, seconds)
    return session.read_until(Stream.STDOUT, b"\n", seconds)


@requirement("STR-20")
@disruptive
def test_session_does_not_fall_silent_when_the_daemon_restarts(
    own_runtime: OwnRuntime, catting: Catting
) -> None:
    """A session that is open while the daemon restarts SHOULD either go on or end for its client as well.

    Source: ExecResponse.url; not stated by the CRI, a client that is told nothing waits for ever.
    """
    assert own_runtime.daemon
    seconds = SESSION_SECONDS * own_runtime.scale
    session = catting(own_runtime.container(own_runtime.sandbox(), command=shell(WAITING)))
    assert echo(session, b"before\n", seconds) == b"before\n"

    own_runtime.restart()

    with contextlib.suppress(SessionEnded):
        assert echo(session, b"after\n", seconds) == b"after\n"


@requirement("STR-20")
@disruptive
def test_sessions_can_be_opened_after_the_daemon_restarted(own_runtime: OwnRuntime, catting: Catting) -> None:
    """After a restart of the daemon, new sessions SHOULD work in the containers of before.

    Source: ExecResponse.url.
    """
    assert own_runtime.daemon
    container = own_runtime.container(own_runtime.sandbox(), command=shell(WAITING))

    own_runtime.restart()

    assert echo(catting(container), b"new\n", SESSION_SECONDS * own_runtime.scale) == b"new\n"


@requirement("STR-03")
@slow
@disruptive
def test_urls_that_nobody_uses_do_not_pile_up(own_runtime: OwnRuntime) -> None:
    """Where very many URLs wait for a client that never comes, Exec SHOULD fail with ResourceExhausted
    instead of giving out more.

    Source: ExecResponse.url, the gRPC status codes; not stated by the CRI, the daemon would have to remember
    them all.
    """
    container = own_runtime.container(own_runtime.sandbox(), command=shell(WAITING))
    request = cri.ExecRequest(container_id=container.id, cmd=["true"], stdout=True, stderr=True)

    def code() -> grpc.StatusCode:
        try:
            own_runtime.stub.Exec(request)
        except grpc.RpcError as error:
            return error.code()
        return grpc.StatusCode.OK

    codes = (code() for _ in range(MOST_WAITING))
    refused = next((code for code in codes if code is not grpc.StatusCode.OK), grpc.StatusCode.OK)

    assert refused is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not own_runtime.damage()
