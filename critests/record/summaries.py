"""Summaries of series for the run record."""

import dataclasses
from statistics import fmean, median
from typing import Final

from critests import statistics
from critests.record.operations import OperationResult, QuantileEstimate
from critests.record.samples import Series

QUANTILES: Final = (0.1, 0.5, 0.9, 0.95, 0.99, 0.999)


def summarised(series: Series) -> OperationResult:
    """Return the summary of a series: of its successful samples after the warm-up.

    Quantiles without enough samples are left out. Fields that do not follow from samples (why sampling
    stopped, the client's cost) keep their default.
    """
    values = series.steady()
    plain = OperationResult(
        scenario=series.scenario,
        operation=series.operation,
        dimensions=dict(series.dimensions),
        side=series.side,
        unit=series.unit,
        better=series.better,
        warm_up=series.warm_up,
        errors=series.errors(),
    )
    if not values:
        return plain
    middle = median(values)
    return dataclasses.replace(
        plain,
        count=len(values),
        minimum=min(values),
        maximum=max(values),
        mean=fmean(values),
        mad=median(abs(value - middle) for value in values),
        quantiles={
            f"{at:g}": estimate(values, at)
            for at in QUANTILES
            if statistics.quantiles.supports(len(values), at)
        },
    )


def estimate(values: list[float], at: float, *, confidence: float = 0.95) -> QuantileEstimate:
    """Return a quantile of values in the order of measurement, with its confidence interval, which allows for
    autocorrelation; there is none if the autocorrelation is too high.
    """
    worth = statistics.autocorrelation.inefficiency(values, at)
    bounds = statistics.quantiles.quantile_interval(values, at, confidence=confidence, inefficiency=worth)
    return QuantileEstimate(
        value=statistics.quantiles.quantile(values, at),
        low=bounds.low if bounds else None,
        high=bounds.high if bounds else None,
    )
