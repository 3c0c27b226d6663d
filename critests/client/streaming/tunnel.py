"""SPDY inside WebSocket: the binary messages are the bytes of a SPDY/3.1 connection, which begins directly
after the handshake, without an upgrade of its own. The sub-protocol is `SPDY/3.1+` followed by that of the
inner session.
"""

import time
from collections.abc import Sequence

from websocket import ABNF

from critests.client.streaming.ledger import RETAINED_BYTES, Ledger
from critests.client.streaming.port_forward import SPDY_SUBPROTOCOL, PortForward
from critests.client.streaming.spdy_transport import SpdyTransport
from critests.client.streaming.streams import EndedBy
from critests.client.streaming.websocket_transport import WebSocketTransport, frame, open_websocket
from critests.client.streaming.wire import Wire, connect

PREFIX = "SPDY/3.1+"


class _Messages(WebSocketTransport):
    """A WebSocket whose messages are one stream of bytes, without channels."""

    received = b""

    def _take_message(self, message: bytes) -> None:
        self.received += message


class Tunnel(Wire):
    """A wire whose bytes go through a WebSocket.

    Args:
        wire: below the WebSocket, after its handshake.
    """

    def __init__(self, wire: Wire) -> None:
        self.queue = bytearray()
        self.taken = 0
        self.last = False
        self._below = wire
        self._messages = _Messages(wire, "", Ledger(0, lambda _: False, None))

    @property
    def broken(self) -> bool:  # type: ignore[override]  # that of the wire below
        """Whether the peer accepts no more bytes."""
        return self._below.broken

    @property
    def closed(self) -> bool:  # type: ignore[override]  # that of the wire below
        """Whether this side closed it."""
        return self._below.closed

    def turn(self, until: float) -> bytes | None:
        """Send from the queue and read; see `Wire.turn`."""
        if self.queue:
            self._below.queue += frame(bytes(self.queue), ABNF.OPCODE_BINARY)
            self.taken += len(self.queue)
            self.queue.clear()
        self._below.last = self.last
        self._messages.pump(until)
        taken, self._messages.received = self._messages.received, b""
        end = self._messages.ledger
        if not taken and end.ended_by in {EndedBy.RESET, EndedBy.VIOLATION}:
            raise ConnectionResetError(end.close_reason)
        return None if not taken and end.ended_by is not None else taken

    def close(self) -> None:
        """Close the socket in the ordinary way."""
        self._below.close()

    def reset(self) -> None:
        """Drop the connection with a TCP reset."""
        self._below.reset()


def open_tunnelled_port_forward(url: str, ports: Sequence[int], *, deadline_seconds: float) -> PortForward:
    """Open the session at the URL of a PortForward response, over SPDY inside WebSocket.

    Args:
        url: the URL of the response.
        ports: the ports of the request.
        deadline_seconds: for connecting and the handshake together; later also for reading without a deadline
            of its own.

    Raises:
        CannotConnect: nothing listens at the URL.
        UpgradeRefused: the server does not switch protocols.
        StreamTimeout: the session was not open in time.
        ProtocolViolation: the server violated the protocol while opening.
    """
    until = time.monotonic() + deadline_seconds
    wire = connect(url, until)
    try:
        opened = open_websocket(
            wire,
            url,
            (PREFIX + SPDY_SUBPROTOCOL,),
            Ledger(0, lambda _: False, None),
            seconds=deadline_seconds,
            until=until,
        )
    except BaseException:
        wire.close()
        raise
    ledger = Ledger(RETAINED_BYTES, lambda channel: channel % 2 == 1, None)
    transport = SpdyTransport(Tunnel(wire), opened.subprotocol, ledger)
    transport.default_seconds = deadline_seconds
    return PortForward(transport, ports)
