"""Exec and attach sessions, over either protocol.

A session is read to its end, and has the exit code then:

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

from critests.client.streaming.ledger import KEPT_BYTES, Ledger, Sink
from critests.client.streaming.open_session import CONTROL_SECONDS, V4, OpenSession
from critests.client.streaming.spdy_transport import open_spdy
from critests.client.streaming.status import Status, parse_status
from critests.client.streaming.streams import EndedBy, Protocol, StreamChannel, StreamData, channel_name
from critests.client.streaming.transport import Transport
from critests.client.streaming.websocket_transport import open_websocket
from critests.client.streaming.wire import connect


@dataclass(frozen=True)
class Finished:
    """All that a session gave."""

    stdout: bytes
    stderr: bytes
    status: Status | None
    """What the error stream said, or None if nothing."""
    frames: tuple[StreamData, ...]
    """In the order in which they were read, empty ones too."""
    totals: Mapping[int, int]
    """Bytes received per channel, also those that were not kept."""
    ended_by: EndedBy
    close_code: int | None
    """The code of a WebSocket close frame."""
    close_reason: str
    """What was said beside the end."""
    opened: float
    """When the session was opened, on the monotonic clock."""
    ended: float
    """When its end was noticed, on the monotonic clock."""

    @property
    def failure(self) -> str:
        """Why the command did not succeed, in words; empty after the status Success."""
        if self.status is None:
            return "the session ended without a status"
        return "" if self.status.success else self.status.message or "a failure without a message"


class RemoteCommand(OpenSession):
    """An open exec or attach session; see `open_remote_command`."""

    def write(self, data: bytes, deadline_seconds: float = 30.0) -> None:
        """Write to the command's standard input, taking what comes meanwhile.

        Raises:
            StreamTimeout: the server did not take all of it in time.
            SessionEnded: the session ended first.
        """
        self._transport.send(StreamChannel.STDIN, data, deadline_seconds)

    def close_stdin(self) -> None:
        """Tell the server that no more input will come, and keep reading output.

        Raises:
            HalfCloseUnsupported: over WebSocket before v5, which has no word for it.
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
        wanted: bytes | Callable[[bytes], bool],
        deadline_seconds: float | None = None,
    ) -> bytes:
        """Wait until something came on a stream.

        Args:
            stream: the stream.
            wanted: bytes that must come, or a condition on all bytes of the stream that no earlier call
                returned.
            deadline_seconds: how long to wait; as long as for opening the session by default.

        Returns:
            What came since the last call, up to and including the wanted bytes; for a condition, all of it.

        Raises:
            StreamTimeout: it did not come in time.
            SessionEnded: the session or the stream ended without it.
            OutputTooLarge: it may have come beyond what is kept.
        """
        return self._transport.take(stream, wanted, channel_name(stream), deadline_seconds)

    def stdout_until(self, wanted: bytes | Callable[[bytes], bool]) -> bytes:
        """Wait until something came on standard output, or on a terminal; see `read_until`."""
        return self.read_until(StreamChannel.STDOUT, wanted)

    def finish(self, deadline_seconds: float | None = None) -> Finished:
        """Read until the server ends the session.

        Raises:
            StreamTimeout: it did not end in time; `received` still tells what came.
        """
        self.await_end(deadline_seconds)
        return self.received()

    def received(self) -> Finished:
        """Return what has come so far; of a session that goes on, `ended_by` reads as if it were closed
        now.
        """
        ledger = self._ledger
        return Finished(
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
    keep_bytes: int = KEPT_BYTES,
    sink: Sink | None = None,
) -> RemoteCommand:
    """Open the session that an Exec or Attach call gave a URL for. A URL is good for one session.

    Args:
        url: the URL of the response.
        stdin: whether the request asked for standard input; with SPDY the client opens one stream per true
            flag.
        stdout: the same for standard output.
        stderr: the same for standard error.
        tty: the same for a terminal, which has a stream for its size.
        protocol: what to upgrade to.
        deadline_seconds: for connecting, the upgrade, and opening the streams together; later also for
            what is read without a deadline of its own.
        subprotocols: what to offer, the best first; without any the header is not sent.
        method: of the upgrade to SPDY, POST or GET; a WebSocket handshake is always GET.
        keep_bytes: how many bytes of output to keep; what comes after is counted only.
        sink: called with channel and payload of each frame as it is read, for output larger than what is
            kept.

    Raises:
        CannotConnect: nobody answers at the URL.
        UpgradeRefused: the server does not switch protocols.
        StreamTimeout: the session was not open in time.
        StreamRefused: the server refused one of its SPDY streams.
        ProtocolViolation: the server broke the protocol's rules while opening.
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
            wanted = {
                StreamChannel.ERROR: True,
                StreamChannel.STDIN: stdin,
                StreamChannel.STDOUT: stdout,
                StreamChannel.STDERR: stderr,
                StreamChannel.RESIZE: tty,
            }
            names = {int(stream): stream.name.lower() for stream, is_wanted in wanted.items() if is_wanted}
            for channel, name in names.items():
                spdy.start_stream(channel, {"streamtype": name})
            spdy.awaited = frozenset(names) - {StreamChannel.STDIN, StreamChannel.RESIZE}
            spdy.await_streams(names, deadline_seconds, until)
    except BaseException:
        wire.close()
        raise
    transport.patience_seconds = deadline_seconds
    return RemoteCommand(transport)
