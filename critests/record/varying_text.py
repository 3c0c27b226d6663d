"""What is the same in two answers that say the same."""

import re

_VARYING = re.compile(r"\"[^\"]*\"|'[^']*'|\b(?=\w*\d)[\w.:/@-]+")
"""What differs between them: names in quotes, ids, numbers, addresses."""


def without_what_varies(text: str) -> str:
    """Return an answer with `…` for what another one that says the same would have otherwise."""
    return _VARYING.sub("…", text)
