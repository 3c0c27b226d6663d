"""Comparison of two sides of one operation, A and B, measured in interleaved blocks or in two separate runs.

Every comparison uses logarithms, so that its result is a ratio, B over A: 1.10 means that B takes 10 %
longer. `compare_blocks` and `compare_runs` test each operation individually; `verdicts` then corrects for the
number of operations.

- Blocks: the sides were measured close together, in random order within each block (randomised complete
  blocks). Where every block has enough samples for the quantile, its log ratio per block goes into Wilcoxon's
  signed-rank test; otherwise all samples above the common quantile are counted (`exceedance_shift`). Both are
  permutation tests within blocks, valid for autocorrelated samples and for a machine that drifts.
- Runs: neighbouring samples are put into batches until the quantiles of the batches look independent of each
  other (batch means, Law and Kelton), which then go into the Mann-Whitney test. The samples of one run each
  do not show the variance between two starts of the same runtime: `Criteria.smallest_effect` accounts for it.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from typing import TypeVar

import numpy as np

from critests.statistics.autocorrelation import batches, inefficiency
from critests.statistics.corrections import holm
from critests.statistics.quantiles import Interval, quantile, samples_needed, supports
from critests.statistics.shifts import MOST_PAIRS, Shift, exceedance_shift, paired_shift, unpaired_shift
from critests.statistics.verdict import Criteria, Verdict

_MEDIAN = 0.5
"""A block with a single sample has a median; other quantiles need enough samples for one beyond the
quantile.
"""
_MOST_BATCHES = 20
_FEWEST_BATCHES = 8
"""With 8 batches per side a difference among 30 operations can be significant; they need 32 independent
samples.
"""
_RESOLUTION = 0.5
"""Without a significant difference, an interval that reaches further than this share from its estimate is too
noisy.
"""
_RELEVANT = 5
"""An operation with its own noise threshold is too noisy only if a difference of this many times the
threshold could stay undetected.
"""
_TIMES = 4
"""A batch is this many autocorrelation times long; the correlation of neighbouring batches is then about
0.12.
"""
DEFAULT = Criteria()
K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Block:
    """The samples of both sides of one operation that were taken close together, in one unit, all above 0."""

    a: Sequence[float]
    b: Sequence[float]


@dataclass(frozen=True, slots=True)
class SampleEvidence:
    """The result of the test of one operation, before the correction for the number of operations."""

    ratio: float | None
    """The quantile of B over that of A; None if a side has no samples."""
    interval: Interval | None
    p_value: float
    """Two-sided and uncorrected; 1 without a test."""
    smallest_p: float
    """The smallest p-value that this number of blocks or batches can give."""
    method: str
    samples: tuple[int, int]
    units: int
    """Number of blocks, or of batches of the side with fewer, in the test."""
    obstacle: str = ""
    """Why there was no test, as a sentence without a full stop."""
    noise_threshold: float = 0.0
    """The noise threshold of this operation, as a share, if it is above that of the criteria."""
    differing: int | None = None
    """Number of blocks that the test counts: of a tail, those in which the sides differ; None for batches."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The verdict on one operation."""

    verdict: Verdict
    reason: str
    evidence: SampleEvidence
    corrected_p: float


def compare_blocks(blocks: Sequence[Block], criteria: Criteria = DEFAULT) -> SampleEvidence:
    """Test one operation that was measured in blocks with a random order of sides.

    Blocks in which a side has no samples (all its calls failed) are left out.

    Raises:
        ValueError: a sample is not a finite number above 0.
    """
    for block in blocks:
        _check(block.a)
        _check(block.b)
    usable = _merge([block for block in blocks if block.a and block.b])
    at = criteria.quantile
    counts = sum(len(block.a) for block in usable), sum(len(block.b) for block in usable)
    obstacle = _too_few(counts, at)
    if obstacle:
        return _untested(
            [value for block in usable for value in block.a],
            [value for block in usable for value in block.b],
            at,
            obstacle,
        )
    smallest = min(min(len(block.a), len(block.b)) for block in usable)
    confidence = criteria.interval_confidence
    if at == _MEDIAN or smallest * min(at, 1 - at) >= 1:
        shift = paired_shift(
            [math.log(quantile(block.b, at) / quantile(block.a, at)) for block in usable],
            confidence=confidence,
        )
        method = "signed-rank test of the log ratio per block"
    else:
        shift = exceedance_shift([(block.a, block.b) for block in usable], at, confidence=confidence)
        method = "sign-flip test of the exceedances per block"
    return _evidence(shift, method, counts, len(usable))


def compare_runs(a: Sequence[float], b: Sequence[float], criteria: Criteria = DEFAULT) -> SampleEvidence:
    """Test one operation that was measured in two separate runs; the samples are in the order in which they
    were taken.

    Raises:
        ValueError: a sample is not a finite number above 0.
    """
    _check(a)
    _check(b)
    at, counts = criteria.quantile, (len(a), len(b))
    obstacle = _too_few(counts, at)
    if obstacle:
        return _untested(a, b, at, obstacle)
    fewest = min(_batch_count(a, at), _batch_count(b, at))
    if fewest < _FEWEST_BATCHES:
        return _untested(
            a,
            b,
            at,
            f"a run has {fewest} batches of samples that are independent of each other, {_FEWEST_BATCHES} are"
            " needed",
        )
    sides = _batch_values(a, at), _batch_values(b, at)
    shift = unpaired_shift(sides[0], sides[1], confidence=criteria.interval_confidence)
    return _evidence(shift, "Mann-Whitney test of the log quantile per batch", counts, min(map(len, sides)))


