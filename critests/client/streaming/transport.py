"""What carries the numbered channels of a session: the part that WebSocket and SPDY have in common."""

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
"""How many bytes may wait to be sent before more is encoded."""

PATIENCE_SECONDS = 10.0


class Transport(ABC):
    """A session's connection after the upgrade.

    Attributes:
        subprotocol: what the server chose; empty if it named none.
        ledger: what arrived.
        patience_seconds: how long to wait for what is read where a caller names no time.
    """

    ENDS_WRITING: ClassVar[bool]
    """Whether `close` half-closes the connection after the farewell; if not, the server is to close it by
    itself.
    """

    def __init__(self, wire: Wire, subprotocol: str, ledger: Ledger) -> None:
        self.subprotocol = subprotocol
        self.ledger = ledger
        self.patience_seconds = PATIENCE_SECONDS
        self._wire = wire

    @abstractmethod
    def _feed(self, data: bytes) -> None:
        """Take bytes of the server apart and note them in the ledger; raise ProtocolViolation on what is not
        allowed.
        """

    @abstractmethod
    def _encode(self, channel: int, data: bytes) -> bytes:
        """Return the frame that carries data on a channel."""

    @abstractmethod
    def half_close(self, channel: int, seconds: float) -> None:
        """Tell the server that nothing more will be written to a channel."""

    @abstractmethod
    def ping(self, seconds: float) -> float:
        """Send a ping and return the seconds until its answer came."""

    @abstractmethod
    def _farewell(self) -> bytes:
        """Return the frame that announces the end of the connection."""

    def pump(self, until: float) -> None:
        """Wait until something came, was sent, or ended, or the monotonic time `until` has come; then take
        what is there.
        """
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
        wanted: bytes | Callable[[bytes], bool],
        name: str,
        seconds: float | None = None,
    ) -> bytes:
        """Wait until something came on a channel, and return what came since the last call, up to and
        including it.

        Args:
            channel: the channel.
            wanted: bytes that must come, or a condition on all bytes of the channel that no earlier call
                returned.
            name: what people call the channel, such as `stdout`.
            seconds: how long to wait, if not `patience_seconds`.

        Raises:
            StreamTimeout: it did not come in time.
            SessionEnded: the session or the channel ended without it.
            OutputTooLarge: it may have come beyond what is kept.
        """
        awaited = f"{wanted!r} on {name}" if isinstance(wanted, bytes) else f"a condition on {name}"
        taken: bytes | None = None

        def came() -> bool:
            nonlocal taken
            taken = self.ledger.take(channel, wanted)
            if taken is None and channel in self.ledger.finished:
                raise SessionEnded(awaited, f"{self.ledger.describe()}; the server finished {name}")
            return taken is not None

        self.await_(came, awaited, seconds)
        return taken or b""

    def await_(
        self, done: Callable[[], bool], awaited: str, seconds: float | None, until: float | None = None
    ) -> None:
        """Move bytes until a condition holds.

        Args:
            done: the condition; asked after every round, and once more after a last round when time is up.
            awaited: what it means, for messages.
            seconds: the deadline, if not `patience_seconds`.
            until: the monotonic time of the deadline, if it began to run earlier than now.

        Raises:
            StreamTimeout: it did not hold in time.
            SessionEnded: it cannot hold any more.
        """
        seconds = self.patience_seconds if seconds is None else seconds
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
        """Send data on a channel, in pieces, reading meanwhile; an empty `data` is sent as one empty frame.

        Raises:
            StreamTimeout: the server did not take all of it in time.
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
        # Not "until the queue is empty": what comes meanwhile is answered behind it, a good-bye too.
        enough = self._wire.taken + len(self._wire.queue) - leave

        def sent() -> bool:
            return self._wire.taken >= enough and not self._wire.broken

        self.await_(sent, f"the server to take {total} bytes", seconds, until)

    def close(self, seconds: float) -> None:
        """Say good-bye, give the server a moment to answer, and close the connection; never raises for what
        the server does.
        """
        if self._wire.closed:
            return
        try:
            if self.ledger.ended_by is None:
                self._wire.queue += self._farewell()
                until = time.monotonic() + seconds
                self._wire.last = self.ENDS_WRITING
                while self.ledger.ended_by is None and time.monotonic() < until:
                    self.pump(until)
                self.ledger.ended_by = EndedBy.CLOSED_HERE
            elif self._wire.queue:
                with contextlib.suppress(ConnectionError):
                    self._wire.turn(0)
        finally:
            self._wire.close()

    def abort(self) -> None:
        """Drop the TCP connection without a word."""
        self.ledger.end(EndedBy.CLOSED_HERE)
        self._wire.reset()


def _pieces(data: bytes) -> Iterator[bytes]:
    for start in range(0, max(len(data), 1), PIECE_BYTES):
        yield data[start : start + PIECE_BYTES]
