"""Results of a benchmark run, computed from the samples that are stored with it."""

from dataclasses import dataclass, field
from typing import TypeAlias

from critests.record.identity import RuntimeIdentity

Key: TypeAlias = tuple[str, str, tuple[tuple[str, str], ...]]
"""Scenario, operation, and sorted dimensions."""


class KeyedByOperation:
    """Something about an operation of a scenario under one set of dimensions."""

    scenario: str
    operation: str
    dimensions: dict[str, str]

    @property
    def key(self) -> Key:
        """The same in all runs and sides."""
        return self.scenario, self.operation, tuple(sorted(self.dimensions.items()))


@dataclass(frozen=True, kw_only=True)
class QuantileEstimate:
    """A quantile with its confidence interval, in the unit of its operation.

    Attributes:
        value: The estimate.
        low: Lower end of its 95 % confidence interval, or None.
        high: Upper end, or None.
    """

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class OperationResult(KeyedByOperation):
    """One operation under one set of dimensions.

    Attributes:
        scenario: Id of the scenario, such as `B-06`.
        operation: What was timed: the name of an RPC, or a name of ours such as `pod cycle`.
        dimensions: What was held fixed, such as `{"containers": "100"}`.
        side: `a` or `b` in a live comparison, else empty.
        unit: Of all values: `s`, `1/s`, `B`, `B/s` or `1`.
        better: `lower`, `higher`, or empty if neither is.
        headline: Whether it is the main operation of its scenario.
        count: Number of steady samples that succeeded.
        warm_up: Number of samples left out at the start.
        steadiness: `steady`, `never steady`, or that there were too few samples.
        errors: gRPC status code to number of calls that ended with it.
        minimum: Smallest steady sample; None without samples, as for the next four.
        maximum: Largest.
        mean: Mean.
        mad: Median absolute deviation from the median.
        quantiles: `0.5`, `0.99` and so on to the estimate; only those that enough samples support.
        stopped: Why sampling ended, in words.
        client_seconds: The client's own cost per operation, measured against a server that does nothing; None
            if not applicable.
        client_bound: Whether that cost is above a third of the median.
        over_reference: The median as a multiple of the same step by the OCI runtime alone, or None.
        resources: What the operation cost the runtime, such as `daemon_cpu_seconds`, each per operation.
        late_share: Open loop: share of samples that began more than 10 ms after their intended start, else
            None.
        note: A sentence that the reader should see.
    """

    scenario: str
    operation: str
    dimensions: dict[str, str] = field(default_factory=dict)
    side: str = ""
    unit: str = "s"
    better: str = "lower"
    headline: bool = False
    count: int = 0
    warm_up: int = 0
    steadiness: str = ""
    errors: dict[str, int] = field(default_factory=dict)
    minimum: float | None = None
    maximum: float | None = None
    mean: float | None = None
    mad: float | None = None
    quantiles: dict[str, QuantileEstimate] = field(default_factory=dict)
    stopped: str = ""
    client_seconds: float | None = None
    client_bound: bool = False
    over_reference: float | None = None
    resources: dict[str, float] = field(default_factory=dict)
    late_share: float | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class NoiseProbe:
    """How steadily the machine did a fixed amount of work before the run.

    Attributes:
        name: `spin`, `fsync` or `fork`.
        median_seconds: Median of its duration.
        p99_seconds: 99th percentile, or the maximum of fewer than 100.
        count: How often it was done.
    """

    name: str
    median_seconds: float
    p99_seconds: float
    count: int


@dataclass(frozen=True, kw_only=True)
class BenchmarkFacts:
    """The conditions of a benchmark run.

    Attributes:
        profile: `smoke`, `standard` or `full`.
        seed: Of the random order of blocks.
        budget_seconds: The time that the user gave, or that the profile gives.
        sides: `a` and `b` to the runtime of each side of a live comparison; empty otherwise.
        client_seconds: RPC to the median that the client needs for it against a server that does nothing.
        reference_seconds: Step of the OCI runtime alone (`create`, `start`, `kill`, `delete`, `cycle`) to its
            median.
        noise: Noise of the machine before the run.
        steal_share: Share of processor time taken by other guests during the run, or None.
    """

    profile: str = ""
    seed: int = 0
    budget_seconds: float = 0.0
    sides: dict[str, RuntimeIdentity] = field(default_factory=dict)
    client_seconds: dict[str, float] = field(default_factory=dict)
    reference_seconds: dict[str, float] = field(default_factory=dict)
    noise: list[NoiseProbe] = field(default_factory=list)
    steal_share: float | None = None
