"""Bringing a notice to a webhook, or to the standard input of a command.

Addresses and tokens are secrets: no message of this module contains them.
"""

import http.client
import json
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from typing import IO, Any, Final

TIMEOUT_SECONDS: Final = 10.0
COMMAND_SECONDS: Final = 60.0


class NotDelivered(Exception):
    """A notice did not reach anybody; the message says why, without the address."""


def post(url: str, document: dict[str, Any], *, token: str = "", timeout: float = TIMEOUT_SECONDS) -> None:
    """Send a document to a webhook, once. A redirection is not followed: it would take the token elsewhere.

    Args:
        url: `https://…`, or `http://…`.
        document: What to send, as JSON.
        token: Sent as `Authorization: Bearer …`, where there is one.
        timeout: Seconds.

    Raises:
        NotDelivered: the address is none, nobody answered, or the answer is no success.
    """
    try:
        parts = urllib.parse.urlsplit(url)
        there = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        there = False
    if not there:
        msg = "the webhook's address must start with https:// or http:// and name a host"
        raise NotDelivered(msg)
    headers = {"Content-Type": "application/json", "User-Agent": "critests"} | (
        {"Authorization": f"Bearer {token}"} if token else {}
    )
    try:
        body = json.dumps(document).encode()
        # the scheme was checked
        request = urllib.request.Request(url, data=body, headers=headers, method="POST")  # noqa: S310 - see above
        with urllib.request.build_opener(_Straight).open(request, timeout=timeout):
            return
    except urllib.error.HTTPError as error:
        problem = f"answered {error.code}"
        error.close()
    except urllib.error.URLError as error:
        problem = f"cannot be reached ({type(error.reason).__name__})"
    except (OSError, http.client.HTTPException, ValueError) as error:
        problem = f"did not take it ({type(error).__name__})"
    msg = f"the webhook {problem}"
    raise NotDelivered(msg)


def hand_over(command: Sequence[str], document: dict[str, Any], *, timeout: float = COMMAND_SECONDS) -> None:
    """Give a document to a command on its standard input, as JSON.

    Raises:
        NotDelivered: it cannot be started, does not end in time, or ends with another code than 0.
    """
    if not command:
        msg = "the command of the notice is empty"
        raise NotDelivered(msg)
    try:
        ended = subprocess.run(
            list(command), input=json.dumps(document).encode(), timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        msg = f"the command of the notice did not end within {timeout:g} s"
        raise NotDelivered(msg) from None
    except (OSError, ValueError) as error:
        msg = f"the command of the notice cannot be started ({type(error).__name__})"
        raise NotDelivered(msg) from None
    if ended.returncode:
        msg = f"the command of the notice ended with {ended.returncode}"
        raise NotDelivered(msg)


class _Straight(urllib.request.HTTPRedirectHandler):
    """Follows no redirection."""

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> None:
        """Refuse."""
