"""Basic types of streaming sessions: protocols, streams, frames and how a session ends."""

from enum import IntEnum, StrEnum, unique
from typing import NamedTuple


@unique
class Protocol(StrEnum):
    """The protocol to which the HTTP connection of a session is upgraded."""

    WEBSOCKET = "websocket"
    """RFC 6455, one message per piece of data; its first byte names the channel."""
    SPDY = "spdy"
    """SPDY/3.1, one SPDY stream per channel."""


@unique
class StreamChannel(IntEnum):
    """The channels of exec and attach, with the numbers of the WebSocket sub-protocols."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2
    ERROR = 3
    """Carries the status of the command, or a text message in the sub-protocols before v4."""
    RESIZE = 4
    """Carries terminal sizes as JSON."""


NO_CHANNEL = -1
"""The channel of a WebSocket message without a channel byte."""


@unique
class EndedBy(StrEnum):
    """How a session ended."""

    CLOSE_FRAME = "close frame"
    """The server sent a WebSocket close frame."""
    STREAMS_FINISHED = "streams finished"
    """The server half-closed each stream that it writes to (SPDY)."""
    END_OF_CONNECTION = "end of connection"
    """The server closed the TCP connection without a closing frame."""
    RESET = "connection reset"
    """The TCP connection was reset."""
    VIOLATION = "protocol violation"
    """The server violated its protocol; reading stopped there."""
    CLOSED_HERE = "closed here"
    """`close` or `abort` was called before the server ended the session."""


class StreamData(NamedTuple):
    """One piece of data from the server."""

    seconds: float
    """When it was read, on the monotonic clock (`time.monotonic`)."""
    channel: int
    """The channel number; for exec and attach a `StreamChannel`."""
    payload: bytes
    """The data without the channel byte; possibly empty."""


def channel_name(channel: int) -> str:
    """Return the name of a channel of exec or attach, or its number if it has no name."""
    return next((stream.name.lower() for stream in StreamChannel if stream == channel), f"channel {channel}")
