"""What arrived in a session, in order and per channel, with bounded memory."""

import time
from collections.abc import Callable

from critests.client.streaming.streaming_errors import OutputTooLarge, shown
from critests.client.streaming.streams import EndedBy, StreamData, channel_name

KEPT_BYTES = 16 * 1024 * 1024
"""How many bytes of output a session keeps unless told otherwise; what comes after is counted only."""

ERROR_BYTES = 64 * 1024
"""How many bytes of each error channel are kept, beside the budget for output."""

KEPT_FRAMES = 16_384
"""How many frames are kept with their times; the bytes of later frames are still kept per channel."""

Sink = Callable[[int, bytes], None]
"""Called with channel number and payload of each frame as it is read, also beyond what is kept."""


class Ledger:
    """Everything that a session received.

    Args:
        keep_bytes: budget for the output of all channels together, in bytes.
        is_error: says which channels are error channels, which have a small budget of their own so that a
            status is never crowded out.
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
        self._kept: dict[int, bytearray] = {}
        self._read: dict[int, int] = {}
        self._searched: dict[int, int] = {}
        self._left = keep_bytes
        self._is_error = is_error
        self._sink = sink

    def add(self, channel: int, payload: bytes) -> None:
        """Note one frame that arrived."""
        if self._sink is not None:
            self._sink(channel, payload)
        kept = self._kept.setdefault(channel, bytearray())
        self.totals[channel] = self.totals.get(channel, 0) + len(payload)
        room = ERROR_BYTES - len(kept) if self._is_error(channel) else self._left
        piece = payload[: max(room, 0)]
        if not self._is_error(channel):
            self._left -= len(piece)
        kept += piece
        if len(self.frames) < KEPT_FRAMES:
            self.frames.append(StreamData(time.monotonic(), channel, piece))

    def finish(self, channel: int) -> None:
        """Note that the server will write no more to a channel."""
        self.finished.add(channel)

    def reset(self, channel: int, status: int) -> None:
        """Note that the server reset a channel (SPDY), with the status code of its frame."""
        self.resets.setdefault(channel, status)
        self.finished.add(channel)

    def skip(self, channel: int, size: int) -> None:
        """Have the next `take` of a channel begin at least `size` bytes after its beginning."""
        self._read[channel] = max(size, self._read.get(channel, 0))

    def forget(self, channel: int) -> None:
        """Drop what is kept of a channel that nobody will ask for any more."""
        for known in (self._kept, self._read, self._searched, self.totals, self.resets):
            known.pop(channel, None)
        self.finished.discard(channel)

    def end(self, by: EndedBy, code: int | None = None, reason: str = "") -> None:
        """Note the end of the session; only the first such note counts."""
        if self.ended_by is None:
            self.ended_by, self.ended, self.close_code, self.close_reason = by, time.monotonic(), code, reason

    def received(self, channel: int) -> bytes:
        """Return all bytes kept of a channel."""
        return bytes(self._kept.get(channel, b""))

    def take(self, channel: int, wanted: bytes | Callable[[bytes], bool]) -> bytes | None:
        """Return what came on a channel since the last `take`, if what is wanted is in it.

        Args:
            channel: the channel's number.
            wanted: bytes, or a condition on everything not taken yet.

        Returns:
            The bytes up to and including the wanted ones (for a condition: all of them), which are then
            taken. None if they are not there.

        Raises:
            OutputTooLarge: they are not there, and later output was dropped.
        """
        kept, start = self._kept.get(channel, bytearray()), self._read.get(channel, 0)
        if isinstance(wanted, bytes):
            found = kept.find(wanted, max(start, self._searched.get(channel, 0) - len(wanted) + 1))
            end = found + len(wanted) if found >= 0 else -1
            self._searched[channel] = end if found >= 0 else len(kept)
        else:
            end = len(kept) if wanted(bytes(memoryview(kept)[start:])) else -1
        if end >= 0:
            self._read[channel] = end
            return bytes(kept[start:end])
        if self.totals.get(channel, 0) > len(kept):
            raise OutputTooLarge(
                f"{channel_name(channel)} gave {self.totals[channel]} bytes; only {len(kept)} are kept"
            )
        return None

    def describe(self) -> str:
        """Return in one line what has arrived so far, for error messages."""
        parts = [
            f"{channel_name(channel)} {total} bytes"
            + (f" ending {shown(bytes(self._kept[channel][-100:]))}" if total else "")
            for channel, total in sorted(self.totals.items())
        ]
        if self.frames:
            parts.append(f"the last frame {time.monotonic() - self.frames[-1].seconds:.2f} s ago")
        if self.ended_by is not None:
            ending = f"ended by {self.ended_by}"
            ending += "" if self.close_code is None else f" (code {self.close_code})"
            parts.append(ending + (f": {self.close_reason[:200]}" if self.close_reason else ""))
        return ", ".join(parts) or "nothing yet"
