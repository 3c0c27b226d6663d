"""The HTTP/1.1 request that upgrades a connection to a streaming session."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from critests.client.streaming.streaming_errors import ProtocolViolation, StreamTimeout, UpgradeRefused, shown
from critests.client.streaming.wire import Wire

HEAD_BYTES = 64 * 1024
BODY_BYTES = 16 * 1024
"""The longest head of a response, and the longest body of a rejection, that is read."""


@dataclass(frozen=True)
class UpgradeResponse:
    """The head of the server's response."""

    status: int
    reason: str
    headers: Mapping[str, str]
    """Names in lower case; the values of a repeated header are joined with commas."""


def upgrade(
    wire: Wire, url: str, *, method: str, headers: Sequence[tuple[str, str]], seconds: float, until: float
) -> UpgradeResponse:
    """Ask the server to switch protocols, and wait for its response.

    Args:
        wire: an unused connection; bytes after the response's head stay in it.
        url: the session's URL; path and query are sent unchanged.
        method: GET or POST.
        headers: the request's headers without Host, in order; a name may occur more than once.
        seconds: the deadline of the caller, for messages.
        until: the monotonic time of the deadline.

    Raises:
        UpgradeRefused: any status but 101.
        StreamTimeout: no complete response in time.
        ProtocolViolation: the response is not HTTP.
    """
    parts = urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    lines = [
        f"{method} {target} HTTP/1.1",
        f"Host: {parts.netloc.rpartition('@')[2]}",
        *(f"{name}: {value}" for name, value in headers),
    ]
    wire.queue += ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
    head, rest = _read_head(wire, seconds, until)
    response = _parse_head(head)
    if response.status != 101:
        raise UpgradeRefused(
            response.status,
            response.reason,
            response.headers,
            _read_body(wire, rest, response.headers, until),
        )
    wire.push_back(rest)
    return response


def _read_head(wire: Wire, seconds: float, until: float) -> tuple[bytes, bytes]:
    received = b""
    while (end := received.find(b"\r\n\r\n")) < 0:
        if len(received) > HEAD_BYTES:
            raise ProtocolViolation(
                f"the response to the upgrade has no end after {len(received)} bytes: {shown(received)}"
            )
        try:
            data = wire.turn(until)
        except ConnectionError as error:
            raise ProtocolViolation(f"the connection failed during the upgrade: {error}") from error
        if data is None or wire.broken:
            raise ProtocolViolation(
                f"the server closed the connection during the upgrade; it sent {shown(received)}"
            )
        received += data
        if time.monotonic() >= until and b"\r\n\r\n" not in received:
            raise StreamTimeout(
                "the response to the upgrade request", shown(received) if received else "nothing yet", seconds
            )
    return received[:end], received[end + 4 :]


def _parse_head(head: bytes) -> UpgradeResponse:
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    code, _, reason = rest.partition(" ")
    if not version.startswith("HTTP/1.") or not (code.isascii() and code.isdecimal() and len(code) == 3):
        raise ProtocolViolation(f"the server's response is not HTTP/1: {shown(head)}")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        key = name.strip().lower()
        headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
    return UpgradeResponse(int(code), reason, headers)


def _read_body(wire: Wire, body: bytes, headers: Mapping[str, str], until: float) -> bytes:
    """Read the body of a rejection, as far as it arrives; an incomplete one is still a rejection."""
    length = headers.get("content-length", "")
    size = (
        min(int(length), BODY_BYTES)
        if length.isascii() and length.isdecimal() and len(length) < 12  # longer ones exceed the limit
        else BODY_BYTES
    )
    while len(body) < size and time.monotonic() < until:
        try:
            data = wire.turn(until)
        except ConnectionError:
            break
        if data is None:
            break
        body += data
        if headers.get("transfer-encoding") == "chunked" and body.endswith(b"0\r\n\r\n"):
            break
    return body[:size]
