"""The connection with the numbered channels of a session: what WebSocket and SPDY have in common."""

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar

from critests.client.streaming.ledger import Ledger
from critests.client.streaming.streaming_errors import ProtocolViolation, SessionEnded, StreamTimeout
from critests.client.streaming.streams import EndedBy
from critests.client.streaming.wire import Wire

PIECE_BYTES = 32 * 1024
"""The largest piece of data that is sent in one frame."""

BACKLOG_BYTES = 256 * 1024
"""How many bytes may be queued before more is encoded."""

DEFAULT_SECONDS = 10.0


class Transport(ABC):
    """A session's connection after the upgrade.

    Attributes:
        subprotocol: chosen by the server; empty if it named none.
        ledger: what arrived.
        default_seconds: the deadline of reads for which the caller gives none.
    """

    HALF_CLOSES: ClassVar[bool]
    """Whether `close` half-closes the connection after the closing frames; if not, the server must
    close it.
    """

    def __init__(self, wire: Wire, subprotocol: str, ledger: Ledger) -> None:
        self.subprotocol = subprotocol
        self.ledger = ledger
        self.default_seconds = DEFAULT_SECONDS
        self._wire = wire

    @abstractmethod
    def _feed(self, data: bytes) -> None:
        """Parse bytes from the server into the ledger; raise ProtocolViolation if they are not allowed."""

    @abstractmethod
    def _encode(self, channel: int, data: bytes) -> bytes:
        """Return the frame that carries data on a channel."""

    @abstractmethod
    def half_close(self, channel: int, seconds: float) -> None:
        """End the data on a channel in this direction."""

    @abstractmethod
    def ping(self, seconds: float) -> float:
        """Send a ping and return the seconds until its response."""

    @abstractmethod
    def _closing_frames(self) -> bytes:
        """Return the frames that announce the end of the connection."""

    def pump(self, until: float) -> None:
        """Read or send once, waiting until the monotonic time `until` at most, and parse what was read."""
        try:
            data = self._wire.turn(until)
            if data is None:
                self.ledger.end(EndedBy.END_OF_CONNECTION)
            elif data:
                self._feed(data)
        except ConnectionError as error:
            self.ledger.end(EndedBy.RESET, reason=str(error))
        except ProtocolViolation as error:
            self.ledger.end(EndedBy.VIOLATION, reason=str(error))

    def take(
        self,
        channel: int,
        expected: bytes | Callable[[bytes], bool],
        name: str,
        seconds: float | None = None,
    ) -> bytes:
        """Wait for output on a channel, and return all of it since the last call, up to and including the
        expected part.

        Args:
            channel: the channel.
            expected: bytes, or a condition on all bytes of the channel that no earlier call returned.
            name: of the channel in messages, such as `stdout`.
            seconds: the deadline, if not `default_seconds`.

        Raises:
            StreamTimeout: it did not arrive in time.
            SessionEnded: the session or the channel ended without it.
            OutputTooLarge: it may be in the output that was not retained.
        """
        awaited = f"{expected!r} on {name}" if isinstance(expected, bytes) else f"a condition on {name}"
        taken: bytes | None = None

        def arrived() -> bool:
            nonlocal taken
            taken = self.ledger.take(channel, expected)
            if taken is None and channel in self.ledger.finished:
                raise SessionEnded(awaited, f"{self.ledger.describe()}; the server finished {name}")
            return taken is not None

        self.await_(arrived, awaited, seconds)
        return taken or b""

    def await_(
        self, done: Callable[[], bool], awaited: str, seconds: float | None, until: float | None = None
    ) -> None:
        """Send and read until a condition holds.

        Args:
            done: the condition; evaluated after every round, and once more after a last round at the
                deadline.
            awaited: the condition in words, for messages.
            seconds: the deadline, if not `default_seconds`.
            until: the monotonic time of the deadline, if it began before now.

        Raises:
            StreamTimeout: it did not hold in time.
            SessionEnded: it cannot hold any more.
        """
        seconds = self.default_seconds if seconds is None else seconds
        until = time.monotonic() + seconds if until is None else until
        last = False
        while not done():
            if self.ledger.ended_by is not None:
                raise SessionEnded(awaited, self.ledger.describe())
            if last:
                raise StreamTimeout(awaited, self.ledger.describe(), seconds)
            last = time.monotonic() >= until
            self.pump(until)

    def send(self, channel: int, data: bytes, seconds: float) -> None:
        """Send data on a channel, in pieces, reading meanwhile; empty `data` is sent as one empty frame.

        Raises:
            StreamTimeout: the server did not accept all of it in time.
            SessionEnded: the session ended first.
        """
        if self.ledger.ended_by is not None:
            raise SessionEnded(f"the server to take {len(data)} bytes", self.ledger.describe())
        until = time.monotonic() + seconds
        for piece in _pieces(data):
            self._wire.queue += self._encode(channel, piece)
            self._drain(BACKLOG_BYTES, len(data), seconds, until)
        self._drain(0, len(data), seconds, until)

    def _send_control(self, frame: bytes, seconds: float) -> None:
        self._wire.queue += frame
        self._drain(0, len(frame), seconds, time.monotonic() + seconds)

    def _drain(self, leave: int, total: int, seconds: float, until: float) -> None:
        # not until the queue is empty: replies to pings and close frames may be appended meanwhile
        enough = self._wire.taken + len(self._wire.queue) - leave

        def sent() -> bool:
            return self._wire.taken >= enough and not self._wire.broken

        self.await_(sent, f"the server to take {total} bytes", seconds, until)

    def close(self, seconds: float) -> None:
        """Send the closing frames, wait shortly for the server's, and close the connection; never raises for
        what the server does.
        """
        if self._wire.closed:
            return
        try:
            if self.ledger.ended_by is None:
                self._wire.queue += self._closing_frames()
                until = time.monotonic() + seconds
                self._wire.last = self.HALF_CLOSES
                while self.ledger.ended_by is None and time.monotonic() < until:
                    self.pump(until)
                self.ledger.ended_by = EndedBy.CLOSED_HERE
            elif self._wire.queue:
                with contextlib.suppress(ConnectionError):
                    self._wire.turn(0)
        finally:
            self._wire.close()

    def abort(self) -> None:
        """Drop the TCP connection without closing frames."""
        self.ledger.end(EndedBy.CLOSED_HERE)
        self._wire.reset()


def _pieces(data: bytes) -> Iterator[bytes]:
    for start in range(0, max(len(data), 1), PIECE_BYTES):
        yield data[start : start + PIECE_BYTES]
