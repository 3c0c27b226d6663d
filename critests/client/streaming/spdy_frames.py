"""Frames and header compression of SPDY/3.1 (SPDY draft 3, sections 2.2 and 2.6), as far as streaming
sessions use them.

A control frame is `1|version(15)|type(16)|flags(8)|length(24)`, a data frame
`0|stream(31)|flags(8)|length(24)`. The header blocks of one direction share one zlib stream, which begins
with the protocol's dictionary and is flushed at the end of each block.
"""

import base64
import hashlib
import struct
import zlib
from collections.abc import Iterator, Mapping
from enum import IntEnum, unique
from functools import cache
from importlib import resources
from typing import NamedTuple

from critests.client.streaming.streaming_errors import ProtocolViolation

VERSION = 3
FLAG_FIN = 0x01
BLOCK_BYTES = 64 * 1024
"""The longest uncompressed header block that is accepted."""

DICTIONARY_FILE = "spdy3-dictionary.b64"
DICTIONARY_SHA256 = "51d27341373f923f3cd88e1eb7162aeaa3723d7585ff2399201dc06498407f02"


@unique
class ControlFrameType(IntEnum):
    """The types of control frames."""

    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PING = 6
    GOAWAY = 7
    HEADERS = 8
    WINDOW_UPDATE = 9


REFUSED_STREAM = 3
"""Status of RST_STREAM: the stream was refused before any processing."""

CANCEL = 5
"""Status of RST_STREAM: the stream is no longer needed."""


class DataFrame(NamedTuple):
    """Data on a stream."""

    stream: int
    fin: bool
    data: bytes


class ControlFrame(NamedTuple):
    """Any control frame; `kind` may be a number without a meaning in SPDY."""

    kind: int
    flags: int
    body: bytes

    def number(self, offset: int = 0) -> int:
        """Return the 32-bit number at an offset of the body, without its top bit, which is reserved."""
        if len(self.body) < offset + 4:
            raise ProtocolViolation(
                f"a SPDY control frame of type {self.kind} with only {len(self.body)} bytes"
            )
        return int.from_bytes(self.body[offset : offset + 4], "big") & 0x7FFFFFFF


class SpdyFrameReader:
    """Parses a server's bytes, whatever their boundaries."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[DataFrame | ControlFrame]:
        """Yield each frame that these bytes complete."""
        self._buffer += data
        while len(self._buffer) >= 8:
            first, flags_length = struct.unpack_from("!II", self._buffer)
            flags, end = flags_length >> 24, 8 + (flags_length & 0xFFFFFF)
            if first >> 31 and first >> 16 & 0x7FFF != VERSION:
                raise ProtocolViolation(f"a SPDY frame of version {first >> 16 & 0x7FFF}, not {VERSION}")
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[8:end])
            del self._buffer[:end]
            yield (
                ControlFrame(first & 0xFFFF, flags, body)
                if first >> 31
                else DataFrame(first, bool(flags & FLAG_FIN), body)
            )


class HeaderWriter:
    """The compressor of one direction."""

    def __init__(self) -> None:
        self._zlib = zlib.compressobj(zdict=dictionary())

    def block(self, headers: Mapping[str, str]) -> bytes:
        """Return headers as a compressed block; names are in lower case, as SPDY requires."""
        plain = struct.pack("!I", len(headers))
        for name, value in headers.items():
            for text in (name.lower().encode("latin-1"), value.encode("latin-1")):
                plain += struct.pack("!I", len(text)) + text
        return self._zlib.compress(plain) + self._zlib.flush(zlib.Z_SYNC_FLUSH)


class HeaderReader:
    """The decompressor of one direction; it needs every block, in order."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(zdict=dictionary())

    def headers(self, block: bytes) -> dict[str, str]:
        """Return the headers of a compressed block.

        Raises:
            ProtocolViolation: it is malformed, or too large.
        """
        try:
            plain = self._zlib.decompress(block, BLOCK_BYTES)
        except zlib.error as error:
            raise ProtocolViolation(f"a SPDY header block that zlib cannot read: {error}") from error
        if self._zlib.unconsumed_tail:
            raise ProtocolViolation(f"a SPDY header block of more than {BLOCK_BYTES} bytes")
        texts = list(_texts(plain))
        return dict(zip(texts[::2], texts[1::2], strict=True))


def _texts(plain: bytes) -> Iterator[str]:
    """Yield names and values alternately."""
    if not plain:
        return
    at = 4
    for _ in range(2 * int.from_bytes(plain[:4], "big")):
        size = int.from_bytes(plain[at : at + 4], "big")
        if len(plain) < at + 4 + size:
            raise ProtocolViolation("a SPDY header block that ends within a header")
        yield plain[at + 4 : at + 4 + size].decode("latin-1")
        at += 4 + size


@cache
def dictionary() -> bytes:
    """Return the dictionary of SPDY/3 for header blocks.

    Raises:
        RuntimeError: the file of this package is damaged.
    """
    data = base64.b64decode(resources.files(__package__).joinpath(DICTIONARY_FILE).read_bytes())
    if hashlib.sha256(data).hexdigest() != DICTIONARY_SHA256:
        raise RuntimeError(f"{DICTIONARY_FILE} in the package {__package__} is damaged")
    return data


def control_frame(kind: int, body: bytes, flags: int = 0) -> bytes:
    """Return a control frame."""
    return struct.pack("!HHI", 0x8000 | VERSION, kind, flags << 24 | len(body)) + body


def data_frame(stream: int, data: bytes, *, fin: bool = False) -> bytes:
    """Return a data frame; with `fin` it half-closes the stream."""
    return struct.pack("!II", stream, (FLAG_FIN if fin else 0) << 24 | len(data)) + data


def syn_stream(stream: int, block: bytes, *, fin: bool = False) -> bytes:
    """Return the frame that opens a stream, with the highest priority and no associated stream."""
    return control_frame(
        ControlFrameType.SYN_STREAM, struct.pack("!IIH", stream, 0, 0) + block, FLAG_FIN if fin else 0
    )


def rst_stream(stream: int, status: int) -> bytes:
    """Return the frame that ends a stream in both directions."""
    return control_frame(ControlFrameType.RST_STREAM, struct.pack("!II", stream, status))


def ping(number: int) -> bytes:
    """Return a ping, or the response to one, which is the same frame."""
    return control_frame(ControlFrameType.PING, struct.pack("!I", number))


def goaway(last_stream: int) -> bytes:
    """Return the frame that announces that no further stream is accepted."""
    return control_frame(ControlFrameType.GOAWAY, struct.pack("!II", last_stream, 0))
