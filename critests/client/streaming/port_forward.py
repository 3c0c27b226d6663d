"""Port-forward sessions, over either protocol.

    with open_port_forward(url, [80], protocol=Protocol.SPDY, deadline_seconds=10) as forward:
        connection = forward.connect(80)
        connection.write(request)
        page = connection.finish(10).data

Each connection has a data and an error channel. Over SPDY (`portforward.k8s.io`) they are two streams with
the headers `streamtype` (`data` or `error`), `port` and `requestid`; any number of connections can be opened.
Over WebSocket (`v4.channel.k8s.io`) they are the channels 2i and 2i+1 of the i-th port of the request, open
from the start, one pair per port; on each the server first sends the port as a little-endian 16-bit number,
which is removed here.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from critests.client.streaming.ledger import RETAINED_BYTES, Ledger
from critests.client.streaming.open_session import CONTROL_SECONDS, V4, OpenSession
from critests.client.streaming.spdy_transport import SpdyTransport, open_spdy
from critests.client.streaming.streaming_errors import (
    HalfCloseUnsupported,
    ProtocolViolation,
    SessionEnded,
    StreamError,
)
from critests.client.streaming.streams import EndedBy, Protocol, StreamData
from critests.client.streaming.transport import Transport
from critests.client.streaming.websocket_transport import WebSocketTransport, open_websocket
from critests.client.streaming.wire import connect

SPDY_SUBPROTOCOL = "portforward.k8s.io"

PORT_BYTES = 2
"""Length of the port number at the beginning of each WebSocket channel."""


@dataclass(frozen=True)
class ForwardedData:
    """Everything that one forwarded connection returned."""

    data: bytes
    """Sent by the server in the pod."""
    error: bytes
    """The runtime's error message; empty if there is none."""
    frames: tuple[StreamData, ...]
    """As they were read; even channel numbers are data, odd ones errors."""
    total: int
    """Bytes of data received, including those that were not retained."""
    reset: int | None
    """The status of the RST_STREAM frame with which the runtime ended the data stream (SPDY), if it did."""
    ended_by: EndedBy | None
    """How the whole session ended; None if it has not."""


class PortConnection:
    """One connection to a port of the pod; see `PortForward.connect`."""

    def __init__(self, transport: Transport, port: int, channel: int, skip: int) -> None:
        self.port = port
        self._transport = transport
        self._ledger = transport.ledger
        self._data, self._error = channel, channel + 1
        self._skip = skip

    def write(self, data: bytes, deadline_seconds: float = 30.0) -> None:
        """Send data to the port, and read meanwhile; raises StreamTimeout or SessionEnded."""
        self._transport.send(self._data, data, deadline_seconds)

    def close_write(self) -> None:
        """End the data in this direction, and keep reading; raises HalfCloseUnsupported over WebSocket."""
        self._transport.half_close(self._data, CONTROL_SECONDS)

    def read_until(
        self, expected: bytes | Callable[[bytes], bool], deadline_seconds: float | None = None
    ) -> bytes:
        """Wait for data from the port, like `RemoteCommand.read_until`."""
        return self._transport.take(self._data, expected, f"the data of port {self.port}", deadline_seconds)

    def read_error_until(
        self, expected: bytes | Callable[[bytes], bool], deadline_seconds: float | None = None
    ) -> bytes:
        """Wait for output on the error channel, like `RemoteCommand.read_until`."""
        return self._transport.take(
            self._error, expected, f"the error channel of port {self.port}", deadline_seconds
        )

    def await_total(self, size: int, deadline_seconds: float | None = None) -> None:
        """Wait until that many bytes came from the port in total; raises StreamTimeout or SessionEnded."""
        awaited = f"{size} bytes of port {self.port}"
        self._transport.await_(
            lambda: self._ledger.totals.get(self._data, 0) - self._skip >= size or self.ended,
            awaited,
            deadline_seconds,
        )
        if self._ledger.totals.get(self._data, 0) - self._skip < size:
            raise SessionEnded(awaited, self._ledger.describe())

    @property
    def ended(self) -> bool:
        """Whether the runtime has finished both channels or the session, as far as it was read."""
        return self._ledger.ended_by is not None or self._ledger.finished.issuperset(
            {self._data, self._error}
        )

    def finish(self, deadline_seconds: float | None = None) -> ForwardedData:
        """Read until the runtime has finished the connection.

        Raises:
            StreamTimeout: it did not finish in time; `received` still returns the data so far.
        """
        self._transport.await_(
            lambda: self.ended, f"the end of the connection to port {self.port}", deadline_seconds
        )
        return self.received()

    def received(self) -> ForwardedData:
        """Return what arrived so far."""
        ledger = self._ledger
        total = ledger.totals.get(self._data, 0)
        data = ledger.received(self._data)
        return ForwardedData(
            data=data[self._skip :],
            error=ledger.received(self._error)[self._skip :],
            frames=tuple(frame for frame in ledger.frames if frame.channel in {self._data, self._error}),
            total=max(0, total - self._skip),
            reset=ledger.resets.get(self._data),
            ended_by=ledger.ended_by,
        )

    def close(self) -> None:
        """End this connection in both directions and discard its data. Over WebSocket it ends with the
        session only.

        Raises:
            HalfCloseUnsupported: over WebSocket.
        """
        if not isinstance(self._transport, SpdyTransport):
            raise HalfCloseUnsupported("over WebSocket a forwarded connection ends with its session")
        self._transport.reset_stream(self._data)
        self._transport.reset_stream(self._error)


