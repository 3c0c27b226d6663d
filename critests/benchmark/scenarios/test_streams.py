"""Streaming: exec, attach and port-forward as kubectl uses them, over both protocols."""

import contextlib
from collections.abc import Iterator
from functools import partial

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.bench_fixture import Bench, scenario
from critests.benchmark.measuring.meter import Meter, NotDone
from critests.benchmark.measuring.sampling import Cycle, Workload
from critests.benchmark.measuring.stopwatch import Stopwatch
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.stream_sessions import (
    LINE,
    PIPE,
    SESSION_SECONDS,
    SOCKET,
    DirectConnections,
    Pipe,
    aborted_at_end,
    command_session,
    echo,
    echo_through_port,
    forward_session,
    output_over_a_pipe,
    protocols,
    recording_failure,
    session_deadline,
    write_chunks,
)
from critests.benchmark.scenarios.workloads import HOST, address_of
from critests.client.streaming.streams import Protocol, StreamChannel
from critests.lifecycle.waiting import eventually

MEGABYTE = 1_000_000
MEGABYTES = {"smoke": 4, "standard": 16, "full": 64}
"""Size of a transfer."""
SESSIONS = {"smoke": (), "standard": (1, 8), "full": (1, 4, 16, 64)}
"""Numbers of sessions that are open simultaneously."""
PORT = 7000
FIRST_BYTE, TO_END, ECHO = "exec to first byte", "exec to its status", "echo"
OUTPUT, INPUT = "output", "input"
ATTACH, FORWARD = "attach to first line", "port-forward to first line"
CONNECTION, BACK = "connection to first line", "there and back"


