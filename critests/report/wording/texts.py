"""Hostile text made harmless, and small pieces of wording that several reports share."""

import datetime as dt
import re
from typing import Final

_ESCAPES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)


def visible(text: str, *, lines: bool = True) -> str:
    r"""Return the text with everything that a terminal or a browser would act upon shown instead of done.

    Terminal escape sequences are taken out; control characters, marks that change the direction of writing,
    and undecodable bytes are shown as `\x00` or `\u202e`; carriage returns become line ends.

    Args:
        text: Anything.
        lines: Keep line ends and tabs; otherwise all white space becomes single blanks.
    """
    plain = _INVISIBLE.sub(_shown, _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    return plain if lines else " ".join(plain.split())


def cut(text: str, limit: int, *, rest: str = "") -> str:
    """Return at most `limit` characters; what is left out is counted, and `rest` says where it is."""
    if len(text) <= limit:
        return text
    where = f", {rest}" if rest else ""
    return f"{text[:limit]}… [{len(text) - limit:,} more characters{where}]"


def one_line(text: str, limit: int = 300) -> str:
    """Return the text on one line, harmless, of bounded length."""
    return cut(visible(text[: limit * 8], lines=False), limit)


def duration(seconds: float) -> str:
    """Say how long something took: `0.35 s`, `12.1 s`, `3 min 20 s`, `1 h 5 min`."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def moment(epoch_seconds: float) -> str:
    """Say when something was, in UTC, `2026-11-20 10:42 UTC`."""
    return dt.datetime.fromtimestamp(epoch_seconds, dt.UTC).strftime("%Y-%m-%d %H:%M UTC")


def plural(number: int, noun: str) -> str:
    """Return `1 test`, `2 tests`, `1,200 tests`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that is no UTF-8, as Python's surrogateescape keeps it
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
