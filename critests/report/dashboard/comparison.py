"""Two runtimes, or two versions of one, side by side: what one keeps and the other does not, divergences,
capabilities, operations.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from critests.report.dashboard.lines import Line, Promise
from critests.report.dashboard.series import amount, described
from critests.report.store import Index, Point
from critests.report.store.letters import DEVIATING, UNTESTED

KEPT: Final = "P"
PAIRS_LIMIT: Final = 40


@dataclass(frozen=True)
class Pair:
    """Two lines to compare.

    Attributes:
        left: One.
        right: The other.
    """

    left: Line
    right: Line

    @property
    def page(self) -> str:
        """Name of its page, without a folder."""
        return f"{self.left.slug}--{self.right.slug}"[:200]


@dataclass(frozen=True)
class Ratio:
    """An operation on both sides.

    Attributes:
        scenario: Id of its scenario.
        title: Operation and dimensions.
        left: Median with its interval, in words.
        right: The same of the other.
        ratio: Right as a multiple of left, or None.
        apart: Whether their intervals do not overlap.
        tone: `passed` where the right one is better, `failed` where it is worse, `untested` where nothing can
            be said.
    """

    scenario: str
    title: str
    left: str
    right: str
    ratio: float | None
    apart: bool
    tone: str


@dataclass(frozen=True)
class SideBySide:
    """What a comparison page shows.

    Attributes:
        pair: The lines.
        only_left: Requirements that only the left one keeps, with both letters.
        only_right: Requirements that only the right one keeps.
        otherwise: Requirements whose verdicts differ otherwise.
        same: Number of requirements with equal verdicts.
        forms: Aspects that both show in different forms: aspect, left form, right form.
        capabilities: Capabilities that differ: name, left, right; each True, False or None.
        operations: Operations that both measured, the largest difference first.
    """

    pair: Pair
    only_left: list[tuple[Promise, str, str]]
    only_right: list[tuple[Promise, str, str]]
    otherwise: list[tuple[Promise, str, str]]
    same: int
    forms: list[tuple[str, str, str]]
    capabilities: list[tuple[str, bool | None, bool | None]]
    operations: list[Ratio]


def pairs(lines: Sequence[Line], wished: Sequence[tuple[Line, Line]] = ()) -> list[Pair]:
    """Choose what is compared: what was wished, the newest versions of any two runtimes, and neighbouring
    versions of each.
    """
    newest: dict[str, Line] = {}
    for line in lines:
        newest.setdefault(line.runtime, line)
    chosen = [*wished, *itertools.combinations(newest.values(), 2)]
    chosen += [(old, new) for new, old in itertools.pairwise(lines) if new.runtime == old.runtime]
    return [Pair(left, right) for left, right in _distinct(chosen)][:PAIRS_LIMIT]


def side_by_side(index: Index, pair: Pair, promises: Sequence[Promise]) -> SideBySide:
    """Compare the newest verdicts, forms, capabilities and medians of two lines."""
    only_left, only_right, otherwise, same = [], [], [], 0
    for promise in promises:
        left, right = pair.left.states[promise.place].letter, pair.right.states[promise.place].letter
        if left == right:
            same += left != UNTESTED
        elif UNTESTED in {left, right}:
            continue
        elif left == KEPT and right in DEVIATING:
            only_left.append((promise, left, right))
        elif right == KEPT and left in DEVIATING:
            only_right.append((promise, left, right))
        else:
            otherwise.append((promise, left, right))
    left_facts, right_facts = _facts(index, pair.left), _facts(index, pair.right)
    return SideBySide(
        pair=pair,
        only_left=only_left,
        only_right=only_right,
        otherwise=otherwise,
        same=same,
        forms=_differing(left_facts["forms"], right_facts["forms"]),
        capabilities=_differing(left_facts["capabilities"], right_facts["capabilities"]),
        operations=_operations(index, pair),
    )


def _distinct(chosen: Sequence[tuple[Line, Line]]) -> list[tuple[Line, Line]]:
    seen: set[frozenset[str]] = set()
    kept = []
    for left, right in chosen:
        key = frozenset({left.slug, right.slug})
        if len(key) == 2 and key not in seen:
            seen.add(key)
            kept.append((left, right))
    return kept


def _facts(index: Index, line: Line) -> dict[str, dict[str, Any]]:
    """Join the facts of the newest runs: a small run knows less than the full one before it."""
    joined: dict[str, dict[str, Any]] = {"capabilities": {}, "forms": {}}
    for number in dict.fromkeys(entry.facts for entry in line.runs[:10]):
        facts = index.facts(number)
        for name, known in joined.items():
            joined[name] = facts[name] | known
    return joined


def _differing(left: dict[str, Any], right: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    return [
        (name, left[name], right[name])
        for name in sorted(left.keys() & right.keys())
        if left[name] != right[name]
    ]


def _operations(index: Index, pair: Pair) -> list[Ratio]:
    left, right = _newest_points(index, pair.left), _newest_points(index, pair.right)
    series = index.series()
    found = []
    for number in left.keys() & right.keys():
        each, ours, theirs = series[number], left[number], right[number]
        ratio = theirs.median / ours.median if ours.median else None
        apart = None not in {ours.low, ours.high, theirs.low, theirs.high} and (
            _above(ours, theirs) or _above(theirs, ours)
        )
        better = (theirs.median < ours.median) == (each.better == "lower")
        tone = "untested" if not apart or not each.better else "passed" if better else "failed"
        title = " · ".join(filter(None, [each.operation, described(each.dimensions)]))
        found.append(
            Ratio(each.scenario, title, _said(ours, each.unit), _said(theirs, each.unit), ratio, apart, tone)
        )
    return sorted(
        found, key=lambda each: (not each.apart, -abs((each.ratio or 1.0) - 1), each.scenario, each.title)
    )


def _newest_points(index: Index, line: Line) -> dict[int, Point]:
    """Return the newest point of each series among the newest runs."""
    newest: dict[int, Point] = {}
    runs = [entry.number for entry in line.benchmarks[:10]]
    for number, points in index.points(runs).items():
        newest[number] = next(points[run] for run in runs if run in points)
    return newest


def _above(one: Point, other: Point) -> bool:
    return one.low is not None and other.high is not None and one.low > other.high


def _said(point: Point, unit: str) -> str:
    interval = (
        f" ({amount(point.low, unit)} to {amount(point.high, unit)})"
        if point.low is not None and point.high is not None
        else ""
    )
    return amount(point.median, unit) + interval
