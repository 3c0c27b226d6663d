"""Does a streaming server take WebSocket at all? Asked with the standard library's HTTP client, which the
sessions do not use.
"""

import base64
import http.client
import os
import ssl
from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True)
class WebSocketFinding:
    """What a probe found."""

    works: bool | None
    """Whether the server switched to WebSocket; None if it could not be asked."""
    evidence: str
    """What the server answered, in one sentence; it may quote the server's prose."""


def websocket_works(
    url: str, *, subprotocol: str = "v4.channel.k8s.io", deadline_seconds: float = 10.0
) -> WebSocketFinding:
    """Find out whether a streaming server upgrades to WebSocket.

    Args:
        url: a fresh URL of an Exec response for a command that does no harm; it is used up.
        subprotocol: what to offer.
        deadline_seconds: for each step of connecting and answering.
    """
    parts = urlsplit(url)
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
        "Sec-WebSocket-Protocol": subprotocol,
    }
    connection: http.client.HTTPConnection
    if parts.scheme in {"https", "wss"}:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(parts.netloc, timeout=deadline_seconds, context=context)
    else:
        connection = http.client.HTTPConnection(parts.netloc, timeout=deadline_seconds)
    try:
        connection.request("GET", parts.path + (f"?{parts.query}" if parts.query else ""), headers=headers)
        answer = connection.getresponse()
        chosen = answer.getheader("Sec-WebSocket-Protocol") or ""
        body = b"" if answer.status == 101 else answer.read(500)
    except (OSError, http.client.HTTPException) as error:
        return WebSocketFinding(None, f"the streaming server at {parts.netloc} could not be asked: {error}")
    finally:
        connection.close()
    if answer.status != 101:
        return WebSocketFinding(
            works=False,
            evidence=(
                f"{subprotocol} was refused with HTTP {answer.status}:"
                f" {body.decode(errors='replace').strip()}"
            ),
        )
    if chosen != subprotocol:
        return WebSocketFinding(
            works=False, evidence=f"{subprotocol} was offered, the server chose {chosen or 'none'}"
        )
    return WebSocketFinding(works=True, evidence=f"the server switched to WebSocket with {chosen}")
