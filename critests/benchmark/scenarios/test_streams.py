"""Streams: exec, attach and port-forward as kubectl uses them, over either protocol."""

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
    Direct,
    Pipe,
    command_session,
    echo,
    forward_session,
    forwarded_line,
    held,
    output_over_a_pipe,
    patience,
    protocols,
    timed,
    written,
)
from critests.benchmark.scenarios.workloads import HOST, address_of
from critests.client.streaming.streams import Protocol, StreamChannel
from critests.lifecycle.waiting import eventually

MEGABYTE = 1_000_000
MEGABYTES = {"smoke": 4, "standard": 16, "full": 64}
"""Of a transfer."""
SESSIONS = {"smoke": (), "standard": (1, 8), "full": (1, 4, 16, 64)}
"""That are held open at once."""
PORT = 7000
FIRST_BYTE, TO_END, ECHO = "exec to first byte", "exec to its status", "echo"
OUTPUT, INPUT = "output", "input"
ATTACH, FORWARD = "attach to first line", "port-forward to first line"
CONNECTION, BACK = "connection to first line", "there and back"


@scenario("B-15")
def test_streaming_exec(bench: Bench) -> None:
    """Exec: from the call to the first byte and to the status, a line there and back, megabytes both ways,
    and lines of many sessions that are open at once.
    """
    spoken, size = protocols(bench), MEGABYTES[bench.profile] * MEGABYTE
    levels = SESSIONS[bench.profile]
    part = bench.seconds / (4 * len(spoken) + len(levels))
    for protocol in spoken:
        over = {"protocol": protocol.value}
        bench.sample(starting(protocol), headline=FIRST_BYTE, dimensions=over, seconds=part)
        bench.sample(echoing(protocol, beside=True), headline=ECHO, dimensions=over, seconds=part)
        over["megabytes"] = str(size // MEGABYTE)
        bench.sample(printing(protocol, size), headline=OUTPUT, dimensions=over, seconds=part)
        bench.sample(reading(protocol, size), headline=INPUT, dimensions=over, seconds=part)
    for sessions in levels:
        bench.concurrently(
            echoing(spoken[0]),
            workers=sessions,
            operation="echoes",
            headline=ECHO,
            seconds=part,
            dimensions={"protocol": spoken[0].value, "sessions": "at once"},
        )


@scenario("B-16")
def test_attach_and_port_forward(bench: Bench) -> None:
    """Attach and PortForward: from the call to a line that came back, further lines and connections of a
    session, and megabytes.
    """
    spoken, size = protocols(bench), MEGABYTES[bench.profile] * MEGABYTE
    part = bench.seconds / (3 * len(spoken) + 2)
    for protocol in spoken:
        over = {"protocol": protocol.value}
        bench.sample(attaching(protocol), headline=ATTACH, dimensions=over, seconds=part)
        bench.sample(forwarding(protocol), headline=FORWARD, dimensions=over, seconds=part)
        over["megabytes"] = str(size // MEGABYTE)
        bench.sample(sending(protocol, size), headline=BACK, dimensions=over, seconds=part)
    if Protocol.SPDY in spoken:  # over WebSocket a session has one connection for each port
        over = {"protocol": Protocol.SPDY.value}
        bench.sample(connecting, headline=CONNECTION, dimensions=over, seconds=2 * part)


def starting(protocol: Protocol) -> Workload:
    """Return the workload that runs a command in a session of its own each time."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with target.sandbox(namespaces=HOST) as sandbox:
            request = cri.ExecRequest(
                container_id=target.running(sandbox).id, cmd=["echo", LINE.decode().strip()], stdout=True
            )

            def cycle(meter: Meter) -> None:
                with timed(meter, FIRST_BYTE), contextlib.ExitStack() as opened, Stopwatch() as whole:
                    with Stopwatch() as first:
                        url = meter.call("Exec", target.runtime.Exec, request).url
                        session = command_session(target, url, request, protocol)
                        opened.enter_context(held(session))
                        session.stdout_until(bool)
                    ended = session.finish()
                if ended.stdout != LINE or ended.status is None or ended.status.exit_code:
                    raise NotDone(
                        f"{LINE!r} was to be printed, and {ended.stdout[:80]!r} was, with the status"
                        f" {ended.status}"
                    )
                meter.keep_window(FIRST_BYTE, first)
                meter.keep_window(TO_END, whole)

            yield cycle

    return prepared


def echoing(protocol: Protocol, *, beside: bool = False) -> Workload:
    """Return the workload that sends a line after the other to a process that sends it back.

    Args:
        protocol: of the session, which stays open.
        beside: whether the same is done over a pipe, too.
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
                if beside:
                    pipe.echo(meter, f"{ECHO} {PIPE}")

            with held(session):
                yield cycle

    return prepared


def printing(protocol: Protocol, size: int) -> Workload:
    """Return the workload that takes so many bytes of a command's output."""
    command = ("dd", "if=/dev/zero", f"bs={MEGABYTE}", f"count={size // MEGABYTE}")

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with target.sandbox(namespaces=HOST) as sandbox:
            request = cri.ExecRequest(container_id=target.running(sandbox).id, cmd=command, stdout=True)

            def cycle(meter: Meter) -> None:
                url = target.connection.runtime.Exec(request).url
                with timed(meter, OUTPUT):
                    session = command_session(target, url, request, protocol, keep_bytes=1)
                    with held(session):
                        session.stdout_until(bool)
                        before = session.received().totals[StreamChannel.STDOUT]
                        with Stopwatch() as watch:
                            ended = session.finish()
                came = ended.totals[StreamChannel.STDOUT]
                if came != size:
                    raise NotDone(f"{size} bytes were printed, and {came} came")
                meter.keep_window(OUTPUT, watch, size=came - before)
                output_over_a_pipe(meter, f"{OUTPUT} {PIPE}", command, size)

            yield cycle

    return prepared


def reading(protocol: Protocol, size: int) -> Workload:
    """Return the workload that gives a command so many bytes to read."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with target.sandbox(namespaces=HOST) as sandbox:
            script = f"echo ready; head -c {size} | wc -c"
            request = cri.ExecRequest(
                container_id=target.running(sandbox).id, cmd=["sh", "-c", script], stdin=True, stdout=True
            )

            def cycle(meter: Meter) -> None:
                url = target.connection.runtime.Exec(request).url
                with timed(meter, INPUT):
                    session = command_session(target, url, request, protocol)
                    with held(session):
                        session.stdout_until(b"ready\n")
                        with Stopwatch() as watch:
                            written(partial(session.write, deadline_seconds=patience(target)), size)
                            counted = session.stdout_until(b"\n")
                if int(counted) != size:
                    raise NotDone(f"{size} bytes were sent, and {counted.decode().strip()} were read")
                meter.keep_window(INPUT, watch, size=size)

            yield cycle

    return prepared


def attaching(protocol: Protocol) -> Workload:
    """Return the workload that attaches to a process that sends back what it gets, and sends two lines."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with target.sandbox(namespaces=HOST) as sandbox:
            container = target.running(sandbox, command=("cat",), stdin=True)
            request = cri.AttachRequest(container_id=container.id, stdin=True, stdout=True)

            def cycle(meter: Meter) -> None:
                with timed(meter, ATTACH), contextlib.ExitStack() as opened:
                    with Stopwatch() as watch:
                        url = meter.call("Attach", target.runtime.Attach, request).url
                        session = command_session(target, url, request, protocol)
                        opened.enter_context(held(session))
                        echo(meter.under(line="first"), ECHO, session)
                    echo(meter.under(line="second"), ECHO, session)
                meter.keep_window(ATTACH, watch)

            yield cycle

    return prepared


@contextlib.contextmanager
def served(target: Target) -> Iterator[tuple[cri.PortForwardRequest, Direct]]:
    """Hold a pod with a server that sends back what it gets, and yield how to reach it."""
    with target.sandbox() as sandbox:
        # the first process of a container would ignore SIGTERM
        target.running(sandbox, command=("/bin/sh", "-c", f"nc -ll -p {PORT} -e cat & wait"))
        address = address_of(target, sandbox.id)
        direct = Direct((address, PORT))
        eventually(
            f"a server at port {PORT} of {address}",
            direct.listening,
            seconds=SESSION_SECONDS * target.connection.deadlines.scale,
        )
        yield cri.PortForwardRequest(pod_sandbox_id=sandbox.id, port=[PORT]), direct


def forwarding(protocol: Protocol) -> Workload:
    """Return the workload that forwards a port in a session of its own each time."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with served(target) as (request, _):

            def cycle(meter: Meter) -> None:
                with timed(meter, FORWARD), contextlib.ExitStack() as opened, Stopwatch() as watch:
                    url = meter.call("PortForward", target.runtime.PortForward, request).url
                    session = forward_session(target, url, request.port, protocol)
                    opened.enter_context(held(session))
                    forwarded_line(session.connect(PORT))
                meter.keep_window(FORWARD, watch)

            yield cycle

    return prepared


def sending(protocol: Protocol, size: int) -> Workload:
    """Return the workload that sends so many bytes to a port and takes them back."""

    @contextlib.contextmanager
    def prepared(target: Target) -> Iterator[Cycle]:
        with served(target) as (request, _):

            def cycle(meter: Meter) -> None:
                url = target.connection.runtime.PortForward(request).url
                with timed(meter, BACK):
                    session = forward_session(target, url, request.port, protocol)
                    with held(session):
                        connection = session.connect(PORT)
                        with Stopwatch() as watch:
                            written(partial(connection.write, deadline_seconds=patience(target)), size)
                            connection.await_total(size, patience(target))
                meter.keep_window(BACK, watch, size=size)

            yield cycle

    return prepared


@contextlib.contextmanager
def connecting(target: Target) -> Iterator[Cycle]:
    """Forward a port; each cycle makes one connection more in the same session, and ends it."""
    with served(target) as (request, direct):
        url = target.connection.runtime.PortForward(request).url
        session = forward_session(target, url, request.port, Protocol.SPDY)

        def cycle(meter: Meter) -> None:
            with timed(meter, CONNECTION):
                with Stopwatch() as watch:
                    connection = session.connect(PORT)
                    forwarded_line(connection)
                connection.close()
            meter.keep_window(CONNECTION, watch)
            direct.connection(meter, f"{CONNECTION} {SOCKET}")

        with held(session):
            yield cycle
