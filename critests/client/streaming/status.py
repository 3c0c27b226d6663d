"""The status that ends an exec or attach session.

Since `v4.channel.k8s.io` the error stream carries one `metav1.Status` of Kubernetes as JSON: `status` is
`Success` or `Failure`; an exit code other than 0 has the `reason` `NonZeroExitCode` and a cause with the
reason `ExitCode`, whose message is the number. Earlier sub-protocols write a text message on failure, and
nothing on success.
"""

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Status:
    """The result of a command, as the server reports it."""

    success: bool
    """Whether the server reported success."""
    exit_code: int | None
    """The exit code of the command: 0 on success, None if the server did not report one."""
    reason: str
    """The machine-readable reason, such as `NonZeroExitCode`; empty if none."""
    message: str
    """The message for users, or the text of an early sub-protocol."""
    raw: bytes
    """The bytes of the error stream."""
    problem: str = ""
    """Why `raw` is not a well-formed status, for a sub-protocol that requires one; else empty."""


def parse_status(raw: bytes, *, structured: bool) -> Status | None:
    """Parse the data of the error stream.

    Args:
        raw: all its data.
        structured: whether the sub-protocol requires JSON (v4 and later) instead of text.

    Returns:
        The status, or None without data. Ill-formed JSON results in a status with `problem` set.
    """
    if not raw:
        return None
    if not structured:
        return Status(success=False, exit_code=None, reason="", message=raw.decode(errors="replace"), raw=raw)
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        return _malformed(raw, f"not JSON: {error}")
    document = document if isinstance(document, dict) else {}
    verdict = document.get("status")
    reason, message = (
        text if isinstance(text := document.get(key, ""), str) else "" for key in ("reason", "message")
    )
    if verdict == "Success":
        return Status(success=True, exit_code=0, reason=reason, message=message, raw=raw)
    if verdict != "Failure":
        return _malformed(raw, f"its status is {verdict!r}, neither Success nor Failure")
    return Status(
        success=False, exit_code=_exit_code(document.get("details")), reason=reason, message=message, raw=raw
    )


def _malformed(raw: bytes, problem: str) -> Status:
    return Status(success=False, exit_code=None, reason="", message="", raw=raw, problem=problem[:500])


def _exit_code(details: Any) -> int | None:  # noqa: ANN401 -- it is whatever the server wrote as JSON
    causes = details.get("causes") if isinstance(details, dict) else None
    for cause in causes if isinstance(causes, list) else []:
        if isinstance(cause, dict) and cause.get("reason") == "ExitCode":
            text = str(cause.get("message", "")).strip()
            if text.lstrip("-").isdecimal() and len(text) <= 11:  # an int32 with its sign
                return int(text)
    return None
