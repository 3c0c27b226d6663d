"""The frames of ttrpc: ten bytes that name length, stream and kind, then a message."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from critests.api import ttrpc_pb2 as wire

REQUEST, RESPONSE = 1, 2

UNKNOWN, UNIMPLEMENTED = 2, 12
"""Codes of gRPC."""

_HEAD = struct.Struct(">IIBB")


class TtrpcError(AssertionError):
    """The other side returned an error. It is an assertion error, because calls of a plugin must succeed.

    Attributes:
        code: of gRPC.
    """

    def __init__(self, status: wire.Status) -> None:
        super().__init__(f"code {status.code}: {status.message}")
        self.code = status.code


@dataclass(frozen=True)
class TtrpcFrame:
    """One message of a stream."""

    stream: int
    kind: int
    payload: bytes

    def packed(self) -> bytes:
        """Return its bytes on the wire."""
        return _HEAD.pack(len(self.payload), self.stream, self.kind, 0) + self.payload


class Frames:
    """Assembles the frames of one connection from the received chunks."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> Iterator[TtrpcFrame]:
        """Add received bytes, and yield the complete frames."""
        self._pending += data
        while len(self._pending) >= _HEAD.size:
            length, stream, kind, _ = _HEAD.unpack_from(self._pending)
            end = _HEAD.size + length
            if len(self._pending) < end:
                return
            payload = bytes(self._pending[_HEAD.size : end])
            del self._pending[:end]
            yield TtrpcFrame(stream, kind, payload)


def request(stream: int, service: str, method: str, payload: bytes, seconds: float) -> TtrpcFrame:
    """Return the frame of a call."""
    call = wire.Request(service=service, method=method, payload=payload, timeout_nano=int(seconds * 1e9))
    return TtrpcFrame(stream, REQUEST, call.SerializeToString())


def answer(stream: int, payload: bytes) -> TtrpcFrame:
    """Return the frame of a response."""
    response = wire.Response(status=wire.Status(), payload=payload)
    return TtrpcFrame(stream, RESPONSE, response.SerializeToString())


def refusal(stream: int, code: int, message: str) -> TtrpcFrame:
    """Return the frame of an error response."""
    response = wire.Response(status=wire.Status(code=code, message=message))
    return TtrpcFrame(stream, RESPONSE, response.SerializeToString())
