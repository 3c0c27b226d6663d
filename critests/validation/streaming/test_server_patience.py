"""STR: how long the streaming server waits for a client that says nothing, or not all that it must say."""

from collections.abc import Iterator

import pytest

from critests.api import api_pb2 as cri
from critests.client.streaming.errors import StreamTimeout
from critests.client.streaming.sessions import RemoteCommand, open_remote_command
from critests.client.streaming.streams import Protocol
from critests.fixtures.runtime import Runtime
from critests.fixtures.session import Observe
from critests.fixtures.streaming import Streams
from critests.lifecycle.containers import Container
from critests.run.marks import requirement, slow

GIVEN_UP_SECONDS = 35.0
"""The servers wait 30 seconds for the streams of a session."""
QUIET_SECONDS = 75.0
"""More than the minute after which many servers of HTTP close a connection that says nothing."""


@pytest.fixture
def incomplete(runtime: Runtime, running_container: Container, streams: Streams) -> Iterator[RemoteCommand]:
    """A session over SPDY whose client has opened fewer streams than its request asked for; its command would
    make /ran-here.
    """
    request = cri.ExecRequest(
        container_id=running_container.id, cmd=["touch", "/ran-here"], stdout=True, stderr=True
    )
    with open_remote_command(
        runtime.stub.Exec(request).url,
        stdin=False,
        stdout=True,
        stderr=False,
        tty=False,
        protocol=Protocol.SPDY,
        deadline_seconds=streams.patience,
    ) as session:
        yield session


def what_becomes_of(session: RemoteCommand) -> str:
    """Wait until the server has given a session up for which it waits, and say what became of its
    connection.
    """
    try:
        return f"the server ends the session: {session.await_end(GIVEN_UP_SECONDS).value}"
    except StreamTimeout:
        return "the connection stays open"


@requirement("STR-11/not-executed")
@slow
def test_command_whose_streams_are_missing_is_never_run(
    running_container: Container, incomplete: RemoteCommand, observe: Observe
) -> None:
    """Where a client over SPDY opens fewer streams than its request asked for, the command SHOULD never run;
    when the connection is closed is the server's to choose.

    Source: ExecRequest.stdout and stderr; the header streamType. Not stated by the CRI; the output would have
    nowhere to go.
    """
    observe(what_becomes_of(incomplete))

    assert running_container.exec("test", "-e", "/ran-here").exit_code == 1


@requirement("STR-16")
@slow
def test_a_session_that_is_quiet_for_more_than_a_minute_goes_on(
    runtime: Runtime, running_container: Container, streams: Streams
) -> None:
    """A session in which nobody says anything for more than a minute SHOULD go on.

    Source: ExecResponse.url; not stated by the CRI, people leave a shell open while they think.
    """
    request = cri.ExecRequest(
        container_id=running_container.id, cmd=["cat"], stdin=True, stdout=True, stderr=True
    )
    session = streams.open(runtime.stub.Exec, request)

    with pytest.raises(StreamTimeout):
        session.await_end(QUIET_SECONDS)

    session.write(b"still there\n")
    assert session.stdout_until(b"\n") == b"still there\n"
