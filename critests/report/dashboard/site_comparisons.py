"""The pairs of runtimes, or versions of one, that the site compares, and the comparisons of their stored
runs.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from critests.record.record_errors import RecordUnreadable
from critests.report.comparison import NotComparable, RunComparison, compare_records, read_run
from critests.report.dashboard.lines import RuntimeLine
from critests.report.store import RunEntry

PAIRS_LIMIT: Final = 20


@dataclass(frozen=True)
class Pair:
    """Two lines to compare.

    Attributes:
        left: One.
        right: The other.
    """

    left: RuntimeLine
    right: RuntimeLine

    @property
    def page(self) -> str:
        """Name of its page, without a folder."""
        return f"{self.left.slug}--{self.right.slug}"[:200]


def pairs(lines: Sequence[RuntimeLine]) -> list[Pair]:
    """Return the pairs: the newest versions of any two runtimes, and successive versions of each runtime."""
    newest: dict[str, RuntimeLine] = {}
    for line in lines:
        newest.setdefault(line.runtime, line)
    chosen = [*itertools.combinations(newest.values(), 2)]
    chosen += [(old, new) for new, old in itertools.pairwise(lines) if new.runtime == old.runtime]
    return [Pair(*pair) for pair in chosen[:PAIRS_LIMIT]]


def compared(results: Path, pair: Pair) -> RunComparison | None:
    """Compare the runs that represent both lines, and their newest benchmarks; None if neither works."""
    left, right = pair.left, pair.right
    promises = _of(results, left.standing, right.standing)
    speed = _of(results, next(iter(left.benchmarks), None), next(iter(right.benchmarks), None))
    if promises is None or speed is None:
        return promises or speed
    notes = [*promises.notes, *(note for note in speed.notes if note not in promises.notes)]
    return dataclasses.replace(promises, speed=speed.speed, machines=speed.machines, notes=notes)


def _of(results: Path, left: RunEntry | None, right: RunEntry | None) -> RunComparison | None:
    if left is None or right is None:
        return None
    try:
        a, b = read_run(results / left.path), read_run(results / right.path)
        return compare_records(a.record, b.record, a.samples, b.samples)
    except (RecordUnreadable, NotComparable):
        return None  # a folder is missing or damaged, or the two have nothing in common
