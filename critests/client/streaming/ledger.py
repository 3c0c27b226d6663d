"""What arrived in a session, in order and per channel, with bounded memory."""

import time
from collections.abc import Callable

from critests.client.streaming.streaming_errors import OutputTooLarge, shown
from critests.client.streaming.streams import EndedBy, StreamData, channel_name

RETAINED_BYTES = 16 * 1024 * 1024
"""How many bytes of output a session retains by default; the rest is only counted."""

ERROR_BYTES = 64 * 1024
"""How many bytes of each error channel are retained, in addition to the output."""

RETAINED_FRAMES = 16_384
"""How many frames are retained with their times; the bytes of later frames are still retained per channel."""

Sink = Callable[[int, bytes], None]
"""Called with channel number and payload of each frame as it is read, including those that are not
retained.
"""


class Ledger:
    """Everything that a session received.

    Args:
        keep_bytes: how many bytes of output to retain, for all channels together.
        is_error: returns whether a channel is an error channel; these have a limit of their own, so that a
            status is always retained.
        sink: called for every frame.
    """

    def __init__(self, keep_bytes: int, is_error: Callable[[int], bool], sink: Sink | None = None) -> None:
        self.opened = time.monotonic()
        self.frames: list[StreamData] = []
        self.totals: dict[int, int] = {}
        self.finished: set[int] = set()
        self.resets: dict[int, int] = {}
        self.ended_by: EndedBy | None = None
        self.ended: float | None = None
        self.close_code: int | None = None
        self.close_reason = ""
        self._data: dict[int, bytearray] = {}
        self._read: dict[int, int] = {}
        self._searched: dict[int, int] = {}
        self._left = keep_bytes
        self._is_error = is_error
        self._sink = sink

    def add(self, channel: int, payload: bytes) -> None:
        """Add one frame that arrived."""
        if self._sink is not None:
            self._sink(channel, payload)
        data = self._data.setdefault(channel, bytearray())
        self.totals[channel] = self.totals.get(channel, 0) + len(payload)
        free = ERROR_BYTES - len(data) if self._is_error(channel) else self._left
        piece = payload[: max(free, 0)]
        if not self._is_error(channel):
            self._left -= len(piece)
        data += piece
        if len(self.frames) < RETAINED_FRAMES:
            self.frames.append(StreamData(time.monotonic(), channel, piece))

    def finish(self, channel: int) -> None:
        """Note that the server half-closed a channel."""
        self.finished.add(channel)

    def reset(self, channel: int, status: int) -> None:
        """Note that the server reset a channel (SPDY), with the status code of its frame."""
        self.resets.setdefault(channel, status)
        self.finished.add(channel)

    def skip(self, channel: int, size: int) -> None:
        """Make the next `take` of a channel begin at least `size` bytes after its beginning."""
        self._read[channel] = max(size, self._read.get(channel, 0))

    def forget(self, channel: int) -> None:
        """Discard the data of a channel that is not needed any more."""
        for known in (self._data, self._read, self._searched, self.totals, self.resets):
            known.pop(channel, None)
        self.finished.discard(channel)

    def end(self, by: EndedBy, code: int | None = None, reason: str = "") -> None:
        """Note the end of the session; only the first call counts."""
        if self.ended_by is None:
            self.ended_by, self.ended, self.close_code, self.close_reason = by, time.monotonic(), code, reason

    def received(self, channel: int) -> bytes:
        """Return all retained bytes of a channel."""
        return bytes(self._data.get(channel, b""))

    def take(self, channel: int, expected: bytes | Callable[[bytes], bool]) -> bytes | None:
        """Return the output on a channel since the last `take`, if the expected part is in it.

        Args:
            channel: the channel's number.
            expected: bytes, or a condition on everything not taken yet.

        Returns:
            The bytes up to and including the expected ones (for a condition: all of them), which are then
            taken. None if they are not there.

        Raises:
            OutputTooLarge: they are not there, and later output was not retained.
        """
        data, start = self._data.get(channel, bytearray()), self._read.get(channel, 0)
        if isinstance(expected, bytes):
            found = data.find(expected, max(start, self._searched.get(channel, 0) - len(expected) + 1))
            end = found + len(expected) if found >= 0 else -1
            self._searched[channel] = end if found >= 0 else len(data)
        else:
            end = len(data) if expected(bytes(memoryview(data)[start:])) else -1
        if end >= 0:
            self._read[channel] = end
            return bytes(data[start:end])
        if self.totals.get(channel, 0) > len(data):
            raise OutputTooLarge(
                f"{channel_name(channel)} sent {self.totals[channel]} bytes; only {len(data)} are retained"
            )
        return None

    def describe(self) -> str:
        """Return one line about what has arrived so far, for error messages."""
        parts = [
            f"{channel_name(channel)} {total} bytes"
            + (f" ending {shown(bytes(self._data[channel][-100:]))}" if total else "")
            for channel, total in sorted(self.totals.items())
        ]
        if self.frames:
            parts.append(f"the last frame {time.monotonic() - self.frames[-1].seconds:.2f} s ago")
        if self.ended_by is not None:
            ending = f"ended by {self.ended_by}"
            ending += "" if self.close_code is None else f" (code {self.close_code})"
            parts.append(ending + (f": {self.close_reason[:200]}" if self.close_reason else ""))
        return ", ".join(parts) or "nothing yet"