def verdicts(evidence: Mapping[K, SampleEvidence], criteria: Criteria = DEFAULT) -> dict[K, Comparison]:
    """Return the verdicts of all operations of one comparison, corrected for their number."""
    tested = {name: item.p_value for name, item in evidence.items() if not item.obstacle}
    corrected = holm(tested)
    judged = {}
    for name, item in evidence.items():
        corrected_p = corrected.get(name, 1.0)
        verdict, reason = _verdict(item, corrected_p, len(tested), criteria)
        judged[name] = Comparison(verdict, reason, item, corrected_p)
    return judged


def _verdict(
    evidence: SampleEvidence, corrected_p: float, operations: int, criteria: Criteria
) -> tuple[Verdict, str]:
    if evidence.obstacle or evidence.ratio is None:
        return Verdict.TOO_FEW, evidence.obstacle
    threshold = max(criteria.smallest_effect, evidence.noise_threshold)
    effect, needed = abs(math.log(evidence.ratio)), math.log1p(threshold)
    if corrected_p <= criteria.significance:
        if effect < needed:
            return Verdict.NO_EVIDENCE, f"the difference is below the noise threshold of {threshold:.1%}"
        return (
            Verdict.SLOWER if evidence.ratio > 1 else Verdict.FASTER
        ), f"p = {corrected_p:.2g} after correction for {operations} operations"
    if evidence.smallest_p * operations > criteria.significance:
        return Verdict.TOO_FEW, _too_few_units(evidence, operations, criteria)
    too_noisy = _why_undetectable(evidence)
    if too_noisy:
        return Verdict.TOO_NOISY, too_noisy
    return Verdict.NO_EVIDENCE, f"p = {corrected_p:.2g} after correction for {operations} operations"


def blocks_needed(operations: int, significance: float) -> int:
    """Return the smallest number of blocks with which a difference among so many operations can be
    significant: all blocks agree with the probability 2 ** (1 - blocks) if the sides are equal.
    """
    return math.ceil(1 + math.log2(operations / significance))


def _too_few_units(evidence: SampleEvidence, operations: int, criteria: Criteria) -> str:
    """Return why these blocks or batches cannot prove a difference, and how many of each run could."""
    units, differing = evidence.units, evidence.differing
    cannot = f"cannot prove a difference among {operations} operations"
    if differing is None:
        limit = criteria.significance / operations
        needed = next(number for number in count(1) if 2 / math.comb(2 * number, number) <= limit)
        return f"{units} batches {cannot}, {needed} would"
    if not differing:
        return f"{units} blocks, none of which differ, {cannot}"
    needed = math.ceil(blocks_needed(operations, criteria.significance) * units / differing)
    some = "" if differing == units else f", {differing} of which differ,"
    return f"{units} blocks{some} {cannot}, {needed} would"


def _why_undetectable(evidence: SampleEvidence) -> str:
    """Return why a relevant difference could have stayed undetected; empty if it could not."""
    if evidence.interval is None or evidence.ratio is None:
        return "the samples do not bound the ratio on both sides"
    reach = max(evidence.interval.high / evidence.ratio, evidence.ratio / evidence.interval.low)
    detectable = max(_RESOLUTION, _RELEVANT * evidence.noise_threshold)
    return f"a difference of {detectable:.0%} could stay undetected" if reach > 1 + detectable else ""


def _evidence(shift: Shift, method: str, counts: tuple[int, int], units: int) -> SampleEvidence:
    bounds = shift.interval
    interval = Interval(math.exp(bounds.low), math.exp(bounds.high), bounds.confidence) if bounds else None
    return SampleEvidence(
        math.exp(shift.estimate),
        interval,
        shift.p_value,
        shift.smallest_p,
        method,
        counts,
        units,
        differing=shift.exchangeable,
    )


def _untested(a: Sequence[float], b: Sequence[float], at: float, obstacle: str) -> SampleEvidence:
    ratio = quantile(b, at) / quantile(a, at) if a and b else None
    return SampleEvidence(ratio, None, 1.0, 1.0, "none", (len(a), len(b)), 0, obstacle)


def _too_few(counts: tuple[int, int], at: float) -> str:
    fewest = min(counts)
    if not fewest:
        return "a side has no samples"
    if not supports(fewest, at):
        return f"{fewest} samples do not support this quantile, {samples_needed(at)} would"
    return ""


def _check(samples: Sequence[float]) -> None:
    values = np.asarray(samples)
    if not (np.isfinite(values) & (values > 0)).all():
        raise ValueError("a comparison of ratios needs finite samples above 0")


def _merge(blocks: list[Block]) -> list[Block]:
    """Join neighbouring blocks into at most MOST_PAIRS; exchanging the sides of joined blocks is still
    random.
    """
    if len(blocks) <= MOST_PAIRS:
        return blocks
    edges = [len(blocks) * number // MOST_PAIRS for number in range(MOST_PAIRS + 1)]
    groups = [blocks[first:last] for first, last in pairwise(edges)]
    return [
        Block(
            [value for block in group for value in block.a], [value for block in group for value in block.b]
        )
        for group in groups
    ]


def _batch_count(samples: Sequence[float], at: float) -> int:
    """Return the number of batches that are approximately independent and long enough for the quantile."""
    independent = len(samples) / (_TIMES * inefficiency(samples, at))
    return min(_MOST_BATCHES, int(independent), int(len(samples) * min(at, 1 - at)))


def _batch_values(samples: Sequence[float], at: float) -> list[float]:
    return [math.log(quantile(batch, at)) for batch in batches(samples, _batch_count(samples, at))]
