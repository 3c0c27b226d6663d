"""Streaming sessions that are measured: opened as kubectl would, timed from the call to what it brings, and a
plain pipe or socket beside them, which is what the same bytes take without a runtime.
"""

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Any, Final, Self

from critests.api import api_pb2 as cri
from critests.benchmark.measuring.bench_fixture import Bench
from critests.benchmark.measuring.meter import CallFailed, Meter, NotDone
from critests.benchmark.measuring.stopwatch import Stopwatch
from critests.benchmark.measuring.target import Target
from critests.benchmark.scenarios.workloads import HOST
from critests.client.streaming.command_sessions import RemoteCommand, open_remote_command
from critests.client.streaming.open_session import OpenSession
from critests.client.streaming.port_forward import PortConnection, PortForward, open_port_forward
from critests.client.streaming.streaming_errors import StreamError, UpgradeRefused
from critests.client.streaming.streams import Protocol
from critests.record.samples import BYTES_PER_SECOND, NEITHER

SESSION_SECONDS: Final = 30.0
"""For opening a session, and for what it must bring, before scaling."""
BROKEN: Final = "STREAM_BROKEN"
"""Stands instead of a gRPC status code with the sample of a session that came to no good end."""
LINE: Final = b"0123456789abcdef\n"
"""What is sent and must come back."""
PIECE: Final = bytes(256 * 1024)
"""What is written at a time where much is."""
PIPE: Final = "over a pipe"
SOCKET: Final = "past the runtime"
"""End the names of what the same takes without a runtime."""


def protocols(bench: Bench) -> list[Protocol]:
    """Return the protocols that all sides speak, the one that kubectl takes first at the front.

    Raises:
        NotDone: there is none.
    """
    spoken = {target.name: _spoken(target) for target in bench.targets}
    common = [protocol for protocol in Protocol if all(protocol in each for each in spoken.values())]
    for protocol in Protocol:
        lacking = [name for name, each in spoken.items() if protocol not in each]
        if lacking:
            bench.remark(f"{protocol.value} was not measured: {' and '.join(lacking)} does not speak it")
    if not common:
        raise NotDone(f"no streaming protocol is spoken by {' and '.join(spoken)}")
    return common


def _spoken(target: Target) -> list[Protocol]:
    """Try both protocols with a command that does nothing."""
    spoken = []
    with target.sandbox(namespaces=HOST) as sandbox:
        request = cri.ExecRequest(container_id=target.running(sandbox).id, cmd=["true"], stdout=True)
        for protocol in Protocol:
            url = target.connection.runtime.Exec(request).url
            with contextlib.suppress(UpgradeRefused), command_session(target, url, request, protocol):
                spoken.append(protocol)
    return spoken


@contextlib.contextmanager
def timed(meter: Meter, operation: str) -> Iterator[None]:
    """Keep a session that breaks within, with what it took until then.

    Raises:
        CallFailed: it broke; the cycle ends, and sampling goes on.
    """
    begin = time.perf_counter()
    try:
        yield
    except StreamError as error:
        meter.keep(operation, time.perf_counter() - begin, begin, code=BROKEN)
        raise CallFailed(operation, BROKEN, str(error)[:500]) from error


def patience(target: Target) -> float:
    """Return the seconds that a session of a side has for whatever it must bring."""
    return SESSION_SECONDS * target.connection.deadlines.scale


def command_session(
    target: Target,
    url: str,
    request: cri.ExecRequest | cri.AttachRequest,
    protocol: Protocol,
    **options: Any,  # noqa: ANN401 - those of open_remote_command
) -> RemoteCommand:
    """Open the session that an answer to Exec or Attach names; whoever opens it closes it."""
    return open_remote_command(
        url,
        stdin=request.stdin,
        stdout=request.stdout,
        stderr=request.stderr,
        tty=request.tty,
        protocol=protocol,
        deadline_seconds=patience(target),
        **options,
    )


def forward_session(target: Target, url: str, ports: Sequence[int], protocol: Protocol) -> PortForward:
    """Open the session that an answer to PortForward names; of what comes little is kept, and all is
    counted.
    """
    return open_port_forward(
        url, ports, protocol=protocol, deadline_seconds=patience(target), keep_bytes=len(PIECE)
    )


@contextlib.contextmanager
def held(session: OpenSession) -> Iterator[None]:
    """Drop a session at the end of a `with`: what its good-bye takes is nobody's time."""
    try:
        yield
    finally:
        session.abort()


def echo(meter: Meter, operation: str, session: RemoteCommand) -> None:
    """Send a line to a process that sends back what it gets, and time it until it is back."""
    with timed(meter, operation), Stopwatch() as watch:
        session.write(LINE)
        came = session.stdout_until(b"\n")
    same(came)
    meter.keep_window(operation, watch)


def same(came: bytes) -> None:
    """See that what came back is what was sent.

    Raises:
        NotDone: it is something else.
    """
    if came != LINE:
        raise NotDone(f"{LINE!r} was sent, and {came[:80]!r} came back")


class Pipe:
    """A process of this machine that sends back what it gets, by pipes, as a context: what a line takes
    without a runtime.
    """

    def __enter__(self) -> Self:
        """Start it."""
        self._process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()

    def echo(self, meter: Meter, operation: str) -> None:
        """Time a line there and back."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        begin = time.perf_counter()
        os.write(self._process.stdin.fileno(), LINE)
        os.read(self._process.stdout.fileno(), len(LINE))
        meter.keep(operation, time.perf_counter() - begin, begin, better=NEITHER)


def output_over_a_pipe(meter: Meter, operation: str, command: Sequence[str], size: int) -> None:
    """Time how fast the output of a program of this machine comes through a pipe."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0) as process:
        assert process.stdout is not None
        left, begin = size - len(process.stdout.read(1)), time.perf_counter()
        while left and (piece := process.stdout.read(len(PIECE))):
            left -= len(piece)
        seconds = time.perf_counter() - begin
    meter.keep(operation, (size - 1) / seconds, begin, unit=BYTES_PER_SECOND, better=NEITHER)


class Direct:
    """Connections to a server in a pod by its own address, past the runtime.

    Attributes:
        address: of the pod, and the port.
    """

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address

    def listening(self) -> bool:
        """Whether the server takes connections."""
        with contextlib.suppress(OSError), socket.create_connection(self.address, 1.0):
            return True
        return False

    def connection(self, meter: Meter, operation: str) -> None:
        """Time a connection from its beginning to a line that came back."""
        begin = time.perf_counter()
        with socket.create_connection(self.address, SESSION_SECONDS) as connected:
            connected.sendall(LINE)
            connected.recv(len(LINE))
            meter.keep(operation, time.perf_counter() - begin, begin, better=NEITHER)


def forwarded_line(connection: PortConnection) -> None:
    """Send a line to a port that sends back what it gets, and wait for it."""
    connection.write(LINE)
    same(connection.read_until(b"\n"))


def written(write: Callable[[bytes], None], size: int) -> None:
    """Write so many bytes, a piece at a time."""
    for begin in range(0, size, len(PIECE)):
        write(PIECE[: size - begin])
