"""What a report prints about the samples of one operation: no percentile that their number cannot support."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from critests.statistics.autocorrelation import inefficiency
from critests.statistics.quantiles import (
    STANDARD_QUANTILES,
    Interval,
    interval_of_sorted,
    quantile_of_sorted,
    supports,
)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A quantile with what is known about it."""

    value: float
    interval: Interval | None
    """None where neighbouring samples depend on each other so much that the interval does not exist."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A series in numbers, in the unit of its samples."""

    count: int
    minimum: float
    maximum: float
    mean: float
    mad: float
    """The median absolute deviation from the median, not scaled."""
    quantiles: Mapping[float, Estimate]
    """Only those that the number of samples supports."""


def summarise(
    samples: Sequence[float], wanted: Sequence[float] = STANDARD_QUANTILES, *, confidence: float = 0.95
) -> Summary:
    """Summarise samples; in the order in which they were taken, as the intervals allow for dependence between
    neighbours.

    Raises:
        ValueError: there is no sample.
    """
    if not samples:
        msg = "a summary needs at least one sample"
        raise ValueError(msg)
    ordered = sorted(samples)
    middle = median(ordered)
    return Summary(
        count=len(ordered),
        minimum=ordered[0],
        maximum=ordered[-1],
        mean=fmean(ordered),
        mad=median(abs(value - middle) for value in ordered),
        quantiles={
            at: _estimate(samples, ordered, at, confidence)
            for at in wanted
            if supports(len(ordered), at, confidence=confidence)
        },
    )


def _estimate(samples: Sequence[float], ordered: Sequence[float], at: float, confidence: float) -> Estimate:
    worth = inefficiency(samples, at)
    return Estimate(
        quantile_of_sorted(ordered, at),
        interval_of_sorted(ordered, at, confidence=confidence, inefficiency=worth),
    )
