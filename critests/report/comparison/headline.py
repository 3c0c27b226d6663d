"""The first sentences of a comparison: which side is better at what, by how much, and how sure that is."""

from collections.abc import Iterable
from typing import Final

from critests.record.samples import HIGHER, SECONDS
from critests.report.comparison.model import Operation, RunComparison, Speed
from critests.report.comparison.names import Names, names_of
from critests.report.wording.texts import plural
from critests.statistics.verdict import Verdict

TOLD: Final = 5
"""Operations that a headline tells of; the others stand in the table."""
_PROVEN: Final = frozenset({Verdict.FASTER.value, Verdict.SLOWER.value})
_TIMES: Final = 2.0
"""From here on, how many times as fast says more than how many percent less time."""
_TEN: Final = 10.0
_TENTH: Final = 0.1
"""From here on, whole numbers and whole percents say enough."""


def headline(comparison: RunComparison) -> list[str]:
    """Return the sentences about speed, whole operations before their parts; none where nothing was measured.

    An operation that is faster under some dimensions and slower under others is said to be so, and by how
    much stands in the table.
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
    found = [
        *_proven(speed, names),
        *_mixed(speed),
        *_unproven(speed, significance),
        *_failing(speed, names),
    ]
    return [f"{each}." if not _ours(each, names) else f"{each[:1].upper()}{each[1:]}." for each in found]


def difference(operation: Operation, names: Names) -> tuple[str, str]:
    """Return which side is better at a proven operation, and by how much with the interval: `takes 17 %
    (12 to 21 %) less time for pod cycle`.
    """
    value = operation.ratio or 1.0
    ends = (operation.low or value, operation.high or value)
    b_is_less = value < 1
    b_is_better = b_is_less != (operation.better == HIGHER)
    less = value if b_is_less else 1 / value
    bounds = sorted(ends if b_is_less else (1 / each for each in ends))
    return (names.b if b_is_better else names.a), _by(operation, less, bounds)


def _by(operation: Operation, less: float, bounds: list[float]) -> str:
    """Say how much better the better side is.

    Args:
        operation: The operation.
        less: The smaller value as a share of the larger one.
        bounds: The ends of its interval.
    """
    what = operation.name
    low, high = bounds
    if operation.better == HIGHER:
        return f"does {_share(1 / less - 1)} ({_span(1 / high - 1, 1 / low - 1)}) more: {what}"
    if operation.unit == SECONDS and 1 / less >= _TIMES:
        return f"is {_times(1 / less)} times ({_times(1 / high)} to {_times(1 / low)}) as fast in {what}"
    verb = "takes {} ({}) less time for" if operation.unit == SECONDS else "has {} ({}) less of"
    return f"{verb.format(_share(1 - less), _span(1 - high, 1 - low))} {what}"


def _span(low: float, high: float) -> str:
    digits = 0 if high >= _TENTH else 1
    return f"{max(low, 0) * 100:.{digits}f} to {high * 100:.{digits}f} %"


def _times(value: float) -> str:
    return f"{value:.1f}" if value < _TEN else f"{value:,.0f}"


def _share(value: float) -> str:
    return f"{value * 100:.{0 if value >= _TENTH else 1}f} %"


def _proven(speed: Speed, names: Names) -> list[str]:
    chosen: list[Operation] = []
    told: set[str] = set()
    mixed = _directions(speed)
    for operation in speed.operations:
        name = operation.operation  # one call is told once, in however many scenarios it was measured
        if operation.verdict in _PROVEN and name not in told and len(mixed[name]) == 1:
            told.add(name)
            chosen.append(operation)
    by_side: dict[str, list[str]] = {}
    for operation in chosen[:TOLD]:
        better, words = difference(operation, names)
        by_side.setdefault(better, []).append(words)
    left = len(chosen) - TOLD
    more = [f"{plural(left, 'more difference')} {'is' if left == 1 else 'are'} proven"] if left > 0 else []
    return [f"{name} {_listed(words)}" for name, words in by_side.items()] + more


def _mixed(speed: Speed) -> list[str]:
    both = [name for name, verdicts in _directions(speed).items() if len(verdicts) > 1]
    return [f"which side is faster depends on the dimensions: {_listed(both)}"] if both else []


def _unproven(speed: Speed, significance: float) -> list[str]:
    unproven = [each for each in speed.operations if each.verdict == Verdict.NO_EVIDENCE]
    small = [each.name for each in unproven if each.p <= significance]
    seen = [each.name for each in unproven if each.p > significance and each.leaves_out_1]
    alike = [each.name for each in unproven if each.p > significance and not each.leaves_out_1]
    noisy = [each.name for each in speed.operations if each.verdict == Verdict.TOO_NOISY]
    sentences = (
        ("no difference is proven in", alike),
        ("differences below the noise floor:", small),
        ("not significant after correction:", seen),
        ("too noisy to tell:", noisy),
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
        if each.verdict in _PROVEN:
            found.setdefault(each.operation, set()).add(each.verdict)
    return found


def _ours(sentence: str, names: Names) -> bool:
    """Whether a sentence begins with a word of ours, not with a name, which is written as it is."""
    return not sentence.startswith((names.a, names.b))


def _few(names: list[str]) -> str:
    shown = list(dict.fromkeys(names))
    more = [f"{len(shown) - TOLD} more"] if len(shown) > TOLD else []
    return _listed([*shown[:TOLD], *more])


def _listed(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