class PortForward(OpenSession):
    """An open port-forward session; see `open_port_forward`."""

    _transport: SpdyTransport | WebSocketTransport

    def __init__(self, transport: SpdyTransport | WebSocketTransport, ports: Sequence[int]) -> None:
        super().__init__(transport)
        self._ports = tuple(ports)
        self._unused = list(enumerate(ports))
        self._next = 0

    def connect(
        self,
        port: int,
        deadline_seconds: float | None = None,
        *,
        data_headers: Mapping[str, str] | None = None,
    ) -> PortConnection:
        """Open a connection to a port.

        Args:
            port: the port in the pod. Over WebSocket one of the session's ports, once each.
            deadline_seconds: how long the runtime may take to accept it; as long as for opening the
                session by default.
            data_headers: instead of those of a proper data stream (SPDY only): for tests of what a server
                does with violations.

        Raises:
            StreamRefused: the runtime refused a stream.
            StreamTimeout: it said nothing in time.
            SessionEnded: the session ended before.
            ProtocolViolation: a WebSocket channel began with another port.
            ValueError: over WebSocket, the port is not (or no longer) to be had.
        """
        if isinstance(self._transport, WebSocketTransport):
            if data_headers is not None:
                raise ValueError("only SPDY streams have headers")
            return self._connect_channels(self._transport, port, deadline_seconds)
        channel, request = 2 * self._next, str(self._next)
        self._next += 1
        headers = {"port": str(port), "requestid": request}
        self._transport.start_stream(
            channel + 1,
            {"streamtype": "error", **headers},
            fin=True,
        )
        self._transport.start_stream(
            channel, {"streamtype": "data", **headers} if data_headers is None else data_headers
        )
        try:
            self._transport.await_streams({channel + 1: "error", channel: "data"}, deadline_seconds)
        except StreamError:
            self._transport.reset_stream(channel + 1)
            self._transport.reset_stream(channel)
            raise
        return PortConnection(self._transport, port, channel, 0)

    def _connect_channels(
        self, transport: WebSocketTransport, port: int, seconds: float | None
    ) -> PortConnection:
        index = next((index for index, unused in self._unused if unused == port), None)
        if index is None:
            raise ValueError(
                f"over WebSocket each of the ports {self._ports} can be connected to once; {port} is not left"
            )
        self._unused.remove((index, port))
        seconds = transport.default_seconds if seconds is None else seconds
        until = time.monotonic() + seconds
        for channel in (2 * index, 2 * index + 1):
            awaited = f"the port at the beginning of channel {channel}"
            transport.await_(partial(_has_begun, transport, channel), awaited, seconds, until)
            begun = int.from_bytes(transport.ledger.received(channel)[:PORT_BYTES], "little")
            if begun != port:
                raise ProtocolViolation(f"channel {channel} begins with port {begun}, not {port}")
            transport.ledger.skip(channel, PORT_BYTES)
        return PortConnection(transport, port, 2 * index, PORT_BYTES)


def open_port_forward(
    url: str,
    ports: Sequence[int],
    *,
    protocol: Protocol = Protocol.SPDY,
    deadline_seconds: float,
    keep_bytes: int = RETAINED_BYTES,
) -> PortForward:
    """Open the session at the URL of a PortForward response. A URL is good for one session.

    Args:
        url: the URL of the response.
        ports: the ports of the request, in its order, which determines the channels over WebSocket.
        protocol: to upgrade to.
        deadline_seconds: for connecting and the upgrade together; later also for reading without a deadline
            of its own.
        keep_bytes: how many bytes of data to retain, over all connections; the rest is only counted.

    Raises:
        CannotConnect: nothing listens at the URL.
        UpgradeRefused: the server does not switch protocols.
        StreamTimeout: the session was not open in time.
        ProtocolViolation: the server violated the protocol while opening.
    """
    until = time.monotonic() + deadline_seconds
    ledger = Ledger(keep_bytes, lambda channel: channel % 2 == 1)
    wire = connect(url, until)
    try:
        transport: SpdyTransport | WebSocketTransport
        if protocol is Protocol.WEBSOCKET:
            transport = open_websocket(wire, url, (V4,), ledger, seconds=deadline_seconds, until=until)
        else:
            transport = open_spdy(
                wire, url, (SPDY_SUBPROTOCOL,), ledger, seconds=deadline_seconds, until=until
            )
    except BaseException:
        wire.close()
        raise
    transport.default_seconds = deadline_seconds
    return PortForward(transport, ports)


def _has_begun(transport: WebSocketTransport, channel: int) -> bool:
    """Whether the port at the beginning of a channel has arrived."""
    return transport.ledger.totals.get(channel, 0) >= PORT_BYTES
