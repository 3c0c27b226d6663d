"""The results of a comparison as data. Values are in the unit of their operation; ratios are B over A."""

from dataclasses import dataclass, field
from typing import Final

from critests.record.operations import KeyedByOperation
from critests.report.comparison.differences import Conformance, TestDifference
from critests.report.comparison.wording import operation_label
from critests.statistics.verdict import Criteria, Verdict

LIVE_NOISE: Final = 0.02
STORED_NOISE: Final = 0.05
"""The noise level between stored runs is higher, as two starts of one daemon differ by more than the samples
of one run show.
"""
NOISE_SECONDS: Final = 0.0001
"""Two processes of one daemon differ by tens of microseconds per call for their whole life, because of their
memory layout and the cores they run on. Blocks cannot average that out.
"""
NOT_JUDGED: Final = "not judged"
"""The verdict on an operation without a better direction."""


@dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """Settings of a comparison; the names of the fields are keys of its JSON form.

    Attributes:
        quantile: The quantile that is compared, 0.5 for the median.
        significance: Family-wise error rate: the accepted probability of any false alarm among all
            operations.
        noise_floor: Noise level, as a share: smaller differences are never called faster or slower; None for
            2 % live and 5 % between stored runs.
        time_floor: Noise level of durations, in seconds.
        unlike_machines: Compare the speed of stored runs even if their machines differ.
    """

    quantile: float = 0.5
    significance: float = 0.005
    noise_floor: float | None = None
    time_floor: float = NOISE_SECONDS
    unlike_machines: bool = False

    def statistics(self, quantile: float, *, live: bool, confidence: float | None = None) -> Criteria:
        """Return the criteria for one quantile.

        Args:
            quantile: The quantile.
            live: Whether the sides were measured in blocks.
            confidence: Confidence of the intervals; None for 1 - significance.

        Raises:
            ValueError: a value is out of its range.
        """
        noise = self.noise_floor if self.noise_floor is not None else (LIVE_NOISE if live else STORED_NOISE)
        return Criteria(quantile, self.significance, noise, confidence)


@dataclass(frozen=True, kw_only=True)
class SideFacts:
    """Facts about a side.

    Attributes:
        label: `A` or `B`.
        runtime: Name that the runtime reports.
        version: Version that the runtime reports.
        handlers: Runtime handlers that were used, unless only the default one.
        kind: `validation` or `benchmark`.
        run_id: Id of the run.
        started: Start of the run, seconds since the epoch.
        suite_version: Version of critests.
        partial: Scope of the run if it judged only a part of the suite, else empty.
        binary: Path of the daemon's binary, or empty.
        parts: Components of the runtime, such as its OCI runtime, as far as they are recorded.
        kernel: Release of the kernel.
        defaults: What a container gets that requests nothing, as in `RuntimeIdentity`.
        offers: What the runtime offers, as in `RuntimeIdentity`.
    """

    label: str
    runtime: str
    version: str
    handlers: list[str] = field(default_factory=list)
    kind: str = ""
    run_id: str = ""
    started: float = 0.0
    suite_version: str = ""
    partial: str = ""
    binary: str = ""
    parts: dict[str, str] = field(default_factory=dict)
    kernel: str = ""
    defaults: dict[str, str] = field(default_factory=dict)
    offers: dict[str, str] = field(default_factory=dict)

    @property
    def scope(self) -> str:
        """Scope of the run, in words."""
        return self.partial or "the whole suite"

    @property
    def name(self) -> str:
        """`containerd 2.1.9 (crun)`."""
        handlers = ", ".join(handler or "default" for handler in self.handlers)
        return f"{self.runtime or 'unknown runtime'} {self.version}".strip() + (
            f" ({handlers})" if any(self.handlers) else ""
        )


@dataclass(frozen=True, kw_only=True)
class MachineDifference:
    """A fact about the machines that differs, formatted for people."""

    name: str
    a: str
    b: str


