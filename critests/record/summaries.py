"""The numbers of a series, as the run record holds them."""

import dataclasses

from critests.record.operations import OperationResult, QuantileEstimate
from critests.record.samples import Series
from critests.statistics import summarise


def summarised(series: Series) -> OperationResult:
    """Return the numbers of a series: those of its steady samples that succeeded.

    A quantile that their number does not support is left out. What samples do not tell (why sampling stopped,
    the client's cost) is left at its default.
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
    found = summarise(values)
    quantiles = {
        f"{at:g}": QuantileEstimate(
            value=estimate.value,
            low=estimate.interval.low if estimate.interval else None,
            high=estimate.interval.high if estimate.interval else None,
        )
        for at, estimate in found.quantiles.items()
    }
    return dataclasses.replace(
        plain,
        count=found.count,
        minimum=found.minimum,
        maximum=found.maximum,
        mean=found.mean,
        mad=found.mad,
        quantiles=quantiles,
    )
