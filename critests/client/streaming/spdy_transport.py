"""Channels over SPDY/3.1: one stream per channel, opened by the client and identified by its headers.

Streaming servers have no flow control: they ignore SETTINGS and WINDOW_UPDATE, and so does this client.
"""

import time
from collections.abc import Mapping, Sequence

from critests.client.streaming.ledger import Ledger
from critests.client.streaming.spdy_frames import (
    CANCEL,
    FLAG_FIN,
    REFUSED_STREAM,
    ControlFrame,
    ControlFrameType,
    DataFrame,
    HeaderReader,
    HeaderWriter,
    SpdyFrameReader,
    data_frame,
    goaway,
    ping,
    rst_stream,
    syn_stream,
)
from critests.client.streaming.streaming_errors import ProtocolViolation, StreamRefused
from critests.client.streaming.streams import EndedBy
from critests.client.streaming.transport import Transport
from critests.client.streaming.upgrade import upgrade
from critests.client.streaming.wire import Wire

VERSION_HEADER = "X-Stream-Protocol-Version"


class SpdyTransport(Transport):
    """A session over SPDY/3.1, after the upgrade.

    Attributes:
        awaited: the channels whose end is the end of the session; if empty, only the end of the connection
            is.
    """

    HALF_CLOSES = True

    def __init__(self, wire: Wire, subprotocol: str, ledger: Ledger) -> None:
        super().__init__(wire, subprotocol, ledger)
        self.awaited: frozenset[int] = frozenset()
        self._reader = SpdyFrameReader()
        self._their_headers = HeaderReader()
        self._our_headers = HeaderWriter()
        self._streams: dict[int, int] = {}
        self._channels: dict[int, int] = {}
        self._accepted: set[int] = set()
        self._next_stream = 1
        self._last_ping = -1
        self._pongs: set[int] = set()

    def start_stream(self, channel: int, headers: Mapping[str, str], *, fin: bool = False) -> None:
        """Queue the opening of a stream for a channel; `fin` half-closes it at once. See `await_streams`."""
        stream, self._next_stream = self._next_stream, self._next_stream + 2
        self._streams[channel], self._channels[stream] = stream, channel
        self._wire.queue += syn_stream(stream, self._our_headers.block(headers), fin=fin)

    def await_streams(
        self, channels: Mapping[int, str], seconds: float | None, until: float | None = None
    ) -> None:
        """Wait until the server has accepted streams.

        Args:
            channels: their channels, each with a name for messages.
            seconds: the deadline, if not `default_seconds`.
            until: the monotonic time of the deadline, if it began before now.

        Raises:
            StreamRefused: it reset one of them instead.
            StreamTimeout: it did not reply in time.
            SessionEnded: the session ended before.
        """

        def accepted() -> bool:
            for channel, name in channels.items():
                if channel not in self._accepted and channel in self.ledger.resets:
                    raise StreamRefused(name, self.ledger.resets[channel])
            return self._accepted.issuperset(channels)

        self.await_(
            accepted, f"the server to accept the streams {', '.join(channels.values())}", seconds, until
        )

    def reset_stream(self, channel: int) -> None:
        """Queue the end of a channel in both directions, and discard its data."""
        self._wire.queue += rst_stream(self._streams.pop(channel), CANCEL)
        self.ledger.forget(channel)

    def _feed(self, data: bytes) -> None:
        for frame in self._reader.feed(data):
            if isinstance(frame, DataFrame):
                self._take_data(frame)
            else:
                self._take_control(frame)
        if self.awaited and self.awaited <= self.ledger.finished:
            self.ledger.end(EndedBy.STREAMS_FINISHED)

    def _take_data(self, frame: DataFrame) -> None:
        channel = self._channels.get(frame.stream)
        if channel is None:
            raise ProtocolViolation(f"data on the stream {frame.stream}, which was never opened")
        if channel not in self._streams:
            return  # it was in transit when this side reset the stream
        if frame.data or not frame.fin:
            self.ledger.add(channel, frame.data)
        if frame.fin:
            self.ledger.finish(channel)

    def _take_control(self, frame: ControlFrame) -> None:
        if frame.kind == ControlFrameType.SYN_REPLY:
            channel = self._channels.get(frame.number())
            self._their_headers.headers(frame.body[4:])
            if channel is None:
                raise ProtocolViolation(f"a reply to the stream {frame.number()}, which was never opened")
            self._accepted.add(channel)
            if frame.flags & FLAG_FIN:
                self.ledger.finish(channel)
        elif frame.kind == ControlFrameType.RST_STREAM:
            channel = self._channels.get(frame.number())
            if channel in self._streams:
                self.ledger.reset(channel, frame.number(4))
        elif frame.kind == ControlFrameType.PING:
            self._take_ping(frame.number())
        elif frame.kind == ControlFrameType.SYN_STREAM:
            self._their_headers.headers(frame.body[10:])
            self._wire.queue += rst_stream(frame.number(), REFUSED_STREAM)
        elif frame.kind == ControlFrameType.HEADERS:
            self._their_headers.headers(frame.body[4:])

    def _take_ping(self, number: int) -> None:
        if number % 2:
            self._pongs.add(number)
        else:
            self._wire.queue += ping(number)

    def _encode(self, channel: int, data: bytes) -> bytes:
        return data_frame(self._stream(channel), data)

    def _stream(self, channel: int) -> int:
        if channel not in self._streams:
            raise ValueError(f"this session has no stream for channel {channel}")
        return self._streams[channel]

    def half_close(self, channel: int, seconds: float) -> None:
        """End the data on a channel in this direction."""
        self._send_control(data_frame(self._stream(channel), b"", fin=True), seconds)

    def ping(self, seconds: float) -> float:
        """Send a ping and return the seconds until its response."""
        began = time.monotonic()
        self._last_ping += 2
        self._send_control(ping(self._last_ping), seconds)
        self.await_(lambda: self._last_ping in self._pongs, "the response to a SPDY ping", seconds)
        return time.monotonic() - began

    def _closing_frames(self) -> bytes:
        return b"".join(rst_stream(stream, CANCEL) for stream in self._streams.values()) + goaway(0)


