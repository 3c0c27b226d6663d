"""What the two sides are called in what people read: `containerd 2.1` and `CRI-O 1.36`, not A and B."""

import re
from dataclasses import dataclass
from typing import Final

from critests.kinds.table import KINDS
from critests.report.comparison.model import Group, SideFacts
from critests.report.wording.texts import one_line

LONGEST: Final = 48
_TITLES: Final = {kind.title.lower(): kind.title for kind in KINDS}


@dataclass(frozen=True)
class Names:
    """The names of both sides, which are never the same."""

    a: str
    b: str

    def group(self, group: Group) -> str:
        """Return how two verdicts differ, with the names."""
        texts = {
            Group.ONLY_A_KEEPS: f"{self.a} keeps, {self.b} breaks",
            Group.ONLY_B_KEEPS: f"{self.b} keeps, {self.a} breaks",
            Group.ONLY_A_OFFERS: f"{self.a} keeps, {self.b} does not offer it",
            Group.ONLY_B_OFFERS: f"{self.b} keeps, {self.a} does not offer it",
            Group.NOT_ON_A: f"not judged on {self.a}",
            Group.NOT_ON_B: f"not judged on {self.b}",
        }
        return texts.get(group, group.value)


def names_of(a: SideFacts, b: SideFacts) -> Names:
    """Return the shortest names that tell two sides apart: runtime, version, handler, or which is which."""
    for named in (_short, _whole, _with_handler):
        left, right = named(a), named(b)
        if left != right:
            return Names(left, right)
    name = _short(a)
    return Names(f"{name}, first", f"{name}, second")


def _title(side: SideFacts) -> str:
    return one_line(_TITLES.get(side.runtime.lower(), side.runtime) or "unknown runtime", LONGEST)


def _short(side: SideFacts) -> str:
    version = re.match(r"v?(\d+\.\d+)", side.version)
    return f"{_title(side)} {version[1]}" if version else _whole(side)


def _whole(side: SideFacts) -> str:
    return f"{_title(side)} {one_line(side.version, LONGEST)}".strip()


def _with_handler(side: SideFacts) -> str:
    handlers = ", ".join(one_line(handler, LONGEST) or "default" for handler in side.handlers)
    return f"{_short(side)} ({handlers})" if any(side.handlers) else _short(side)
