"""Markdown as GitHub reads it, made of text that nobody vouches for, and bounded in bytes.

What a runtime or a container said stands in code spans: no HTML, no link, no `@mention` and no `#reference`
comes to life in one.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from critests.report.wording.texts import one_line

_PUNCTUATION: Final = re.compile(r"([\\`*_\[\]<>#|~@:&^$]|(?<=www)\.|^[-+=]|(?<=^\d)[.)])")
CUT: Final = "\n_There is more than fits here; the rest is in the run's record._\n"


def code(text: str, limit: int = 300) -> str:
    """Return untrusted text as a code span, also right within a table."""
    plain = one_line(text, limit).replace("|", "\\|")
    if not plain:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", plain)), default=0) + 1)
    gap = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{gap}{plain}{gap}{fence}"


def prose(text: str, limit: int = 300) -> str:
    """Return text as running words in which nothing is markup; an empty comment keeps mentions and references
    from forming.
    """
    escaped = _PUNCTUATION.sub(r"\\\1", one_line(text, limit))
    return (
        escaped.replace("\\@", "@<!-- -->")
        .replace("\\#", "#<!-- -->")
        .replace("\\<", "&lt;")
        .replace("\\&", "&amp;")
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, right: int = 0) -> list[str]:
    """Return the lines of a table whose cells are Markdown already.

    Args:
        head: Names of the columns.
        rows: Cells.
        right: How many columns from the second on hold numbers.
    """
    rule = ["---:" if 0 < index <= right else "---" for index in range(len(head))]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]


class Page:
    """Markdown that stops before a size: what comes first is kept."""

    def __init__(self, limit: int) -> None:
        """Begin an empty page of at most `limit` bytes."""
        self._left = limit - len(CUT.encode())
        self._lines: list[str] = []
        self._full = False

    def add(self, *lines: str) -> None:
        """Add lines that belong together (all of them or none), then nothing more once the page is full."""
        size = sum(len(line.encode()) + 1 for line in lines)
        if self._full or size > self._left:
            self._full = True
            return
        self._left -= size
        self._lines += lines

    def add_table(self, title: str, lines: Sequence[str], *, folded: bool = False) -> None:
        """Add a table under a title, as many of its rows as fit; none where there are no rows."""
        if len(lines) < 3 or self._full:
            return
        head = ["", f"<details><summary>{title}</summary>", ""] if folded else ["", f"#### {title}", ""]
        foot = ["", "</details>"] if folded else []
        room = self._left - sum(len(line.encode()) + 1 for line in head + foot)
        kept: list[str] = []
        for line in lines:
            room -= len(line.encode()) + 1
            if room < 0:
                break
            kept.append(line)
        if len(kept) >= 3:
            self.add(*head, *kept, *foot)
        if len(kept) < len(lines):
            self._full = True

    def text(self) -> str:
        """Return the page; where something was left out, its end says so."""
        return "\n".join(self._lines) + "\n" + (CUT if self._full else "")
