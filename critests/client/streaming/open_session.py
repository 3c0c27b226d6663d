"""What all open sessions have in common."""

from typing import Self

from critests.client.streaming.streams import EndedBy
from critests.client.streaming.transport import Transport

V4 = "v4.channel.k8s.io"
"""The WebSocket sub-protocol that all current servers support: the error stream of exec and attach carries
the status as JSON.
"""

CONTROL_SECONDS = 10.0
"""How long the server may take to accept a message without data."""

CLOSE_SECONDS = 2.0
"""How long closing a session waits for the server's closing frame."""


class OpenSession:
    """An open session; its `with` block closes it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._ledger = transport.ledger

    @property
    def subprotocol(self) -> str:
        """The server's choice, such as `v4.channel.k8s.io`; empty if it named none."""
        return self._transport.subprotocol

    @property
    def ended_by(self) -> EndedBy | None:
        """How the session ended, as far as it was read; None while it is open."""
        return self._ledger.ended_by

    def send_raw(self, channel: int, data: bytes) -> None:
        """Send bytes on any channel, allowed or not: for tests with protocol violations."""
        self._transport.send(channel, data, CONTROL_SECONDS)

    def ping(self, deadline_seconds: float = 10.0) -> float:
        """Send the protocol's own ping and return the seconds until its response."""
        return self._transport.ping(deadline_seconds)

    def await_end(self, deadline_seconds: float | None = None) -> EndedBy:
        """Read until the server ends the session, and return how it did; raises StreamTimeout.

        The default of this and of all other read deadlines is the deadline for opening the session.
        """
        self._transport.await_(
            lambda: self._ledger.ended_by is not None, "the end of the session", deadline_seconds
        )
        return self._ledger.ended_by or EndedBy.CLOSED_HERE

    def close(self, deadline_seconds: float = CLOSE_SECONDS) -> None:
        """End the session with the protocol's closing frames and close the connection; does nothing if it has
        ended.
        """
        self._transport.close(deadline_seconds)

    def abort(self) -> None:
        """Drop the TCP connection without closing frames, like a client that crashes."""
        self._transport.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
