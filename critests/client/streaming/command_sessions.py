"""Exec and attach sessions, over either protocol.

A session that is read to its end has the exit code:

    with open_remote_command(
        url, stdin=False, stdout=True, stderr=True, tty=False, deadline_seconds=10
    ) as session:
        finished = session.finish(10)
    finished.status.exit_code, finished.stdout
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from critests.client.streaming.ledger import RETAINED_BYTES, Ledger, Sink
from critests.client.streaming.open_session import CONTROL_SECONDS, V4, OpenSession
from critests.client.streaming.spdy_transport import open_spdy
from critests.client.streaming.status import Status, parse_status
from critests.client.streaming.streams import EndedBy, Protocol, StreamChannel, StreamData, channel_name
from critests.client.streaming.transport import Transport
from critests.client.streaming.websocket_transport import open_websocket
from critests.client.streaming.wire import connect


@dataclass(frozen=True)
class SessionResult:
    """Everything that a session returned."""

    stdout: bytes
    stderr: bytes
    status: Status | None
    """The status on the error stream; None if it was empty."""
    frames: tuple[StreamData, ...]
    """In the order in which they were read, including empty ones."""
    totals: Mapping[int, int]
    """Bytes received per channel, including those that were not retained."""
    ended_by: EndedBy
    close_code: int | None
    """The code of a WebSocket close frame."""
    close_reason: str
    """The reason in the close frame, or the error that ended the session."""
    opened: float
    """When the session was opened, on the monotonic clock."""
    ended: float
    """When its end was read, on the monotonic clock."""

    @property
    def failure(self) -> str:
        """Why the command failed, as text; empty after the status Success."""
        if self.status is None:
            return "the session ended without a status"
        return "" if self.status.success else self.status.message or "a failure without a message"


class RemoteCommand(OpenSession):
    """An open exec or attach session; see `open_remote_command`."""

    def write(self, data: bytes, deadline_seconds: float = 30.0) -> None:
        """Write to the command's standard input, and read meanwhile.

        Raises:
            StreamTimeout: the server did not accept all of it in time.
            SessionEnded: the session ended first.
        """
        self._transport.send(StreamChannel.STDIN, data, deadline_seconds)

    def close_stdin(self) -> None:
        """End the command's standard input, and keep reading output.

        Raises:
            HalfCloseUnsupported: over WebSocket before v5, which has no message for it.
        """
        self._transport.half_close(StreamChannel.STDIN, CONTROL_SECONDS)

    def resize(self, width: int, height: int) -> None:
        """Set the size of the command's terminal, in characters."""
        self._transport.send(
            StreamChannel.RESIZE, json.dumps({"Width": width, "Height": height}).encode(), CONTROL_SECONDS
        )

    def read_until(
        self,
        stream: StreamChannel,
        expected: bytes | Callable[[bytes], bool],
        deadline_seconds: float | None = None,
    ) -> bytes:
        """Wait for output on a stream.

        Args:
            stream: the stream.
            expected: bytes, or a condition on all bytes of the stream that no earlier call returned.
            deadline_seconds: how long to wait; by default as long as for opening the session.

        Returns:
            The output since the last call, up to and including the expected bytes; for a condition, all of
            it.

        Raises:
            StreamTimeout: it did not arrive in time.
            SessionEnded: the session or the stream ended without it.
            OutputTooLarge: it may be in the output that was not retained.
        """
        return self._transport.take(stream, expected, channel_name(stream), deadline_seconds)

    def stdout_until(self, expected: bytes | Callable[[bytes], bool]) -> bytes:
        """Wait for output on standard output, or on a terminal; see `read_until`."""
        return self.read_until(StreamChannel.STDOUT, expected)

    def finish(self, deadline_seconds: float | None = None) -> SessionResult:
        """Read until the server ends the session.

        Raises:
            StreamTimeout: it did not end in time; `received` still returns the output so far.
        """
        self.await_end(deadline_seconds)
        return self.received()

    def received(self) -> SessionResult:
        """Return what arrived so far; for a session that has not ended, `ended_by` is CLOSED_HERE."""
        ledger = self._ledger
        return SessionResult(
            stdout=ledger.received(StreamChannel.STDOUT),
            stderr=ledger.received(StreamChannel.STDERR),
            status=parse_status(
                ledger.received(StreamChannel.ERROR), structured=self.subprotocol.startswith(("v4.", "v5."))
            ),
            frames=tuple(ledger.frames),
            totals=dict(ledger.totals),
            ended_by=ledger.ended_by or EndedBy.CLOSED_HERE,
            close_code=ledger.close_code,
            close_reason=ledger.close_reason,
            opened=ledger.opened,
            ended=ledger.ended or time.monotonic(),
        )


def open_remote_command(
    url: str,
    *,
    stdin: bool,
    stdout: bool,
    stderr: bool,
    tty: bool,
    protocol: Protocol = Protocol.WEBSOCKET,
    deadline_seconds: float,
    subprotocols: Sequence[str] = (V4,),
    method: str = "POST",
    keep_bytes: int = RETAINED_BYTES,
    sink: Sink | None = None,
) -> RemoteCommand:
    """Open the session at the URL of an Exec or Attach response. A URL is good for one session.

    Args:
        url: the URL of the response.
        stdin: whether the request has standard input; with SPDY the client opens one stream per true flag.
        stdout: whether the request has standard output.
        stderr: whether the request has standard error.
        tty: whether the request has a terminal, which has a stream for its size.
        protocol: to upgrade to.
        deadline_seconds: for connecting, the upgrade, and opening the streams together; later also for
            reading without a deadline of its own.
        subprotocols: to offer, the preferred first; without any the header is not sent.
        method: of the upgrade to SPDY, POST or GET; a WebSocket handshake is always GET.
        keep_bytes: how many bytes of output to retain; the rest is only counted.
        sink: called with channel and payload of each frame as it is read, for output larger than
            `keep_bytes`.

    Raises:
        CannotConnect: nothing listens at the URL.
        UpgradeRefused: the server does not switch protocols.
        StreamTimeout: the session was not open in time.
        StreamRefused: the server rejected one of its SPDY streams.
        ProtocolViolation: the server violated the protocol while opening.
    """
    until = time.monotonic() + deadline_seconds
    ledger = Ledger(keep_bytes, lambda channel: channel == StreamChannel.ERROR, sink)
    wire = connect(url, until)
    try:
        if protocol is Protocol.WEBSOCKET:
            transport: Transport = open_websocket(
                wire, url, subprotocols, ledger, seconds=deadline_seconds, until=until
            )
        else:
            spdy = transport = open_spdy(
                wire, url, subprotocols, ledger, method=method, seconds=deadline_seconds, until=until
            )
            requested = {
                StreamChannel.ERROR: True,
                StreamChannel.STDIN: stdin,
                StreamChannel.STDOUT: stdout,
                StreamChannel.STDERR: stderr,
                StreamChannel.RESIZE: tty,
            }
            names = {
                int(stream): stream.name.lower() for stream, is_requested in requested.items() if is_requested
            }
            for channel, name in names.items():
                spdy.start_stream(channel, {"streamtype": name})
            spdy.awaited = frozenset(names) - {StreamChannel.STDIN, StreamChannel.RESIZE}
            spdy.await_streams(names, deadline_seconds, until)
    except BaseException:
        wire.close()
        raise
    transport.default_seconds = deadline_seconds
    return RemoteCommand(transport)