def open_spdy(
    wire: Wire,
    url: str,
    subprotocols: Sequence[str],
    ledger: Ledger,
    *,
    method: str = "POST",
    seconds: float,
    until: float,
) -> SpdyTransport:
    """Upgrade a connection to SPDY/3.1; no stream is opened yet.

    Args:
        wire: a new connection to the server.
        url: the session's URL.
        subprotocols: to offer, the preferred first; without any the header is not sent.
        ledger: stores what arrives.
        method: POST, as the kubelet does, or GET.
        seconds: the deadline of the caller, for messages.
        until: the monotonic time of the deadline.

    Raises:
        UpgradeRefused: the server does not switch protocols.
        ProtocolViolation: it switches, but not to SPDY/3.1, or with a sub-protocol that was not offered.
    """
    headers = [
        ("Connection", "Upgrade"),
        ("Upgrade", "SPDY/3.1"),
        *((VERSION_HEADER, name) for name in subprotocols),
    ]
    if method != "GET":
        headers.append(("Content-Length", "0"))
    response = upgrade(wire, url, method=method, headers=headers, seconds=seconds, until=until)
    if response.headers.get("upgrade", "").lower() != "spdy/3.1":
        raise ProtocolViolation(
            f"the server switched protocols, but not to SPDY/3.1: {dict(response.headers)}"
        )
    chosen = response.headers.get(VERSION_HEADER.lower(), "")
    if chosen and chosen not in subprotocols:
        raise ProtocolViolation(
            f"the server chose the sub-protocol {chosen!r}, which was not offered ({', '.join(subprotocols)})"
        )
    return SpdyTransport(wire, chosen, ledger)
