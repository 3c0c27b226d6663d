"""The name of an operation, and the one or two of its numbers that a short report shows."""

from dataclasses import dataclass

from critests.record.operations import OperationResult, QuantileEstimate
from critests.record.units import HIGHER, LOWER, SECONDS
from critests.report.wording.quantities import percentile, quantity


@dataclass(frozen=True)
class Estimate:
    """One number of an operation.

    Attributes:
        name: `p99`, or `mean` if the samples support no quantile.
        value: In the unit of the operation.
        low: Lower end of its 95 % confidence interval, or None.
        high: Upper end, or None.
    """

    name: str
    value: float
    low: float | None = None
    high: float | None = None

    def text(self, unit: str) -> str:
        """Return the estimate with its interval: `p99 12.3 ms (11.9 ms to 13.1 ms)`."""
        interval = (
            ""
            if self.low is None or self.high is None
            else f" ({quantity(self.low, unit)} to {quantity(self.high, unit)})"
        )
        return f"{self.name} {quantity(self.value, unit)}{interval}"


def label(operation: str, dimensions: dict[str, str]) -> str:
    """Return the name of an operation: `ListContainers containers=100`; dimensions are sorted by name."""
    return " ".join([operation, *(f"{name}={value}" for name, value in sorted(dimensions.items()))])


def row_name(operation: OperationResult) -> str:
    """Return a name that is unique in the run: `B-18 ListContainers containers=100`."""
    unit = "" if operation.unit == SECONDS else f" ({operation.unit})"
    side = f" [{operation.side}]" if operation.side else ""
    return f"{operation.scenario} {label(operation.operation, operation.dimensions)}{unit}{side}"


def quantiles(operation: OperationResult) -> list[tuple[float, QuantileEstimate]]:
    """Return the quantiles that the samples support, smallest first; skip names that are not numbers."""
    found = []
    for name, estimate in operation.quantiles.items():
        try:
            at = float(name)
        except ValueError:
            continue
        if 0 <= at <= 1:
            found.append((at, estimate))
    return sorted(found, key=lambda pair: pair[0])


def median(operation: OperationResult) -> Estimate | None:
    """Return the median, or the mean if the samples support no median."""
    return _at(operation, 0.5) or _mean(operation)


def tail(operation: OperationResult) -> Estimate | None:
    """Return the tail that the samples support: the highest quantile of a duration, the lowest of a rate,
    else the median or mean.
    """
    supported = [at for at, _ in quantiles(operation)]
    if operation.better == LOWER and supported:
        return _at(operation, supported[-1])
    if operation.better == HIGHER and supported:
        return _at(operation, supported[0])
    return median(operation)


def _at(operation: OperationResult, quantile: float) -> Estimate | None:
    for at, estimate in quantiles(operation):
        if at == quantile:
            return Estimate(percentile(str(at)), estimate.value, estimate.low, estimate.high)
    return None


def _mean(operation: OperationResult) -> Estimate | None:
    return None if operation.mean is None else Estimate("mean", operation.mean)
