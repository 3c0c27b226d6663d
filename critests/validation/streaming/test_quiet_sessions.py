"""STR: sessions over which nothing passes for a while."""

import pytest

from critests.api import api_pb2 as cri
from critests.client.streaming.errors import StreamTimeout
from critests.client.streaming.sessions import RemoteCommand
from critests.fixtures.containers import Containers
from critests.fixtures.runtime import Runtime
from critests.fixtures.streaming import Streams
from critests.run.marks import requirement, slow
from critests.validation.streaming.serving import Serve

QUIET_SECONDS = 100.0
"""Not scaled: how patient a server is does not depend on how fast its machine is."""
PORT = 7030


def answers(session: RemoteCommand, line: bytes) -> bool:
    """Say whether a process that sends back what it gets still does."""
    session.write(line)
    return session.stdout_until(b"\n") == line


@requirement("STR-16")
@slow
def test_sessions_outlast_minutes_of_quiet(
    runtime: Runtime, streams: Streams, containers: Containers, serve: Serve
) -> None:
    """Sessions of exec, attach and port-forward over which nothing passes for minutes SHOULD stay open and
    serve on.

    Source: ExecResponse.url, AttachResponse.url, PortForwardResponse.url. Not stated by the CRI; a person
    thinks between two commands, and servers are known to wait for hours.
    """
    reading = containers.running(command=["cat"], stdin=True)
    execution = cri.ExecRequest(container_id=reading.id, cmd=["cat"], stdin=True, stdout=True)
    attachment = cri.AttachRequest(container_id=reading.id, stdin=True, stdout=True)
    forwarding = cri.PortForwardRequest(pod_sandbox_id=serve(PORT).sandbox.id, port=[PORT])
    executed = streams.open(runtime.stub.Exec, execution)
    attached = streams.open(runtime.stub.Attach, attachment)
    connection = streams.forward(forwarding).connect(PORT)
    assert answers(executed, b"exec\n")
    assert answers(attached, b"attach\n")
    connection.write(b"forwarded\n")
    connection.read_until(b"forwarded\n")

    with pytest.raises(StreamTimeout):
        executed.await_end(QUIET_SECONDS)

    assert answers(executed, b"exec again\n")
    assert answers(attached, b"attach again\n")
    connection.write(b"forwarded again\n")
    assert connection.read_until(b"again\n") == b"forwarded again\n"
