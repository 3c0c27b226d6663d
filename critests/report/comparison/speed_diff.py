"""The operations of two sides: paired by scenario, operation and dimensions, compared and judged together."""

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING, Final

from critests import statistics
from critests.record.comparison_questions import QUESTIONS
from critests.record.operations import Key, OperationResult
from critests.record.samples import Series
from critests.record.summaries import estimate
from critests.record.units import SECONDS
from critests.report.comparison.model import (
    NOT_JUDGED,
    CompareSettings,
    Operation,
    OperationSide,
    Speed,
    Unpaired,
)
from critests.statistics.verdict import Criteria, Verdict

if TYPE_CHECKING:
    from critests.statistics.comparison import Comparison, SampleEvidence

_ORDER: Final = {
    Verdict.SLOWER.value: 0,
    Verdict.FASTER.value: 1,
    Verdict.TOO_FEW.value: 2,
    Verdict.TOO_NOISY.value: 3,
    Verdict.NO_EVIDENCE.value: 4,
    NOT_JUDGED: 5,
}
_CONFIDENCE: Final = 0.95
_SHAPE: Final = (0.05, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99)
"""Quantiles that show the distribution of a side's samples."""


@dataclass
class Measured:
    """The series of one operation on one side, and its result in the record."""

    series: list[Series] = field(default_factory=list)
    result: OperationResult | None = None

    @property
    def unit(self) -> str:
        """Unit of the values; empty without samples and result."""
        return self.series[0].unit if self.series else self.result.unit if self.result else ""

    def steady(self) -> list[float]:
        """Return the steady values of all series."""
        return [value for series in self.series for value in series.steady()]


def measured(
    operations: Iterable[OperationResult], samples: Iterable[Series], side: str = ""
) -> dict[Key, Measured]:
    """Return the measurements of a side by the key of their operation.

    Args:
        operations: Results of the record.
        samples: Series of the run.
        side: `a` or `b` for one side of a live comparison.
    """
    found: dict[Key, Measured] = {}
    for series in samples:
        if not side or series.side == side:
            found.setdefault(series.key, Measured()).series.append(series)
    for result in operations:
        if not side or result.side == side:
            found.setdefault(result.key, Measured()).result = result
    return found


def compare_speed(
    a: dict[Key, Measured],
    b: dict[Key, Measured],
    settings: CompareSettings,
    *,
    live: bool,
) -> Speed:
    """Compare all operations that both sides have, with one correction for multiple comparisons; and, with
    another one, those that answer a question.

    Args:
        a: Side A.
        b: Side B.
        settings: How to compare.
        live: The samples were taken in interleaved blocks.
    """
    asked = [question.key for question in QUESTIONS if question.key in a and question.key in b]
    answers = _compared(a, b, asked, settings, live=live, confidence=_CONFIDENCE)
    return Speed(
        operations=_ranked(_compared(a, b, [key for key in a if key in b], settings, live=live)),
        only_a=[_unpaired(key) for key in sorted(set(a) - set(b))],
        only_b=[_unpaired(key) for key in sorted(set(b) - set(a))],
        answers=answers,
    )


def _compared(
    a: dict[Key, Measured],
    b: dict[Key, Measured],
    pairs: Sequence[Key],
    settings: CompareSettings,
    *,
    live: bool,
    confidence: float | None = None,
) -> list[Operation]:
    criteria = settings.statistics(settings.quantile, live=live, confidence=confidence)
    evidence = {
        key: _with_time_noise(_evidence(a[key], b[key], criteria, live=live), a[key], b[key], settings)
        for key in pairs
    }
    comparisons = statistics.comparison.verdicts(
        {key: evidence[key] for key in pairs if _better(a[key], b[key])},
        criteria,
    )
    sides = {key: (side_of(a[key], settings.quantile), side_of(b[key], settings.quantile)) for key in pairs}
    error_p = statistics.corrections.holm(
        {
            key: statistics.corrections.fisher(left.failed, left.calls, right.failed, right.calls)
            for key, (left, right) in sides.items()
        }
    )
    operations = []
    for key in pairs:
        row = _operation(key, a[key], b[key], sides[key], evidence[key], comparisons.get(key))
        row = dataclasses.replace(row, quantile=settings.quantile, errors_p=error_p[key])
        if error_p[key] <= settings.significance:
            row = dataclasses.replace(
                row, errors_verdict="more" if row.b.error_rate > row.a.error_rate else "fewer"
            )
        operations.append(row)
    return operations


def _evidence(a: Measured, b: Measured, criteria: Criteria, *, live: bool) -> "SampleEvidence":
    left, right = a.steady(), b.steady()
    obstacle = ""
    if not left and not right and not a.series and not b.series:
        obstacle = "there are no samples next to the records"
    elif not left or not right:
        obstacle = f"the {'first' if not left else 'second'} side has no samples"
    elif not all(0 < value < math.inf for value in (*left, *right)):
        obstacle = "a ratio needs values above 0"
    blocks = _blocks(a), _blocks(b)
    shared = sorted(set(blocks[0]) & set(blocks[1]))
    if live and not obstacle and not shared:
        obstacle = "no block has both sides"
    weighing = statistics.comparison
    if obstacle:
        values = side_of(a, criteria.quantile).value, side_of(b, criteria.quantile).value
        rough = values[1] / values[0] if values[0] and values[1] else None
        return weighing.SampleEvidence(rough, None, 1.0, 1.0, "none", (len(left), len(right)), 0, obstacle)
    if not live:
        return weighing.compare_runs(left, right, criteria)
    return weighing.compare_blocks(
        [weighing.Block(blocks[0][block], blocks[1][block]) for block in shared], criteria
    )


