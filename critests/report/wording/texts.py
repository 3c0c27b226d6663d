"""Escaping of hostile text, and texts that several reports share, such as durations and plurals."""

import datetime as dt
import re
from typing import Final

_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)


def visible(text: str, *, lines: bool = True) -> str:
    r"""Return the text without anything that a terminal or a browser would interpret.

    Terminal escape sequences are removed; control characters, bidirectional marks and undecodable bytes are
    shown as `\x00` or `\u202e`; carriage returns become line ends.

    Args:
        text: Any text.
        lines: Preserve line ends and tabs; otherwise all white space becomes single blanks.
    """
    plain = _INVISIBLE.sub(_shown, _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    return plain if lines else " ".join(plain.split())


def cut(text: str, limit: int, *, rest: str = "") -> str:
    """Return at most `limit` characters, then the number of the others; `rest` says where they are."""
    if len(text) <= limit:
        return text
    where = f", {rest}" if rest else ""
    return f"{text[:limit]}… [{len(text) - limit:,} more characters{where}]"


def one_line(text: str, limit: int = 300) -> str:
    """Return the text escaped, on one line, cut to `limit` characters."""
    return cut(visible(text[: limit * 8], lines=False), limit)


def duration(seconds: float) -> str:
    """Return a duration in words: `0.35 s`, `12.1 s`, `3 min 20 s`, `1 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def utc_time(epoch_seconds: float) -> str:
    """Return a point in time, `2026-11-20 10:42 UTC`."""
    return dt.datetime.fromtimestamp(epoch_seconds, dt.UTC).strftime("%Y-%m-%d %H:%M UTC")


def plural(number: int, noun: str) -> str:
    """Return `1 test`, `2 tests`, `1,200 tests`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is not UTF-8, as Python's surrogateescape represents it
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
