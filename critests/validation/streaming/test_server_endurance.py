"""STR: restarts of the daemon, and clients that never connect or that leave."""

import contextlib
from collections.abc import Callable, Iterator

import grpc
import pytest

from critests.api import api_pb2 as cri
from critests.testing import (
    TERMINALS,
    Capability,
    Container,
    OwnRuntime,
    Protocol,
    RemoteCommand,
    Sandbox,
    SessionEnded,
    Streams,
    blocked,
    disruptive,
    open_files,
    refused_with,
    requirement,
    requires,
    slow,
)

pytestmark = disruptive

CatSession = Callable[[Container], RemoteCommand]

NOBODY_LISTENS = 7099
FAILURES = 20  # each could leave a socket open
PIECE = bytes(512)
PIECES = 100
"""Data that nothing reads, in separate frames: more than a server buffers, and at most what a client may send
before the server reads.
"""


@pytest.fixture
def cat_session(own_runtime: OwnRuntime) -> Iterator[CatSession]:
    """Open a SPDY session on the test's own runtime in which `cat` sends each line back."""
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
def test_session_continues_or_ends_when_the_daemon_restarts(
    own_runtime: OwnRuntime, cat_session: CatSession
) -> None:
    """A session of Exec SHOULD continue or end, also for its client, when the daemon restarts.

    Source: ExecResponse.url; not stated by the CRI, otherwise a client would wait for ever.
    """
    assert own_runtime.daemon  # blocks the test where the suite may not restart the daemon
    session = cat_session(own_runtime.container())
    assert echo(session, b"before\n") == b"before\n"

    own_runtime.restart()

    with contextlib.suppress(SessionEnded):
        assert echo(session, b"after\n") == b"after\n"


@requirement("STR-20")
def test_sessions_can_be_opened_after_the_daemon_restarted(
    own_runtime: OwnRuntime, cat_session: CatSession
) -> None:
    """Exec SHOULD work in the existing containers after the daemon has restarted.

    Source: ExecResponse.url.
    """
    assert own_runtime.daemon  # blocks the test where the suite may not restart the daemon
    container = own_runtime.container()

    own_runtime.restart()

    assert echo(cat_session(container), b"new\n") == b"new\n"


@requirement("STR-03")
@slow
def test_number_of_unused_urls_is_limited(own_runtime: OwnRuntime) -> None:
    """Exec SHOULD fail with ResourceExhausted if there are very many URLs that no client has used.

    Source: ExecResponse.url, the gRPC status codes; not stated by the CRI, otherwise the daemon would store
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

    # both known servers accept a thousand
    codes = (code() for _ in range(2000))
    refused = next((code for code in codes if code is not grpc.StatusCode.OK), grpc.StatusCode.OK)

    assert refused is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert not own_runtime.damage()


@pytest.fixture
def open_sockets(own_runtime: OwnRuntime) -> Callable[[], int]:
    """Count the open sockets of the daemon."""
    daemon = own_runtime.context.daemon_pid
    if daemon is None:
        blocked("the daemon's process cannot be seen from here")

    return lambda: sum(file.startswith("socket:") for file in open_files(daemon))


def failing_forward(runtime: OwnRuntime, pod: Sandbox) -> None:
    """Send much data to a port of a pod where nothing listens, and disconnect."""
    streams = Streams(runtime)
    request = cri.PortForwardRequest(pod_sandbox_id=pod.id, port=[NOBODY_LISTENS])
    connection = streams.forward(request).connect(NOBODY_LISTENS)
    with contextlib.suppress(SessionEnded):
        for _ in range(PIECES):
            connection.write(PIECE)
        connection.read_error_until(lambda seen: len(seen) > 0)
    streams.close()


@requirement("STR-23")
@requires(Capability.SAME_HOST, Capability.ROOT)
def test_failing_port_forwards_leave_no_connection_open(
    own_runtime: OwnRuntime, open_sockets: Callable[[], int]
) -> None:
    """PortForward to a port where nothing listens SHOULD leave no open connection in the daemon after clients
    have sent much data and disconnected.

    Source: PortForwardResponse.url. Not stated by the CRI; clients that retry would bring the daemon to its
    limit of open files.
    """
    pod = own_runtime.sandbox()

    # the first call also opens what later ones share
    failing_forward(own_runtime, pod)
    before = open_sockets()
    for _ in range(FAILURES):
        failing_forward(own_runtime, pod)

    own_runtime.eventually(
        f"fewer than {FAILURES} more sockets to be open than the {before} before {FAILURES} failures",
        open_sockets,
        holds=lambda now: now < before + FAILURES,
    )


def finish(session: RemoteCommand) -> None:
    """Read a session until the server ends it, with whatever result."""
    with contextlib.suppress(SessionEnded):
        session.finish()


def leave(session: RemoteCommand) -> None:
    """Disconnect from `cat` while it waits for input."""
    session.write(b"line\n")
    session.stdout_until(b"line")
    session.abort()


WAYS: dict[str, tuple[list[str], Callable[[RemoteCommand], None]]] = {
    "the command exits": (["true"], finish),
    "the command does not start": (["/bin/critests-no-such-program"], finish),
    "the client leaves": (["cat"], leave),
    "the client leaves an attached process": ([], leave),
}
"""Command of Exec, or none for Attach, and how the session ends."""


@requirement("STR-24")
@requires(Capability.SAME_HOST, Capability.ROOT)
@pytest.mark.parametrize("tty", [False, True], ids=["pipes", "terminal"])
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_sessions_leave_no_file_open(
    own_runtime: OwnRuntime, way: tuple[list[str], Callable[[RemoteCommand], None]], *, tty: bool
) -> None:
    """Sessions of Exec and Attach SHOULD leave no pipe, terminal or connection open after they have ended,
    neither in the daemon nor in its child processes.

    Source: ExecResponse.url and AttachResponse.url. Not stated by the CRI; a probe or a user that reconnects
    would bring the processes to their limit of open files.
    """
    command, end = way
    container = own_runtime.container(command=["cat"], stdin=True, tty=tty)
    stub, streams = own_runtime.stub, Streams(own_runtime)
    execution = cri.ExecRequest(
        container_id=container.id, cmd=command, stdin=True, stdout=True, stderr=not tty, tty=tty
    )
    attachment = cri.AttachRequest(
        container_id=container.id, stdin=True, stdout=True, stderr=not tty, tty=tty
    )

    def run_session() -> None:
        end(streams.open(stub.Exec, execution) if command else streams.open(stub.Attach, attachment))

    def opened() -> int:
        count = 0
        for pid in own_runtime.daemon.processes:
            # a process that has exited meanwhile has no open files
            with contextlib.suppress(FileNotFoundError):
                count += sum(file.startswith(("socket:", "pipe:", TERMINALS)) for file in open_files(pid))
        return count

    # the first session also opens what later ones share
    run_session()
    before = opened()
    for _ in range(FAILURES):
        run_session()

    own_runtime.eventually(
        f"fewer than {FAILURES} more files to be open than the {before} before {FAILURES} sessions",
        opened,
        holds=lambda now: now < before + FAILURES,
    )
    streams.close()