def _with_time_noise(
    evidence: "SampleEvidence", a: Measured, b: Measured, settings: CompareSettings
) -> "SampleEvidence":
    """Convert the noise level in seconds to a share of the operation, if it is a duration."""
    values = a.steady(), b.steady()
    least = min(map(median, values)) if all(values) else 0.0
    if _unit(a, b) != SECONDS or least <= 0:  # an idle daemon may use no CPU time at all: no ratio then
        return evidence
    return dataclasses.replace(evidence, noise_threshold=settings.time_floor / least)


def _blocks(found: Measured) -> dict[int, list[float]]:
    blocks: dict[int, list[float]] = {}
    for series in found.series:
        for block, values in series.blocks().items():
            blocks.setdefault(block, []).extend(values)
    return blocks


def _operation(
    key: Key,
    a: Measured,
    b: Measured,
    sides: tuple[OperationSide, OperationSide],
    evidence: "SampleEvidence",
    judged: "Comparison | None",
) -> Operation:
    better = _better(a, b)
    verdict, reason, p = NOT_JUDGED, evidence.obstacle or "it has no better direction", 1.0
    if judged is not None:
        verdict, reason, p = judged.verdict.value, judged.reason, judged.corrected_p
        if better == "higher":
            verdict = {
                Verdict.SLOWER.value: Verdict.FASTER.value,
                Verdict.FASTER.value: Verdict.SLOWER.value,
            }.get(verdict, verdict)
    return Operation(
        scenario=key[0],
        operation=key[1],
        dimensions=dict(key[2]),
        unit=_unit(a, b),
        better=better,
        headline=any(found.result is not None and found.result.headline for found in (a, b)),
        a=sides[0],
        b=sides[1],
        ratio=evidence.ratio,
        low=evidence.interval.low if evidence.interval else None,
        high=evidence.interval.high if evidence.interval else None,
        p=p,
        verdict=verdict,
        reason=reason,
        method=evidence.method,
    )


def side_of(found: Measured, at: float, *, confidence: float = _CONFIDENCE) -> OperationSide:
    """Return a quantile of one side from its samples, or else from its record, whose confidence is 95 %."""
    result, stated = found.result, None
    bound = result is not None and result.client_bound
    if found.series:
        steady = found.steady()
        numbers = statistics.quantiles
        # a quantile that the samples do not support is not stated
        if steady and (at == 0.5 or numbers.supports(len(steady), at)):
            stated = estimate(steady, at, confidence=confidence)
        count, calls = len(steady), sum(len(series.value) for series in found.series)
        errors = Counter[str]()
        for series in found.series:
            errors.update(series.errors())
        quantiles = {
            f"{each:g}": numbers.quantile(steady, each)
            for each in _SHAPE
            if numbers.supports(len(steady), each)
        }
    elif result is not None:
        stated = result.quantiles.get(f"{at:g}")
        count, errors = result.count, Counter(result.errors)
        calls = count + result.warm_up + errors.total()
        quantiles = {name: each.value for name, each in result.quantiles.items()}
    else:
        return OperationSide()
    return OperationSide(
        value=stated.value if stated else None,
        low=stated.low if stated else None,
        high=stated.high if stated else None,
        count=count,
        calls=calls,
        errors=dict(errors),
        client_bound=bound,
        quantiles=quantiles,
    )


def _better(a: Measured, b: Measured) -> str:
    return _first(a, b).better


def _unit(a: Measured, b: Measured) -> str:
    return _first(a, b).unit


def _first(a: Measured, b: Measured) -> Series | OperationResult:
    for found in (a, b):
        if found.series:
            return found.series[0]
        if found.result is not None:
            return found.result
    msg = "an operation has neither samples nor a result"
    raise AssertionError(msg)


def _unpaired(key: Key) -> Unpaired:
    return Unpaired(scenario=key[0], operation=key[1], dimensions=dict(key[2]))


def _ranked(operations: Iterable[Operation]) -> list[Operation]:
    """Sort operations: those that fail more often first, then whole operations, then their parts, each by the
    size of the difference. A call counts as whole if it is the main operation of its scenario and part of
    none.
    """
    found = list(operations)
    composed = {each.scenario for each in found if each.whole}

    def rank(operation: Operation) -> tuple[bool, bool, int, bool, float, Key]:
        proven = operation.verdict in {Verdict.SLOWER, Verdict.FASTER}
        size = abs(math.log(operation.ratio)) if operation.ratio and proven else 0.0
        alone = operation.headline and operation.scenario not in composed
        return (
            operation.errors_verdict != "more",
            not (operation.whole or alone),
            0 if proven else _ORDER[operation.verdict],
            not operation.whole,
            -size,
            operation.key,
        )

    return sorted(found, key=rank)
