"""Channels over WebSocket: the sub-protocols `v5.`, `v4.` and unversioned `channel.k8s.io`, and their base64
twins.

Each message begins with a byte that names its channel: the number itself, or its digit in the base64
sub-protocols, where the rest of the message is base64. `v5.channel.k8s.io` adds channel 255, on which the
number of a channel means that this channel has no more data. The `websocket` library does the framing; it
reads from a buffer instead of the socket, so that a deadline never splits a frame.
"""

import base64
import binascii
import hashlib
import os
import struct
import time
from collections.abc import Sequence

from websocket import ABNF, WebSocketException, frame_buffer

from critests.client.streaming.ledger import Ledger
from critests.client.streaming.streaming_errors import HalfCloseUnsupported, ProtocolViolation
from critests.client.streaming.streams import NO_CHANNEL, EndedBy
from critests.client.streaming.transport import Transport
from critests.client.streaming.upgrade import upgrade
from critests.client.streaming.wire import Wire

CLOSE_CHANNEL = 255
"""Channel of v5.channel.k8s.io whose payload names the channels that are closed."""
MESSAGE_BYTES = 16 * 1024 * 1024
"""The longest message that is read; a longer one is a violation."""

ACCEPT_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, 1.3


class WebSocketTransport(Transport):
    """A session over WebSocket, after the handshake."""

    HALF_CLOSES = False

    def __init__(self, wire: Wire, subprotocol: str, ledger: Ledger) -> None:
        super().__init__(wire, subprotocol, ledger)
        self._base64 = "base64" in subprotocol.split(".")
        self._incoming = bytearray()
        self._frames = frame_buffer(self._take, skip_utf8_validation=True)
        self._message: bytearray | None = None
        self._pongs: set[bytes] = set()

    def _take(self, size: int) -> bytes:
        if not self._incoming:
            raise BlockingIOError
        taken = bytes(self._incoming[:size])
        del self._incoming[:size]
        return taken

    def _feed(self, data: bytes) -> None:
        self._incoming += data
        while self.ledger.ended_by is None:
            try:
                taken = self._frames.recv_frame()
            except BlockingIOError:
                if (self._frames.length or 0) > MESSAGE_BYTES:
                    raise ProtocolViolation(f"a frame of {self._frames.length} bytes") from None
                return
            except (WebSocketException, ValueError) as error:
                raise ProtocolViolation(f"not a WebSocket frame: {error}") from error
            self._take_frame(taken)

    def _take_frame(self, taken: ABNF) -> None:
        if taken.mask_value:
            raise ProtocolViolation("a masked WebSocket frame, which only a client may send")
        data = taken.data if isinstance(taken.data, bytes) else taken.data.encode("latin-1")
        if taken.opcode == ABNF.OPCODE_CLOSE:
            code = struct.unpack("!H", data[:2])[0] if len(data) >= 2 else None
            self.ledger.end(EndedBy.CLOSE_FRAME, code, data[2:].decode(errors="replace"))
            self._wire.queue += frame(data[:2], ABNF.OPCODE_CLOSE)
        elif taken.opcode == ABNF.OPCODE_PING:
            self._wire.queue += frame(data, ABNF.OPCODE_PONG)
        elif taken.opcode == ABNF.OPCODE_PONG:
            self._pongs.add(data)
        else:
            self._take_data(taken.opcode, data, final=bool(taken.fin))

    def _take_data(self, opcode: int, data: bytes, *, final: bool) -> None:
        if (opcode == ABNF.OPCODE_CONT) != (self._message is not None):
            raise ProtocolViolation("a continuation without a beginning, or a beginning inside a message")
        if self._message is not None:
            self._message += data
            if len(self._message) > MESSAGE_BYTES:
                raise ProtocolViolation(f"a message of more than {MESSAGE_BYTES} bytes")
            data = bytes(self._message)
        if not final:
            self._message = bytearray(data) if self._message is None else self._message
            return
        self._message = None
        self._take_message(data)

    def _take_message(self, message: bytes) -> None:
        if not message:
            self.ledger.add(NO_CHANNEL, b"")
            return
        channel, payload = message[0], message[1:]
        if self._base64:
            try:
                channel, payload = int(chr(channel)), base64.b64decode(payload, validate=True)
            except (ValueError, binascii.Error) as error:
                raise ProtocolViolation(f"not a base64 message: {error}") from error
        if channel == CLOSE_CHANNEL and self.subprotocol.startswith("v5."):
            for finished in payload:
                self.ledger.finish(finished)
        self.ledger.add(channel, payload)

    def _encode(self, channel: int, data: bytes) -> bytes:
        if self._base64:
            return frame(str(channel).encode() + base64.b64encode(data), ABNF.OPCODE_TEXT)
        return frame(bytes([channel]) + data, ABNF.OPCODE_BINARY)

    def half_close(self, channel: int, seconds: float) -> None:
        """End the data on a channel in this direction.

        Raises:
            HalfCloseUnsupported: the sub-protocol has no message for it, as all before v5.
        """
        if not self.subprotocol.startswith("v5."):
            raise HalfCloseUnsupported(
                f"the sub-protocol {self.subprotocol or '(none)'!s} cannot close one direction; v5 and"
                " SPDY can"
            )
        self.send(CLOSE_CHANNEL, bytes([channel]), seconds)

    def ping(self, seconds: float) -> float:
        """Send a ping and return the seconds until its response."""
        token, began = os.urandom(8), time.monotonic()
        self._send_control(frame(token, ABNF.OPCODE_PING), seconds)
        self.await_(lambda: token in self._pongs, "the response to a WebSocket ping", seconds)
        return time.monotonic() - began

    def _closing_frames(self) -> bytes:
        return frame(struct.pack("!H", 1000), ABNF.OPCODE_CLOSE)


def frame(data: bytes, opcode: int) -> bytes:
    """Return a client's frame."""
    return ABNF.create_frame(data, opcode).format()


def open_websocket(
    wire: Wire, url: str, subprotocols: Sequence[str], ledger: Ledger, *, seconds: float, until: float
) -> WebSocketTransport:
    """Do the WebSocket handshake.

    Args:
        wire: a new connection to the server.
        url: the session's URL.
        subprotocols: to offer, the preferred first; without any the header is not sent.
        ledger: stores what arrives.
        seconds: the deadline of the caller, for messages.
        until: the monotonic time of the deadline.

    Raises:
        UpgradeRefused: the server does not switch protocols.
        ProtocolViolation: it violates RFC 6455, or chooses a sub-protocol that was not offered.
    """
    key = base64.b64encode(os.urandom(16)).decode()
    headers = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", key),
    ]
    if subprotocols:
        headers.append(("Sec-WebSocket-Protocol", ", ".join(subprotocols)))
    response = upgrade(wire, url, method="GET", headers=headers, seconds=seconds, until=until)
    expected = base64.b64encode(
        hashlib.sha1((key + ACCEPT_SUFFIX).encode(), usedforsecurity=False).digest()
    ).decode()
    if (
        response.headers.get("upgrade", "").lower() != "websocket"
        or response.headers.get("sec-websocket-accept") != expected
    ):
        raise ProtocolViolation(
            f"the server switched protocols, but not to this WebSocket: {dict(response.headers)}"
        )
    chosen = response.headers.get("sec-websocket-protocol", "")
    if chosen and chosen not in subprotocols:
        raise ProtocolViolation(
            f"the server chose the sub-protocol {chosen!r}, which was not offered ({', '.join(subprotocols)})"
        )
    return WebSocketTransport(wire, chosen, ledger)
