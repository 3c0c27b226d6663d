"""Normalizes error messages for comparison."""

import re

_VARYING = re.compile(r"\"[^\"]*\"|'[^']*'|\b(?=\w*\d)[\w.:/@-]+")
"""Parts that vary between equal messages: names in quotes, ids, numbers, addresses."""


def without_what_varies(text: str) -> str:
    """Return a message with `…` for its varying parts."""
    return _VARYING.sub("…", text)
