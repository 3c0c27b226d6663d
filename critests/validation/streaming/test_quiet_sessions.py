"""STR: sessions without traffic."""

import contextlib
import time
from collections.abc import Sequence

from critests.api import api_pb2 as cri
from critests.client.streaming.open_session import OpenSession
from critests.testing import Containers, RemoteCommand, Runtime, Streams, StreamTimeout, requirement, slow
from critests.validation.streaming.serving import Serve

QUIET_SECONDS = 130.0
"""Longer than the limits of a minute, 90 and 120 seconds that servers and libraries have. Not scaled: the
time-outs of a server do not depend on the speed of its machine.
"""
LOOK_SECONDS = 0.05
"""How long to read each session in turn."""
PORT = 7030


def first_to_end(sessions: Sequence[OpenSession], seconds: float) -> OpenSession | None:
    """Write nothing, and return the first session that ends; None if none ends in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for session in sessions:
            with contextlib.suppress(StreamTimeout):
                session.await_end(LOOK_SECONDS)
                return session
    return None


def echoes(session: RemoteCommand, line: bytes) -> bool:
    """Return whether an echoing process still sends a line back."""
    session.write(line)
    return session.stdout_until(b"\n") == line


@requirement("STR-16")
@slow
def test_idle_sessions_stay_open(
    runtime: Runtime, streams: Streams, containers: Containers, serve: Serve
) -> None:
    """Sessions of Exec, Attach and PortForward SHOULD stay open and work after minutes without traffic.

    Source: ExecResponse.url, AttachResponse.url, PortForwardResponse.url. Not stated by the CRI; users pause
    between two commands, and the time-outs of known servers are hours.
    """
    reading = containers.running(command=["cat"], stdin=True)
    execution = cri.ExecRequest(container_id=reading.id, cmd=["cat"], stdin=True, stdout=True)
    attachment = cri.AttachRequest(container_id=reading.id, stdin=True, stdout=True)
    forwarding = cri.PortForwardRequest(pod_sandbox_id=serve(PORT).sandbox.id, port=[PORT])
    executed = streams.open(runtime.stub.Exec, execution)
    attached = streams.open(runtime.stub.Attach, attachment)
    forwarded = streams.forward(forwarding)
    connection = forwarded.connect(PORT)
    assert echoes(executed, b"exec\n")
    assert echoes(attached, b"attach\n")
    connection.write(b"forwarded\n")
    connection.read_until(b"forwarded\n")

    assert first_to_end([executed, attached, forwarded], QUIET_SECONDS) is None

    assert echoes(executed, b"exec again\n")
    assert echoes(attached, b"attach again\n")
    connection.write(b"forwarded again\n")
    assert connection.read_until(b"again\n") == b"forwarded again\n"
