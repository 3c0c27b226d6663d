"""What a comparison says, as data. Values are in the unit of their operation; ratios are B over A."""

from dataclasses import dataclass, field
from typing import Final

from critests.report.comparison.differences import Conformance, TestDifference
from critests.report.comparison.wording import operation_label
from critests.statistics.verdict import Criteria, Verdict

LIVE_FLOOR: Final = 0.02
STORED_FLOOR: Final = 0.05
"""Two starts of one daemon differ by more than the samples of one run show, so the noise floor is wider
between runs.
"""
TIME_FLOOR: Final = 0.0001
"""Seconds. Two processes of one daemon differ by some ten microseconds a call for as long as they live: where
their memory lies, which core they run on. Blocks cannot average that out."""
NOT_JUDGED: Final = "not judged"
"""The verdict on an operation of which neither more nor less is better."""


@dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """How a comparison is made.

    Attributes:
        quantile: The quantile that is compared, 0.5 for the median.
        significance: Accepted chance of any false alarm among all operations of the comparison.
        noise_floor: Share below which a difference is never called faster or slower; None for 2 % live and 5
            % between runs.
        time_floor: Seconds below which a difference of durations is never called faster or slower.
        unlike_machines: Compare the speed of stored runs although their machines differ.
    """

    quantile: float = 0.5
    significance: float = 0.005
    noise_floor: float | None = None
    time_floor: float = TIME_FLOOR
    unlike_machines: bool = False

    def statistics(self, quantile: float, *, live: bool) -> Criteria:
        """Return the settings for one quantile.

        Raises:
            ValueError: a value is out of its range.
        """
        floor = self.noise_floor if self.noise_floor is not None else (LIVE_FLOOR if live else STORED_FLOOR)
        return Criteria(quantile=quantile, significance=self.significance, smallest_effect=floor)


@dataclass(frozen=True, kw_only=True)
class SideFacts:
    """What a side is.

    Attributes:
        label: `A` or `B`.
        runtime: The name that the runtime reports.
        version: The version that it reports.
        handlers: Runtime handlers that were used, if not only the default one.
        kind: `validation` or `benchmark`.
        run_id: Its run.
        started: Start of its run, seconds since the epoch.
        suite_version: Version of critests that made the run.
        partial: What the run was about, where it judged a part of the suite; empty where it judged the whole,
            or measured.
        parts: What the runtime works with, by name, as far as it is recorded.
        kernel: Release of the machine's kernel.
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
    parts: dict[str, str] = field(default_factory=dict)
    kernel: str = ""

    @property
    def scope(self) -> str:
        """What the run was about, in words."""
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
    """A fact of the machine that is not the same, as people read it."""

    name: str
    a: str
    b: str


@dataclass(frozen=True, kw_only=True)
class Machines:
    """Whether both sides ran on machines whose speed can be compared.

    Attributes:
        agree: All facts that matter are known and the same.
        differences: Those that are not.
    """

    agree: bool = True
    differences: list[MachineDifference] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class OperationSide:
    """What one side measured of an operation.

    Attributes:
        value: The quantile of the steady samples, or None without samples.
        low: Lower end of its 95 % confidence interval, or None where there is none.
        high: Upper end, or None.
        count: Number of steady samples.
        calls: Number of all calls, warm-up and failed ones included.
        errors: gRPC status code to the number of calls that ended with it.
        client_bound: The client's own cost is a large part of the value.
        quantiles: `0.9` and so on to its value; those of the steady samples that their number supports.
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


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One operation on both sides.

    Attributes:
        scenario: Id of the scenario, such as `B-06`.
        operation: What was timed.
        dimensions: What was held fixed.
        unit: `s`, `1/s`, `B`, `B/s` or `1`.
        better: `lower`, `higher` or empty.
        headline: It is the operation that its scenario is about.
        quantile: The quantile that is compared.
        a: Side A.
        b: Side B.
        ratio: B over A, or None where a side has no samples.
        low: Lower end of the ratio's confidence interval (1 - significance), or None.
        high: Upper end, or None.
        p: Corrected for the number of operations.
        verdict: `faster`, `slower`, `no evidence of a difference`, `too noisy` or `not judged`.
        reason: Why.
        method: How the evidence was weighed.
        errors_p: That the calls of both sides fail equally often, corrected; 1 where none failed.
        errors_verdict: `more`, `fewer` or empty: B's failed calls beside A's, where there is evidence.
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
    verdict: str = Verdict.TOO_NOISY.value
    reason: str = ""
    method: str = ""
    errors_p: float = 1.0
    errors_verdict: str = ""

    @property
    def key(self) -> tuple[str, str, tuple[tuple[str, str], ...]]:
        """What pairs it."""
        return self.scenario, self.operation, tuple(sorted(self.dimensions.items()))

    @property
    def label(self) -> str:
        """What to call it where other operations are beside it."""
        return operation_label(self.scenario, self.operation, self.dimensions)

    @property
    def name(self) -> str:
        """What to call it in a sentence: `ExecSync (output none)`."""
        return operation_label("", self.operation, self.dimensions)

    @property
    def leaves_out_1(self) -> bool:
        """Its interval is there, and does not hold that both sides are the same."""
        return self.low is not None and self.high is not None and not self.low <= 1 <= self.high

    @property
    def whole(self) -> bool:
        """It is what a user waits for, and not one RPC of it: of those, one runtime does in one what the
        other does in the next.
        """
        return self.operation[:1].islower()

    @property
    def worse(self) -> tuple[float, float, float] | None:
        """By which factor B is worse, with the ends of its interval; below 1 where it is better. None where
        that is not known.
        """
        if self.ratio is None or self.low is None or self.high is None or not self.better:
            return None
        if self.better == "higher":
            return 1 / self.ratio, 1 / self.high, 1 / self.low
        return self.ratio, self.low, self.high


@dataclass(frozen=True, kw_only=True)
class Unpaired:
    """An operation that only one side has."""

    scenario: str
    operation: str
    dimensions: dict[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What to call it."""
        return operation_label(self.scenario, self.operation, self.dimensions)


@dataclass(frozen=True, kw_only=True)
class Speed:
    """The operations.

    Attributes:
        operations: Those on both sides, slower ones first.
        only_a: Those on side A only.
        only_b: Those on side B only.
        refused: Why speed is not compared, or empty.
    """

    operations: list[Operation] = field(default_factory=list)
    only_a: list[Unpaired] = field(default_factory=list)
    only_b: list[Unpaired] = field(default_factory=list)
    refused: str = ""

    def counts(self) -> dict[str, int]:
        """Return the number of operations by verdict."""
        found: dict[str, int] = {}
        for operation in self.operations:
            found[operation.verdict] = found.get(operation.verdict, 0) + 1
        return found


@dataclass(frozen=True, kw_only=True)
class RunComparison:
    """Two runs, or two sides, beside each other.

    Attributes:
        a: What A is.
        b: What B is.
        live: Both were measured in one run, in interleaved blocks.
        settings: How it was compared.
        machines: Whether the machines agree.
        speed: The operations; None where neither side has any.
        conformance: The promises; None where a side has none.
        tests: Those that ended otherwise.
        notes: Sentences that the reader should see.
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
