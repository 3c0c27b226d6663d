"""The errors of streaming sessions."""

from collections.abc import Mapping

SHOWN_BYTES = 300
"""How much of a server's response an error message contains."""


def shown(data: bytes) -> str:
    """Return the last bytes of `data` in a form that is safe to print."""
    return repr(data) if len(data) <= SHOWN_BYTES else f"…{data[-SHOWN_BYTES:]!r}"


class StreamError(Exception):
    """Base of all errors of streaming sessions."""


class CannotConnect(StreamError):
    """The address of the session's URL could not be reached, or the TLS handshake failed."""


class UpgradeRefused(StreamError):
    """The streaming server did not switch protocols.

    Attributes:
        status: the HTTP status.
        reason: the reason phrase of the status line.
        headers: the response's headers, names in lower case.
        body: the beginning of the response's body.
    """

    def __init__(self, status: int, reason: str, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(
            f"the streaming server did not switch protocols but returned HTTP {status} {reason}:"
            f" {shown(body.strip())}"
        )
        self.status = status
        self.reason = reason
        self.headers = dict(headers)
        self.body = body


class ProtocolViolation(StreamError):
    """The server violated the protocol."""


class StreamTimeout(StreamError):
    """A deadline passed.

    Attributes:
        awaited: what was waited for.
        last_seen: what had arrived by then.
        seconds: the deadline, in seconds.
    """

    def __init__(self, awaited: str, last_seen: str, seconds: float) -> None:
        super().__init__(f"waited {seconds:g} s for {awaited}; last seen: {last_seen}")
        self.awaited = awaited
        self.last_seen = last_seen
        self.seconds = seconds


class SessionEnded(StreamError):
    """The session (or the stream in question) ended while more was awaited.

    Attributes:
        awaited: what was waited for.
        last_seen: what had arrived by then, and how the session ended.
    """

    def __init__(self, awaited: str, last_seen: str) -> None:
        super().__init__(f"the session ended while waiting for {awaited}; last seen: {last_seen}")
        self.awaited = awaited
        self.last_seen = last_seen


class StreamRefused(StreamError):
    """The server reset a SPDY stream instead of accepting it.

    Attributes:
        status: the status code of its RST_STREAM frame.
    """

    def __init__(self, name: str, status: int) -> None:
        super().__init__(f"the server refused the {name} stream with status {status}")
        self.status = status


class HalfCloseUnsupported(StreamError):
    """The session's sub-protocol cannot end one direction only."""


class OutputTooLarge(StreamError):
    """More arrived than the session retains, so that the awaited output cannot be found."""
