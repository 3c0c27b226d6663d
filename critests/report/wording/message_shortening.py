"""Messages of runtimes in a line of limited length: ids and what no reader needs go first, and the innermost
error, which is last in Go, stays whole.
"""

import re
from typing import Final

from critests.report.wording.texts import visible

_ID: Final = re.compile(r"\b(?:sha256:)?([0-9a-f]{12})[0-9a-f]{20,}\b")
_STATUS: Final = re.compile(r"rpc error: code = \w+ desc = ")
_MESSAGE: Final = re.compile(r"\b\w+ \{[^{}]*\}")
"""A nested message of protobuf's text format; the innermost ones first."""
_FOLDER: Final = re.compile(r"/(?:run|var/lib)/critests/[\w.-]+/(?:[\w.@-]+/)*")
"""A folder of a private runtime."""
_STEPS: Final = re.compile(r"(?<=: )|(?<=; )")
"""Where one error wraps another."""
_HEAD: Final = 0.4
"""Share of the line for its beginning, if the middle is cut out."""
CUT: Final = "… "


def shortened_message(text: str, limit: int) -> str:
    """Return a message on one line of at most `limit` characters, with at most one cut.

    Identifiers have 12 characters. If the rest is still too long, whole steps of the error are cut out of its
    middle.
    """
    plain = visible(text[: limit * 50], lines=False)
    plain = _FOLDER.sub("", _STATUS.sub("", _ID.sub(r"\1", plain)))
    if len(plain) > limit:
        plain = _without_messages(plain)
    return plain if len(plain) <= limit else _without_middle(plain, limit)


def _without_messages(text: str) -> str:
    """Remove nested messages, `metadata { name: "a" }`."""
    while (less := _MESSAGE.sub("", text)) != text:
        text = less
    return " ".join(text.split())


def _without_middle(text: str, limit: int) -> str:
    """Cut whole steps out of the middle, or characters if the last step alone is too long."""
    space = limit - len(CUT)
    steps = _STEPS.split(text)
    tail = ""
    while steps and len(steps[-1]) + len(tail) <= space * (1 - _HEAD):
        tail = steps.pop() + tail
    if not tail and steps and len(steps[-1]) <= space:
        tail = steps.pop()
    head = "".join(steps)[: space - len(tail)].rstrip()
    return f"{head}{CUT}{tail}".rstrip()
