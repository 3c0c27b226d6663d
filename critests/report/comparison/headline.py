"""The first sentences of a comparison: which side is better at what, and by how much, with intervals."""

from collections.abc import Iterable
from typing import Final

from critests.record.samples import HIGHER, SECONDS
from critests.report.comparison.model import Operation, RunComparison, Speed
from critests.report.comparison.names import Names, names_of
from critests.report.comparison.wording import percent
from critests.report.wording.texts import plural
from critests.statistics.verdict import Verdict

NAMED: Final = 5
"""Operations that a sentence names; the others are in the table."""
_SIGNIFICANT: Final = frozenset({Verdict.FASTER.value, Verdict.SLOWER.value})
_TIMES: Final = 2.0
"""From this ratio on, a sentence gives the factor instead of percent."""
_TEN: Final = 10.0
_TENTH: Final = 0.1
"""From here on, factors and percentages are rounded to whole numbers."""


def headline(comparison: RunComparison) -> list[str]:
    """Return the sentences about speed, whole operations before their parts; none if nothing was measured.

    Operations that are faster under some dimensions and slower under others are named without numbers.
    """
    speed = comparison.speed
    if speed is None:
        return []
    if speed.refused:
        return [f"Speed is not compared: {speed.refused}."]
    if not speed.operations:
        return ["No operation was judged."]
    names = names_of(comparison.a, comparison.b)
    significance = comparison.settings.significance
    sentences = [
        *_significant(speed, names, significance),
        *_mixed(speed),
        *_inconclusive(speed, significance),
        *_failing(speed, names),
    ]
    # the name of a runtime at the start of a sentence is not capitalized
    by_name = (names.a, names.b)
    return [
        f"{each}." if each.startswith(by_name) else f"{each[:1].upper()}{each[1:]}." for each in sentences
    ]


def difference(operation: Operation, names: Names, significance: float) -> tuple[str, str]:
    """Return which side is better at an operation, and by how much: `takes 17 % less time for pod cycle
    (99.5 % CI 12 to 21 %)`.
    """
    value = operation.ratio or 1.0
    ends = (operation.low or value, operation.high or value)
    b_is_less = value < 1
    b_is_better = b_is_less != (operation.better == HIGHER)
    less = value if b_is_less else 1 / value
    bounds = sorted(ends if b_is_less else (1 / each for each in ends))
    interval = f"({percent(1 - significance)} CI {{}})"
    return (names.b if b_is_better else names.a), _by(operation, less, bounds, interval)


def _by(operation: Operation, less: float, bounds: list[float], interval: str) -> str:
    """Return how much better the better side is.

    Args:
        operation: The operation.
        less: The smaller value as a share of the larger one.
        bounds: The ends of its interval.
        interval: Format of the interval.
    """
    low, high = bounds
    if operation.better == HIGHER:
        words, ends = f"reaches {_share(1 / less - 1)} more in", _span(1 / high - 1, 1 / low - 1)
    elif operation.unit == SECONDS and 1 / less >= _TIMES:
        words, ends = f"is {_times(1 / less)} times as fast in", f"{_times(1 / high)} to {_times(1 / low)}"
    else:
        share, ends = _share(1 - less), _span(1 - high, 1 - low)
        words = f"takes {share} less time for" if operation.unit == SECONDS else f"is {share} lower in"
    return f"{words} {operation.name} {interval.format(ends)}"


def _span(low: float, high: float) -> str:
    digits = 0 if high >= _TENTH else 1
    return f"{max(low, 0) * 100:.{digits}f} to {high * 100:.{digits}f} %"


def _times(value: float) -> str:
    return f"{value:.1f}" if value < _TEN else f"{value:,.0f}"


def _share(value: float) -> str:
    return f"{value * 100:.{0 if value >= _TENTH else 1}f} %"


def _significant(speed: Speed, names: Names, significance: float) -> list[str]:
    chosen: dict[str, Operation] = {}
    directions = _directions(speed)
    for operation in speed.operations:
        name = operation.operation  # a call that several scenarios measured is named once
        if operation.verdict in _SIGNIFICANT and name not in chosen and len(directions[name]) == 1:
            chosen[name] = operation
    by_side: dict[str, list[str]] = {}
    for operation in list(chosen.values())[:NAMED]:
        better, words = difference(operation, names, significance)
        by_side.setdefault(better, []).append(words)
    left = len(chosen) - NAMED
    more = [f"{plural(left, 'more significant difference')}, see the table"] if left > 0 else []
    return [f"{name} {_listed(words)}" for name, words in by_side.items()] + more


def _mixed(speed: Speed) -> list[str]:
    both = [name for name, verdicts in _directions(speed).items() if len(verdicts) > 1]
    return [f"which side is faster depends on the dimensions: {_listed(both)}"] if both else []


def _inconclusive(speed: Speed, significance: float) -> list[str]:
    undecided = [each for each in speed.operations if each.verdict == Verdict.NO_EVIDENCE]
    small = [each.name for each in undecided if each.p <= significance]
    corrected = [each.name for each in undecided if each.p > significance and each.interval_excludes_1]
    alike = [each.name for each in undecided if each.p > significance and not each.interval_excludes_1]
    noisy = [each.name for each in speed.operations if each.verdict == Verdict.TOO_NOISY]
    sentences = (
        ("no significant difference in", alike),
        ("differences below the noise level:", small),
        ("not significant after correction:", corrected),
        ("too noisy to judge:", noisy),
    )
    return [f"{words} {_few(names)}" for words, names in sentences if names]


def _failing(speed: Speed, names: Names) -> list[str]:
    more = [each.name for each in speed.operations if each.errors_verdict == "more"]
    fewer = [each.name for each in speed.operations if each.errors_verdict == "fewer"]
    sentences = [f"calls fail more often on {names.b} in {_few(more)}"] if more else []
    sentences += [f"calls fail more often on {names.a} in {_few(fewer)}"] if fewer else []
    failed = any(operation.a.failed or operation.b.failed for operation in speed.operations)
    return sentences if failed else ["no call failed on either side"]


def _directions(speed: Speed) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for each in speed.operations:
        if each.verdict in _SIGNIFICANT:
            found.setdefault(each.operation, set()).add(each.verdict)
    return found


def _few(names: list[str]) -> str:
    shown = list(dict.fromkeys(names))
    more = [f"{len(shown) - NAMED} more"] if len(shown) > NAMED else []
    return _listed([*shown[:NAMED], *more])


def _listed(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
