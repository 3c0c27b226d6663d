"""Measured streaming sessions: opened as by kubectl and timed from the call to the data; and a plain pipe or
socket as the baseline, which transfers the same bytes without a runtime.
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
from critests.record.units import BYTES_PER_SECOND, NEITHER

SESSION_SECONDS: Final = 30.0
"""For opening a session, and for the data that it must transfer, before scaling."""
BROKEN: Final = "STREAM_BROKEN"
"""Takes the place of the gRPC status code for the sample of a session that broke."""
LINE: Final = b"0123456789abcdef\n"
"""The line that is sent and must come back."""
CHUNK: Final = bytes(256 * 1024)
"""The chunk of large writes."""
PIPE: Final = "over a pipe"
SOCKET: Final = "past the runtime"
"""Suffixes of the operations that transfer the same data without the runtime."""


def protocols(bench: Bench) -> list[Protocol]:
    """Return the protocols that all sides support, in kubectl's order of preference.

    Raises:
        NotDone: there is none.
    """
    supported = {target.name: _supported(target) for target in bench.targets}
    common = [protocol for protocol in Protocol if all(protocol in each for each in supported.values())]
    for protocol in Protocol:
        lacking = [name for name, each in supported.items() if protocol not in each]
        if lacking:
            bench.remark(f"{protocol.value} was not measured: not supported by {' and '.join(lacking)}")
    if not common:
        raise NotDone(f"no streaming protocol is supported by {' and '.join(supported)}")
    return common


def _supported(target: Target) -> list[Protocol]:
    """Return the protocols with which a command that does nothing can be run."""
    supported = []
    with target.sandbox(namespaces=HOST) as sandbox:
        request = cri.ExecRequest(container_id=target.running(sandbox).id, cmd=["true"], stdout=True)
        for protocol in Protocol:
            url = target.connection.runtime.Exec(request).url
            with contextlib.suppress(UpgradeRefused), command_session(target, url, request, protocol):
                supported.append(protocol)
    return supported


@contextlib.contextmanager
def recording_failure(meter: Meter, operation: str) -> Iterator[None]:
    """Store a failed sample if a session breaks inside the `with`.

    Raises:
        CallFailed: the session broke; the cycle ends, and sampling continues.
    """
    begin = time.perf_counter()
    try:
        yield
    except StreamError as error:
        meter.add(operation, time.perf_counter() - begin, begin, code=BROKEN)
        raise CallFailed(operation, BROKEN, str(error)[:500]) from error


def session_deadline(target: Target) -> float:
    """Return the deadline of a session, in seconds."""
    return SESSION_SECONDS * target.connection.deadlines.scale


def command_session(
    target: Target,
    url: str,
    request: cri.ExecRequest | cri.AttachRequest,
    protocol: Protocol,
    **options: Any,  # noqa: ANN401 - those of open_remote_command
) -> RemoteCommand:
    """Open the session at the URL of a response to Exec or Attach; the caller must close it."""
    return open_remote_command(
        url,
        stdin=request.stdin,
        stdout=request.stdout,
        stderr=request.stderr,
        tty=request.tty,
        protocol=protocol,
        deadline_seconds=session_deadline(target),
        **options,
    )


def forward_session(target: Target, url: str, ports: Sequence[int], protocol: Protocol) -> PortForward:
    """Open the session at the URL of a response to PortForward; it counts all received bytes and buffers
    few.
    """
    return open_port_forward(
        url, ports, protocol=protocol, deadline_seconds=session_deadline(target), keep_bytes=len(CHUNK)
    )


@contextlib.contextmanager
def aborted_at_end(session: OpenSession) -> Iterator[None]:
    """Abort a session at the end of a `with`, without the time of a closing handshake."""
    try:
        yield
    finally:
        session.abort()


def echo(meter: Meter, operation: str, session: RemoteCommand) -> None:
    """Send a line to a process that echoes its input, and time the round trip."""
    with recording_failure(meter, operation), Stopwatch() as watch:
        session.write(LINE)
        received = session.stdout_until(b"\n")
    check_echo(received)
    meter.add_window(operation, watch)


def check_echo(received: bytes) -> None:
    """Check that the echo equals the sent line.

    Raises:
        NotDone: it differs.
    """
    if received != LINE:
        raise NotDone(f"{LINE!r} was sent, and {received[:80]!r} came back")


class Pipe:
    """A context with a local process that echoes its input through pipes: the baseline without a runtime."""

    def __enter__(self) -> Self:
        """Start the process."""
        self._process = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.communicate()

    def echo(self, meter: Meter, operation: str) -> None:
        """Time the round trip of a line."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        begin = time.perf_counter()
        os.write(self._process.stdin.fileno(), LINE)
        os.read(self._process.stdout.fileno(), len(LINE))
        meter.add(operation, time.perf_counter() - begin, begin, better=NEITHER)


def output_over_a_pipe(meter: Meter, operation: str, command: Sequence[str], size: int) -> None:
    """Measure the throughput of a local program's output through a pipe."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0) as process:
        assert process.stdout is not None
        left, begin = size - len(process.stdout.read(1)), time.perf_counter()
        while left and (chunk := process.stdout.read(len(CHUNK))):
            left -= len(chunk)
        seconds = time.perf_counter() - begin
    meter.add(operation, (size - 1) / seconds, begin, unit=BYTES_PER_SECOND, better=NEITHER)


class DirectConnections:
    """Connections to a server in a pod by its IP address, without the runtime.

    Attributes:
        address: IP address of the pod, and the port.
    """

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address

    def listening(self) -> bool:
        """Whether the server accepts connections."""
        with contextlib.suppress(OSError), socket.create_connection(self.address, 1.0):
            return True
        return False

    def connection(self, meter: Meter, operation: str) -> None:
        """Time a connection from its start to the echo of a line."""
        begin = time.perf_counter()
        with socket.create_connection(self.address, SESSION_SECONDS) as connected:
            connected.sendall(LINE)
            connected.recv(len(LINE))
            meter.add(operation, time.perf_counter() - begin, begin, better=NEITHER)


def echo_through_port(connection: PortConnection) -> None:
    """Send a line to a port with an echo server, and wait for the echo."""
    connection.write(LINE)
    check_echo(connection.read_until(b"\n"))


def write_chunks(write: Callable[[bytes], None], size: int) -> None:
    """Write a number of bytes in chunks."""
    for begin in range(0, size, len(CHUNK)):
        write(CHUNK[: size - begin])