@scenario("B-15")
def test_streaming_exec(bench: Bench) -> None:
    """Exec: time from the call to the first byte and to the exit status, round trip of a line, throughput
    both ways, and round trips in many simultaneous sessions.
    """
    supported, size = protocols(bench), MEGABYTES[bench.profile] * MEGABYTE
    levels = SESSIONS[bench.profile]
    part = bench.seconds / (4 * len(supported) + len(levels))
    for protocol in supported:
        over = {"protocol": protocol.value}
        bench.sample(starting(protocol), headline=FIRST_BYTE, dimensions=over, seconds=part)
        bench.sample(echoing(protocol, with_pipe=True), headline=ECHO, dimensions=over, seconds=part)
        over["megabytes"] = str(size // MEGABYTE)
        bench.sample(printing(protocol, size), headline=OUTPUT, dimensions=over, seconds=part)
        bench.sample(reading(protocol, size), headline=INPUT, dimensions=over, seconds=part)
    for sessions in levels:
        bench.concurrently(
            echoing(supported[0]),
            workers=sessions,
            operation="echoes",
            headline=ECHO,
            seconds=part,
            dimensions={"protocol": supported[0].value, "sessions": "at once"},
        )


@scenario("B-16")
def test_attach_and_port_forward(bench: Bench) -> None:
    """Attach and PortForward: time from the call to the first echoed line, further lines and connections of a
    session, and throughput.
    """
    supported, size = protocols(bench), MEGABYTES[bench.profile] * MEGABYTE
    part = bench.seconds / (3 * len(supported) + 2)
    for protocol in supported:
        over = {"protocol": protocol.value}
        bench.sample(attaching(protocol), headline=ATTACH, dimensions=over, seconds=part)
        bench.sample(forwarding(protocol), headline=FORWARD, dimensions=over, seconds=part)
        over["megabytes"] = str(size // MEGABYTE)
        bench.sample(sending(protocol, size), headline=BACK, dimensions=over, seconds=part)
    if Protocol.SPDY in supported:  # over WebSocket a session has one connection for each port
        over = {"protocol": Protocol.SPDY.value}
        bench.sample(connecting, headline=CONNECTION, dimensions=over, seconds=2 * part)


def starting(protocol: Protocol) -> Workload:
    """Return the workload that runs each command in a new session."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with target.sandbox(namespaces=HOST) as sandbox:
            request = cri.ExecRequest(
                container_id=target.running(sandbox).id, cmd=["echo", LINE.decode().strip()], stdout=True
            )

            def cycle(meter: Meter) -> None:
                with (
                    recording_failure(meter, FIRST_BYTE),
                    contextlib.ExitStack() as stack,
                    Stopwatch() as whole,
                ):
                    with Stopwatch() as first:
                        url = meter.call("Exec", target.runtime.Exec, request).url
                        session = command_session(target, url, request, protocol)
                        stack.enter_context(aborted_at_end(session))
                        session.stdout_until(bool)
                    ended = session.finish()
                if ended.stdout != LINE or ended.status is None or ended.status.exit_code:
                    raise NotDone(
                        f"the command printed {ended.stdout[:80]!r} instead of {LINE!r} and ended with the"
                        f" status {ended.status}"
                    )
                meter.add_window(FIRST_BYTE, first)
                meter.add_window(TO_END, whole)

            yield cycle

    return prepared


def echoing(protocol: Protocol, *, with_pipe: bool = False) -> Workload:
    """Return the workload that sends one line after another to a process that echoes it.

    Args:
        protocol: of the session, which stays open.
        with_pipe: whether to measure a pipe as the baseline.
    """

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with target.sandbox(namespaces=HOST) as sandbox, Pipe() as pipe:
            request = cri.ExecRequest(
                container_id=target.running(sandbox).id, cmd=["cat"], stdin=True, stdout=True
            )
            url = target.connection.runtime.Exec(request).url
            session = command_session(target, url, request, protocol)

            def cycle(meter: Meter) -> None:
                echo(meter, ECHO, session)
                if with_pipe:
                    pipe.echo(meter, f"{ECHO} {PIPE}")

            with aborted_at_end(session):
                yield cycle

    return prepared


def printing(protocol: Protocol, size: int) -> Workload:
    """Return the workload that reads a number of bytes of a command's output."""
    command = ("dd", "if=/dev/zero", f"bs={MEGABYTE}", f"count={size // MEGABYTE}")

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with target.sandbox(namespaces=HOST) as sandbox:
            request = cri.ExecRequest(container_id=target.running(sandbox).id, cmd=command, stdout=True)

            def cycle(meter: Meter) -> None:
                url = target.connection.runtime.Exec(request).url
                with recording_failure(meter, OUTPUT):
                    session = command_session(target, url, request, protocol, keep_bytes=1)
                    with aborted_at_end(session):
                        session.stdout_until(bool)
                        before = session.received().totals[StreamChannel.STDOUT]
                        with Stopwatch() as watch:
                            ended = session.finish()
                received = ended.totals[StreamChannel.STDOUT]
                if received != size:
                    raise NotDone(f"{size} bytes were printed, and {received} were received")
                meter.add_window(OUTPUT, watch, size=received - before)
                output_over_a_pipe(meter, f"{OUTPUT} {PIPE}", command, size)

            yield cycle

    return prepared


def reading(protocol: Protocol, size: int) -> Workload:
    """Return the workload that sends a number of bytes to a command's standard input."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with target.sandbox(namespaces=HOST) as sandbox:
            script = f"echo ready; head -c {size} | wc -c"
            request = cri.ExecRequest(
                container_id=target.running(sandbox).id, cmd=["sh", "-c", script], stdin=True, stdout=True
            )

            def cycle(meter: Meter) -> None:
                url = target.connection.runtime.Exec(request).url
                with recording_failure(meter, INPUT):
                    session = command_session(target, url, request, protocol)
                    with aborted_at_end(session):
                        session.stdout_until(b"ready\n")
                        with Stopwatch() as watch:
                            write_chunks(
                                partial(session.write, deadline_seconds=session_deadline(target)), size
                            )
                            counted = session.stdout_until(b"\n")
                if int(counted) != size:
                    raise NotDone(f"{size} bytes were sent, and {counted.decode().strip()} were read")
                meter.add_window(INPUT, watch, size=size)

            yield cycle

    return prepared


def attaching(protocol: Protocol) -> Workload:
    """Return the workload that attaches to a process that echoes its input, and sends two lines."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with target.sandbox(namespaces=HOST) as sandbox:
            container = target.running(sandbox, command=("cat",), stdin=True)
            request = cri.AttachRequest(container_id=container.id, stdin=True, stdout=True)

            def cycle(meter: Meter) -> None:
                with recording_failure(meter, ATTACH), contextlib.ExitStack() as stack:
                    with Stopwatch() as watch:
                        url = meter.call("Attach", target.runtime.Attach, request).url
                        session = command_session(target, url, request, protocol)
                        stack.enter_context(aborted_at_end(session))
                        echo(meter.with_dimensions(line="first"), ECHO, session)
                    echo(meter.with_dimensions(line="second"), ECHO, session)
                meter.add_window(ATTACH, watch)

            yield cycle

    return prepared


@contextlib.contextmanager
def echo_server(target: Target) -> Iterator[tuple[cri.PortForwardRequest, DirectConnections]]:
    """Run a pod with an echo server, and yield the request and the address to reach it."""
    with target.sandbox() as sandbox:
        # in the background of a shell, because nc as PID 1 would ignore SIGTERM
        target.running(sandbox, command=("/bin/sh", "-c", f"nc -ll -p {PORT} -e cat & wait"))
        address = address_of(target, sandbox.id)
        direct = DirectConnections((address, PORT))
        eventually(
            f"a server at port {PORT} of {address}",
            direct.listening,
            seconds=SESSION_SECONDS * target.connection.deadlines.scale,
        )
        yield cri.PortForwardRequest(pod_sandbox_id=sandbox.id, port=[PORT]), direct


def forwarding(protocol: Protocol) -> Workload:
    """Return the workload that forwards a port in a new session each time."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with echo_server(target) as (request, _):

            def cycle(meter: Meter) -> None:
                with recording_failure(meter, FORWARD), contextlib.ExitStack() as stack, Stopwatch() as watch:
                    url = meter.call("PortForward", target.runtime.PortForward, request).url
                    session = forward_session(target, url, request.port, protocol)
                    stack.enter_context(aborted_at_end(session))
                    echo_through_port(session.connect(PORT))
                meter.add_window(FORWARD, watch)

            yield cycle

    return prepared


def sending(protocol: Protocol, size: int) -> Workload:
    """Return the workload that sends a number of bytes to a port and reads them back."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with echo_server(target) as (request, _):

            def cycle(meter: Meter) -> None:
                url = target.connection.runtime.PortForward(request).url
                with recording_failure(meter, BACK):
                    session = forward_session(target, url, request.port, protocol)
                    with aborted_at_end(session):
                        connection = session.connect(PORT)
                        with Stopwatch() as watch:
                            write_chunks(
                                partial(connection.write, deadline_seconds=session_deadline(target)), size
                            )
                            connection.await_total(size, session_deadline(target))
                meter.add_window(BACK, watch, size=size)

            yield cycle

    return prepared


@contextlib.contextmanager
def connecting(target: Target) -> Iterator[Cycle]:
    """Forward a port; each cycle opens and closes one more connection in the same session."""
    with echo_server(target) as (request, direct):
        url = target.connection.runtime.PortForward(request).url
        session = forward_session(target, url, request.port, Protocol.SPDY)

        def cycle(meter: Meter) -> None:
            with recording_failure(meter, CONNECTION):
                with Stopwatch() as watch:
                    connection = session.connect(PORT)
                    echo_through_port(connection)
                connection.close()
            meter.add_window(CONNECTION, watch)
            direct.connection(meter, f"{CONNECTION} {SOCKET}")

        with aborted_at_end(session):
            yield cycle
