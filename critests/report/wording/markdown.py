"""GitHub's Markdown, made of untrusted text and bounded in bytes.

Output of runtimes and containers goes into code spans, in which GitHub interprets no HTML, link, `@mention`
or `#reference`.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from critests.report.wording.texts import one_line

_PUNCTUATION: Final = re.compile(
    r"[\\`*\[\]<>#|~@&^$]"
    r"|(?<![^\W_])_|_(?![^\W_])"  # GitHub takes no underscore within a word for emphasis
    r"|:(?=//|[\w+-]+:)"  # before an address, and of `:emoji:`
    r"|(?<=www)\."
    r"|^[-+](?=\s|$)|^[-=](?=[-=\s]*$)"  # a list, a rule, an underline
)
_NUMBERED: Final = re.compile(r"^(\d{1,9})([.)])(?=\s|$)")
"""The beginning of a numbered list."""
CUT: Final = "\n_This text is cut off at GitHub's limit; the rest is in the run's record._\n"


def code(text: str, limit: int = 300) -> str:
    """Return untrusted text as a code span that is valid in a table too."""
    plain = one_line(text, limit).replace("|", "\\|")
    if not plain:
        return ""
    fence = "`" * (max((len(run) for run in re.findall("`+", plain)), default=0) + 1)
    gap = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{fence}{gap}{plain}{gap}{fence}"


def prose(text: str, limit: int = 300) -> str:
    """Return text as prose with all markup escaped; an empty comment breaks mentions and references."""
    escaped = _NUMBERED.sub(r"\1\\\2", _PUNCTUATION.sub(r"\\\g<0>", one_line(text, limit)))
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
        right: Number of numeric columns, counted from the second.
    """
    rule = ["---:" if 0 < index <= right else "---" for index in range(len(head))]
    return [f"| {' | '.join(cells)} |" for cells in (head, rule, *rows)]


class Page:
    """Markdown of a limited size: once it is full, everything that follows is dropped."""

    def __init__(self, limit: int) -> None:
        """Begin an empty page of at most `limit` bytes."""
        self._left = limit - len(CUT.encode())
        self._lines: list[str] = []
        self._full = False

    def add(self, *lines: str) -> None:
        """Add all of some lines or, if they do not fit, none; then the page is full."""
        size = sum(len(line.encode()) + 1 for line in lines)
        if self._full or size > self._left:
            self._full = True
            return
        self._left -= size
        self._lines += lines

    def add_table(self, title: str, lines: Sequence[str], *, folded: bool = False) -> None:
        """Add a table under a title, with as many rows as fit; a table without rows is not added."""
        if len(lines) < 3 or self._full:
            return
        head = ["", f"<details><summary>{title}</summary>", ""] if folded else ["", f"#### {title}", ""]
        foot = ["", "</details>"] if folded else []
        space = self._left - sum(len(line.encode()) + 1 for line in head + foot)
        fitting: list[str] = []
        for line in lines:
            space -= len(line.encode()) + 1
            if space < 0:
                break
            fitting.append(line)
        if len(fitting) >= 3:
            self.add(*head, *fitting, *foot)
        if len(fitting) < len(lines):
            self._full = True

    def text(self) -> str:
        """Return the page; its end says whether something was dropped."""
        return "\n".join(self._lines) + "\n" + (CUT if self._full else "")
