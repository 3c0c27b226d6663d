"""Values of a test as a reader knows them: without Python's brackets, prefixes and constructors."""

import re
from typing import Final

NOTHING: Final = frozenset({"", "[]", "{}", "()", "''", "b''", "set()", "frozenset()", "Counter()", "None"})
_WORDS: Final = {"True": "true", "False": "false", "None": "nothing"}
_TOKEN: Final = re.compile(
    r"""
    (?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | \b(?:b|rb|br)(?=['"])
    | (?P<call>\b(?:\w*Path|Counter|OrderedDict|frozenset|set)\()
    | (?P<word>\b(?:True|False|None)\b)
    | (?P<open>\() | (?P<close>\))
    """,
    re.VERBOSE,
)
_WHOLE: Final = {"[": "]", "{": "}", "(": ")"}


def plain_value(text: str) -> str:
    """Return the text of a Python value in plain words: `true` for `True`, `nothing` for an empty one,
    `'a', 'b'` for a list, `'a'` for bytes and paths.

    Args:
        text: As `repr` shows the value; its middle may be cut out.
    """
    if text in NOTHING:
        return "nothing"
    plain = _without_constructors(text)
    inner = plain[1:-1]
    if _WHOLE.get(plain[:1]) == plain[-1:] and _closed(inner):
        plain = inner.removesuffix(",")
    return plain or "nothing"


def _without_constructors(text: str) -> str:
    """Return the text without calls such as `PosixPath('a')` and prefixes of bytes, outside of strings."""
    calls: list[bool] = []

    def plain(match: re.Match[str]) -> str:
        if match["quoted"]:
            return match[0]
        if match["call"] or match["open"]:
            calls.append(bool(match["call"]))
            return "" if match["call"] else "("
        if match["close"]:
            return "" if calls and calls.pop() else ")"
        return _WORDS.get(match["word"] or "", "")

    return _TOKEN.sub(plain, text)


def _closed(text: str) -> bool:
    """Whether no bracket in the text, outside of strings, closes one before it."""
    depth = 0
    for sign in _TOKEN.sub(lambda match: "" if match["quoted"] else match[0], text):
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 0:
            return False
    return True
