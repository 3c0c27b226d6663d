"""WebSocket frames (RFC 6455, section 5) for a relay: parse, change, write."""

import secrets
import struct
from collections.abc import Iterator
from dataclasses import dataclass

CONTINUATION, TEXT, BINARY, CLOSE = 0, 1, 2, 8


@dataclass(frozen=True)
class RelayedFrame:
    """One frame.

    Attributes:
        opcode: its opcode; 8 and above are control frames.
        payload: the unmasked payload.
        final: whether it ends the message.
        masked: whether it is masked on the wire, as all frames from a client.
    """

    opcode: int
    payload: bytes
    final: bool = True
    masked: bool = False

    @property
    def is_data(self) -> bool:
        """Whether this is a complete binary message of a channel protocol: channel number, then data."""
        return self.opcode == BINARY and self.final and bool(self.payload)

    @property
    def channel(self) -> int:
        """The number of the channel, of a data frame."""
        return self.payload[0]

    @property
    def data(self) -> bytes:
        """The data of the channel, of a data frame."""
        return self.payload[1:]

    def on(self, channel: int, data: bytes) -> "RelayedFrame":
        """Return a frame of the same kind with another channel and other data."""
        return RelayedFrame(self.opcode, bytes([channel]) + data, self.final, self.masked)

    def __bytes__(self) -> bytes:
        head = bytes([(0x80 if self.final else 0) | self.opcode])
        mask_bit = 0x80 if self.masked else 0
        length = len(self.payload)
        if length < 126:
            head += bytes([mask_bit | length])
        elif length < 1 << 16:
            head += struct.pack(">BH", mask_bit | 126, length)
        else:
            head += struct.pack(">BQ", mask_bit | 127, length)
        if not self.masked:
            return head + self.payload
        key = secrets.token_bytes(4)
        return head + key + _mask(self.payload, key)


class RelayedFrames:
    """Splits the bytes of a connection into frames."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, chunk: bytes) -> Iterator[RelayedFrame]:
        """Yield the frames that are complete with this chunk."""
        self._rest += chunk
        while (frame_and_size := self._first()) is not None:
            frame, size = frame_and_size
            del self._rest[:size]
            yield frame

    def _first(self) -> tuple[RelayedFrame, int] | None:
        rest = self._rest
        if len(rest) < 2:
            return None
        masked, length, start = bool(rest[1] & 0x80), rest[1] & 0x7F, 2
        if length >= 126:
            start = 4 if length == 126 else 10
            if len(rest) < start:
                return None
            length = int.from_bytes(rest[2:start], "big")
        key = bytes(rest[start : start + 4]) if masked else b""
        start += len(key)
        if len(rest) < start + length or (masked and len(key) < 4):
            return None
        payload = bytes(rest[start : start + length])
        return RelayedFrame(
            rest[0] & 0x0F, _mask(payload, key) if masked else payload, bool(rest[0] & 0x80), masked
        ), start + length


def _mask(payload: bytes, key: bytes) -> bytes:
    """Mask or unmask, which is the same operation."""
    length = len(payload)
    pad = (key * (length // 4 + 1))[:length]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(pad, "big")).to_bytes(length, "big")
