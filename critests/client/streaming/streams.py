"""The words of a streaming session: protocols, streams, frames and how a session ends."""

from enum import IntEnum, StrEnum, unique
from typing import NamedTuple


@unique
class Protocol(StrEnum):
    """What the HTTP connection of a session is upgraded to."""

    WEBSOCKET = "websocket"
    """RFC 6455, one message per piece of data, the first byte naming the channel."""
    SPDY = "spdy"
    """SPDY/3.1, one SPDY stream per channel."""


@unique
class StreamChannel(IntEnum):
    """The channels of exec and attach; the numbers are those of the WebSocket sub-protocols."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2
    ERROR = 3
    """Carries the status of the command, or prose in the sub-protocols before v4."""
    RESIZE = 4
    """Carries terminal sizes as JSON."""


NO_CHANNEL = -1
"""The channel under which a WebSocket message without even a channel byte is kept."""


@unique
class EndedBy(StrEnum):
    """How a session came to its end."""

    CLOSE_FRAME = "close frame"
    """The server sent a WebSocket close frame."""
    STREAMS_FINISHED = "streams finished"
    """The server finished each stream that it writes to (SPDY)."""
    END_OF_CONNECTION = "end of connection"
    """The server closed the TCP connection without saying more."""
    RESET = "connection reset"
    """The TCP connection was reset."""
    VIOLATION = "protocol violation"
    """The server sent what its protocol does not allow; reading stopped there."""
    CLOSED_HERE = "closed here"
    """`close` or `abort` was called before the server ended the session."""


class StreamData(NamedTuple):
    """One piece of data as it came from the server."""

    seconds: float
    """When it was read, on the monotonic clock (`time.monotonic`)."""
    channel: int
    """The channel number; for exec and attach a `StreamChannel`."""
    payload: bytes
    """The data without the channel byte; possibly empty."""


def channel_name(channel: int) -> str:
    """Return a word for a channel of exec or attach: the stream's name, or its number where it has none."""
    return next((stream.name.lower() for stream in StreamChannel if stream == channel), f"channel {channel}")