@dataclass(frozen=True, kw_only=True)
class Machines:
    """Whether both sides ran on machines whose speed can be compared.

    Attributes:
        agree: All relevant facts are known and the same.
        differences: Those that are not.
    """

    agree: bool = True
    differences: list[MachineDifference] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class OperationSide:
    """The measurements of an operation on one side.

    Attributes:
        value: The quantile of the steady samples, or None without samples.
        low: Lower end of its 95 % confidence interval, or None.
        high: Upper end, or None.
        count: Number of steady samples.
        calls: Number of all calls, including the warm-up and failed calls.
        errors: gRPC status code to the number of calls that failed with it.
        client_bound: The client's own cost is a large part of the value.
        quantiles: `0.9` and so on to its value, for the quantiles that the steady samples support.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    count: int = 0
    calls: int = 0
    errors: dict[str, int] = field(default_factory=dict)
    client_bound: bool = False
    quantiles: dict[str, float] = field(default_factory=dict)

    @property
    def failed(self) -> int:
        """Number of calls that failed."""
        return sum(self.errors.values())

    @property
    def error_rate(self) -> float:
        """Share of calls that failed, 0 to 1."""
        return self.failed / self.calls if self.calls else 0.0


class LabelledOperation(KeyedByOperation):
    """An operation with a name."""

    @property
    def label(self) -> str:
        """Name with scenario and dimensions."""
        return operation_label(self.scenario, self.operation, self.dimensions)


@dataclass(frozen=True, kw_only=True)
class Operation(LabelledOperation):
    """One operation on both sides.

    Attributes:
        scenario: Id of the scenario, such as `B-06`.
        operation: What was timed.
        dimensions: Fixed dimensions.
        unit: `s`, `1/s`, `B`, `B/s` or `1`.
        better: `lower`, `higher` or empty.
        headline: It is the main operation of its scenario.
        quantile: The quantile that is compared.
        a: Side A.
        b: Side B.
        ratio: B over A, or None if a side has no samples.
        low: Lower end of the ratio's confidence interval (1 - significance), or None.
        high: Upper end, or None.
        p: p-value, corrected for the number of operations.
        verdict: `faster`, `slower`, `no evidence of a difference`, `too few samples`, `too noisy` or
            `not judged`.
        reason: Reason of the verdict.
        method: Statistical method.
        errors_p: Corrected p-value for equal error rates on both sides; 1 if no call failed.
        errors_verdict: `more` or `fewer` if B's calls fail significantly more or less often than A's, else
            empty.
    """

    scenario: str
    operation: str
    dimensions: dict[str, str] = field(default_factory=dict)
    unit: str = "s"
    better: str = "lower"
    headline: bool = False
    quantile: float = 0.5
    a: OperationSide
    b: OperationSide
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    p: float = 1.0
    verdict: str = Verdict.TOO_FEW.value
    reason: str = ""
    method: str = ""
    errors_p: float = 1.0
    errors_verdict: str = ""

    @property
    def name(self) -> str:
        """Name in a sentence: `ExecSync (output none)`."""
        return operation_label("", self.operation, self.dimensions)

    @property
    def interval_excludes_1(self) -> bool:
        """Whether there is an interval and it excludes equality."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high

    @property
    def whole(self) -> bool:
        """Whether it is a whole operation, such as a pod cycle, not one RPC of it: runtimes distribute the
        work differently over RPCs.
        """
        return self.operation[:1].islower()

    @property
    def worse(self) -> tuple[float, float, float] | None:
        """Factor by which B is worse, with its interval; below 1 if B is better, None if unknown."""
        if self.ratio is None or self.low is None or self.high is None or not self.better:
            return None
        if self.better == "higher":
            return 1 / self.ratio, 1 / self.high, 1 / self.low
        return self.ratio, self.low, self.high


@dataclass(frozen=True, kw_only=True)
class Unpaired(LabelledOperation):
    """An operation that was measured on one side only."""

    scenario: str
    operation: str
    dimensions: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Speed:
    """The compared operations.

    Attributes:
        operations: Operations of both sides, slower ones first.
        only_a: Operations of side A only.
        only_b: Operations of side B only.
        refused: Why speed is not compared, or empty.
        answers: The operations that answer `critests.record.comparison_questions`, judged by themselves:
            corrected for their own number only, with 95 % intervals.
    """

    operations: list[Operation] = field(default_factory=list)
    only_a: list[Unpaired] = field(default_factory=list)
    only_b: list[Unpaired] = field(default_factory=list)
    refused: str = ""
    answers: list[Operation] = field(default_factory=list)

    def counts(self) -> dict[str, int]:
        """Return the number of operations by verdict."""
        found: dict[str, int] = {}
        for operation in self.operations:
            found[operation.verdict] = found.get(operation.verdict, 0) + 1
        return found


@dataclass(frozen=True, kw_only=True)
class RunComparison:
    """The comparison of two runs, or of the two sides of one.

    Attributes:
        a: Facts about A.
        b: Facts about B.
        live: Both were measured in one run, in interleaved blocks.
        settings: Settings of the comparison.
        machines: Whether the machines agree.
        speed: Operations; None if neither side has any.
        conformance: Requirements; None if a side judged none.
        tests: Tests whose outcomes differ.
        notes: Notes, one sentence each.
    """

    a: SideFacts
    b: SideFacts
    live: bool
    settings: CompareSettings
    machines: Machines
    speed: Speed | None
    conformance: Conformance | None
    tests: list[TestDifference] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
