"""The HTTP/1.1 request that turns a connection into a streaming session."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from critests.client.streaming.streaming_errors import ProtocolViolation, StreamTimeout, UpgradeRefused, shown
from critests.client.streaming.wire import Wire

HEAD_BYTES = 64 * 1024
BODY_BYTES = 16 * 1024


@dataclass(frozen=True)
class UpgradeResponse:
    """The head of the server's answer."""

    status: int
    reason: str
    headers: Mapping[str, str]
    """Names in lower case; of a repeated header the values joined with commas."""


def upgrade(
    wire: Wire, url: str, *, method: str, headers: Sequence[tuple[str, str]], seconds: float, until: float
) -> UpgradeResponse:
    """Ask the server to switch protocols, and wait for its answer.

    Args:
        wire: the connection, of which nothing was used yet; bytes that come after the answer's head stay in
            it.
        url: the session's URL; path and query are sent as they are.
        method: GET or POST.
        headers: the request's headers beside Host, in order; a name may come more than once.
        seconds: the deadline as the caller named it, for messages.
        until: the monotonic time at which to give up.

    Raises:
        UpgradeRefused: any answer but 101.
        StreamTimeout: no complete answer in time.
        ProtocolViolation: what came is no HTTP answer.
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
    answer = _parse_head(head)
    if answer.status != 101:
        raise UpgradeRefused(
            answer.status, answer.reason, answer.headers, _read_body(wire, rest, answer.headers, until)
        )
    wire.push_back(rest)
    return answer


def _read_head(wire: Wire, seconds: float, until: float) -> tuple[bytes, bytes]:
    seen = b""
    while (end := seen.find(b"\r\n\r\n")) < 0:
        if len(seen) > HEAD_BYTES:
            raise ProtocolViolation(
                f"the answer to the upgrade has no end after {len(seen)} bytes: {shown(seen)}"
            )
        try:
            data = wire.turn(until)
        except ConnectionError as error:
            raise ProtocolViolation(f"the connection failed during the upgrade: {error}") from error
        if data is None or wire.broken:
            raise ProtocolViolation(
                f"the server closed the connection instead of answering the upgrade; it said {shown(seen)}"
            )
        seen += data
        if time.monotonic() >= until and b"\r\n\r\n" not in seen:
            raise StreamTimeout(
                "the answer to the upgrade request", shown(seen) if seen else "nothing yet", seconds
            )
    return seen[:end], seen[end + 4 :]


def _parse_head(head: bytes) -> UpgradeResponse:
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    code, _, reason = rest.partition(" ")
    if not version.startswith("HTTP/1.") or not (code.isascii() and code.isdecimal() and len(code) == 3):
        raise ProtocolViolation(f"the server does not answer in HTTP/1: {shown(head)}")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        key = name.strip().lower()
        headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
    return UpgradeResponse(int(code), reason, headers)


def _read_body(wire: Wire, body: bytes, headers: Mapping[str, str], until: float) -> bytes:
    """Read what there is of a refusal's body; that it is cut short changes nothing about the refusal."""
    length = headers.get("content-length", "")
    wanted = (
        min(int(length), BODY_BYTES)
        if length.isascii() and length.isdecimal() and len(length) < 12
        else BODY_BYTES
    )
    while len(body) < wanted and time.monotonic() < until:
        try:
            data = wire.turn(until)
        except ConnectionError:
            break
        if data is None:
            break
        body += data
        if headers.get("transfer-encoding") == "chunked" and body.endswith(b"0\r\n\r\n"):
            break
    return body[:wanted]
