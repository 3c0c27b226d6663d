"""The table of a comparison: the same questions in every comparison, with an answer for each side and which
side is better, by how much.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from critests.record.comparison_questions import QUESTIONS
from critests.record.units import HIGHER, SECONDS
from critests.report.comparison.differences import JudgedMusts
from critests.report.comparison.model import NOT_JUDGED, Operation, RunComparison, Speed
from critests.report.comparison.names import Names, names_of
from critests.report.comparison.wording import amount, percent
from critests.report.facts.explanations import promise_of_aspect
from critests.report.wording.texts import one_line, plural
from critests.statistics.verdict import Verdict

NOT_MEASURED: Final = "not measured"
NOT_COMPARED: Final = "not compared"
MEASUREMENTS: Final = "speed, memory and CPU time"
HEADLINE_ROWS: Final = 3
FEW: Final = 5
"""Lines of a list of broken MUSTs that is not folded."""
ALIKE: Final = 0.1
"""An interval within this share of equality decides that the sides are alike."""
ALIKE_SECONDS: Final = 0.0005
"""So does one within this difference of durations: two processes of one binary differ by a fifth of it."""
_TIMES: Final = 2.0
"""From this ratio on, a difference is a factor instead of percent."""
_TEN, _TENTH = 10.0, 0.1
"""From here on, factors and percentages are rounded to whole numbers."""
_PROVEN: Final = frozenset({Verdict.FASTER.value, Verdict.SLOWER.value})
MUSTS: Final = "MUSTs passed"
DEFAULTS: Final = "what a container gets that requests nothing"
OFFERS: Final = "what the runtime offers"


@dataclass(frozen=True, kw_only=True)
class BrokenMusts:
    """The MUSTs that one side breaks, or both do.

    Attributes:
        where: `fails on CRI-O 1.36 only`, `fails on both`.
        promises: Each aspect of level MUST and what it requires, one line.
    """

    where: str
    promises: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class AnswerRow:
    """One row.

    Attributes:
        question: What is asked.
        a: The answer of side A, with its unit.
        b: The answer of side B.
        better: `a` or `b` if that side is proven to be better, else empty.
        verdict: Which side is better and by how much with its 95 % interval, or why that is not known.
        broken: The MUSTs that are not passed.
        undecided: It was measured without a decision.
        below: It is a part of the row above.
    """

    question: str
    a: str = ""
    b: str = ""
    better: str = ""
    verdict: str = ""
    broken: tuple[BrokenMusts, ...] = ()
    undecided: bool = False
    below: bool = False


def answer_rows(comparison: RunComparison) -> list[AnswerRow]:
    """Return the rows, in the order of the questions."""
    names = names_of(comparison.a, comparison.b)
    rows = list(_speed_rows(comparison.speed or Speed(), names, comparison.settings.significance))
    rows.append(_musts(comparison.conformance.musts if comparison.conformance else JudgedMusts(), names))
    rows += _facts(DEFAULTS, comparison.a.defaults, comparison.b.defaults)
    rows += _facts(OFFERS, comparison.a.offers, comparison.b.offers)
    return rows


def shown_rows(rows: Sequence[AnswerRow]) -> list[AnswerRow]:
    """Return the rows as reports show them: one for all measurements if nothing was measured."""
    measurements, others = rows[: len(QUESTIONS)], rows[len(QUESTIONS) :]
    verdicts = {row.verdict for row in measurements}
    if len(verdicts) > 1 or not verdicts <= {NOT_MEASURED, NOT_COMPARED}:
        return list(rows)
    return [*others, AnswerRow(question=MEASUREMENTS, verdict=verdicts.pop())]


def heads(names: Names) -> tuple[str, str, str, str]:
    """Return the names of the columns."""
    return "question", names.a, names.b, "better, by (95 % CI)"


def headline(rows: Sequence[AnswerRow]) -> str:
    """Return the sentence with the first rows that have a proven difference."""
    proven = [row for row in rows if row.better]
    if not proven:
        return "No difference between the two sides is proven."
    shown = "; ".join(f"{row.question}: {row.verdict}" for row in proven[:HEADLINE_ROWS])
    left = len(proven) - HEADLINE_ROWS
    more = f"; {plural(left, 'more row')} with a proven difference" if left > 0 else ""
    return f"{shown[:1].upper()}{shown[1:]}{more}."


def _speed_rows(speed: Speed, names: Names, significance: float) -> Iterator[AnswerRow]:
    answers = {each.key: each for each in speed.answers}
    alone = {each.key: names.a for each in speed.only_a} | {each.key: names.b for each in speed.only_b}
    for question in QUESTIONS:
        found = answers.get(question.key)
        if found is None:
            only = alone.get(question.key)
            verdict = f"measured on {only} only" if only else NOT_COMPARED if speed.refused else NOT_MEASURED
            yield AnswerRow(question=question.title, verdict=verdict)
            continue
        row = AnswerRow(
            question=question.title, a=amount(found.a.value, found.unit), b=amount(found.b.value, found.unit)
        )
        yield _judged(row, found, names, significance)


def _judged(row: AnswerRow, found: Operation, names: Names, significance: float) -> AnswerRow:
    """Return the row of an operation with its verdict."""
    if found.verdict in _PROVEN:
        better = "b" if found.verdict == Verdict.FASTER else "a"
        verdict = f"{names.b if better == 'b' else names.a}, {advantage(found)}"
        return replace(row, better=better, verdict=verdict)
    if found.verdict == NOT_JUDGED:
        return replace(row, verdict=found.reason)
    if found.verdict == Verdict.TOO_FEW:
        why = f"too few samples: {found.reason}; a larger --budget would help"
        return replace(row, undecided=True, verdict=f"undecided, {why}")
    reach = max(found.high or 1.0, 1 / found.low if found.low else 1.0) - 1
    values = [side.value for side in (found.a, found.b) if side.value]
    allowed = max(ALIKE, ALIKE_SECONDS / min(values) if found.unit == SECONDS and values else 0.0)
    if found.p <= significance or (found.verdict == Verdict.NO_EVIDENCE and reach <= allowed):
        return replace(row, verdict=f"no difference above {percent(round(reach, 2) or 0.01)}")
    why = "not significant among all rows" if found.interval_excludes_1 else "too noisy"
    would_help = "a quieter machine or a larger --budget would help"
    verdict = f"undecided, {why}: {_range(found, names)}; {would_help}"
    return replace(row, undecided=True, verdict=verdict)


def _range(found: Operation, names: Names) -> str:
    low, high = ((end or 1.0) - 1 for end in (found.low, found.high))
    return f"{names.b} differs by {low * 100:+.0f} to {high * 100:+.0f} %"


def advantage(found: Operation) -> str:
    """Return by how much the better side is better, with the interval: `28 % less time (25 to 30 %)`,
    `6.5 times as fast (6.2 to 6.8)`, `50 % more (45 to 55 %)`.
    """
    value = found.ratio or 1.0
    ends = (found.low or value, found.high or value)
    less = min(value, 1 / value)
    low, high = sorted(ends if value < 1 else (1 / each for each in ends))
    if found.better == HIGHER:
        return f"{_share(1 / less - 1)} more ({_span(1 / high - 1, 1 / low - 1)})"
    if found.unit == SECONDS and 1 / less >= _TIMES:
        return f"{_times(1 / less)} times as fast ({_times(1 / high)} to {_times(1 / low)})"
    return f"{_share(1 - less)} less{' time' if found.unit == SECONDS else ''} ({_span(1 - high, 1 - low)})"


def _musts(musts: JudgedMusts, names: Names) -> AnswerRow:
    if not musts.judged:
        return AnswerRow(question=MUSTS, verdict="not judged on both sides")
    of = f" of {musts.total}" if musts.total else ""
    a, b = len(musts.broken_a), len(musts.broken_b)
    better = "a" if a < b else "b" if b < a else ""
    name = names.a if better == "a" else names.b
    groups = (
        (f"fails on {names.a} only", [each for each in musts.broken_a if each not in musts.broken_b]),
        (f"fails on {names.b} only", [each for each in musts.broken_b if each not in musts.broken_a]),
        ("fails on both", [each for each in musts.broken_a if each in musts.broken_b]),
    )
    return AnswerRow(
        question=f"{MUSTS}, of the {musts.judged}{of} judged on both",
        a=str(musts.judged - a),
        b=str(musts.judged - b),
        better=better,
        verdict=f"{name}, {abs(a - b)} more" if better else "no difference",
        broken=tuple(
            BrokenMusts(where=where, promises=tuple((each, promise_of_aspect(each)) for each in aspects))
            for where, aspects in groups
            if aspects
        ),
    )


def _facts(title: str, a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[AnswerRow]:
    """Return a row for each fact that differs."""
    if not a or not b:
        yield AnswerRow(question=title, verdict=NOT_MEASURED)
        return
    differing = [name for name in {**a, **b} if a.get(name) != b.get(name)]
    verdict = f"{plural(len(differing), 'difference')}, below" if differing else "no differences"
    yield AnswerRow(question=title, verdict=verdict)
    for name in differing:
        yield AnswerRow(question=name, a=_fact(a, name), b=_fact(b, name), below=True)


def _fact(side: Mapping[str, str], name: str) -> str:
    return one_line(side.get(name, "") or "none", 200)


def _span(low: float, high: float) -> str:
    digits = 0 if high >= _TENTH else 1
    return f"{max(low, 0) * 100:.{digits}f} to {high * 100:.{digits}f} %"


def _times(value: float) -> str:
    return f"{value:.1f}" if value < _TEN else f"{value:,.0f}"


def _share(value: float) -> str:
    return f"{value * 100:.{0 if value >= _TENTH else 1}f} %"
