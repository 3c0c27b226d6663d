"""What each of two suites noticed of the same faults, as data and as a page in Markdown."""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from critests_proof.record import FaultOutcome, FaultResult

SCHEMA: Final = "critests.suites"
SCHEMA_VERSION: Final = 1
REACHED: Final = (FaultOutcome.NOTICED, FaultOutcome.SURVIVED)
_METHOD = """## How

- critest ran once without a fault through a recording proxy, in {baseline:.0f} minutes. {specs} specs passed
  and count; {left_out} failed or were skipped there, and do not count.
- Under each fault, critest runs the specs that use the RPC of the fault and set or receive the changed field,
  until one fails, {minutes:g} minutes at most, on a new private runtime. critests selects its tests by the
  same rule.
- A spec that fails runs again on a new runtime without the fault. Only if it passes there (or in a second
  attempt, with and without the fault), and the fault changed something, the fault counts as noticed. Calls of
  critest have a deadline of 30 s instead of 300 s.
- Faults under which critest had not run all these specs when its time was over: {incomplete}.
- critests: `critests-proof sweep`, which tries at most 12 tests for each fault, and repeats a failed one
  without the fault. It orders the tests by what is known about them; for critest nothing is known, so the
  times do not compare the speed of the suites.
- Faults in sessions are left out: they act on WebSocket sessions, and critest uses SPDY.
- The images of critest come from a registry on the same machine: a busybox, and its web server instead of
  nginx. Specs that need an image by digest fail there and do not count. NRI is off.
"""


@dataclass(frozen=True, kw_only=True)
class CritestResult:
    """The result of critest under one fault.

    Attributes:
        fault: its id.
        outcome: noticed, survived or not reached.
        by: the spec that noticed.
        reason: of its failure.
        specs: number of specs that ran under the fault.
        fitting: number of specs that reach the fault and pass without it.
        hits: number of changes by the fault.
        complete: whether all fitting specs ran, or one noticed.
        unconfirmed: specs that failed under the fault and did not pass without it.
        seconds: duration, with the start of the runtimes.
    """

    fault: str
    outcome: FaultOutcome
    by: str = ""
    reason: str = ""
    specs: int = 0
    fitting: int = 0
    hits: int = 0
    complete: bool = True
    unconfirmed: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ComparedFault:
    """The results of both suites under one fault.

    Attributes:
        fault: its id.
        kind: of the fault.
        says: what the runtime does.
        critests: outcome of critests.
        critests_by: the test that noticed.
        critests_seconds: duration of its tries.
        critest: outcome of critest.
        critest_by: the spec that noticed.
        critest_seconds: duration of its tries.
        critest_complete: whether critest ran all fitting specs in its time.
        evidence: why critests did not try it.
    """

    fault: str
    kind: str
    says: str
    critests: FaultOutcome
    critests_by: str = ""
    critests_seconds: float = 0.0
    critest: FaultOutcome
    critest_by: str = ""
    critest_seconds: float = 0.0
    critest_complete: bool = True
    evidence: str = ""

    @property
    def group(self) -> str:
        """Its line in the table of both."""
        noticed = (self.critests is FaultOutcome.NOTICED, self.critest is FaultOutcome.NOTICED)
        if any(noticed):
            return {(True, True): "both", (True, False): "only critests"}.get(noticed, "only critest")
        if self.critests in REACHED or self.critest in REACHED:
            return "neither"
        return "not reached" if self.critests is FaultOutcome.NOT_REACHED else "not observable"


@dataclass(frozen=True, kw_only=True)
class SuiteComparison:
    """Both suites on one runtime.

    Attributes:
        schema: always `SCHEMA`.
        schema_version: of this form.
        runtime: its name and version.
        critests_version: of critests.
        critest_version: of critest.
        seed: of the sample of faults.
        minutes: limit of critest for each fault.
        specs: number of specs of critest that pass without a fault.
        left_out: specs that ran and did not pass without a fault, with state and reason.
        tests: number of tests of critests that pass without a fault.
        critest_baseline_seconds: duration of critest without a fault.
        faults: the results.
    """

    schema: str = SCHEMA
    schema_version: int = SCHEMA_VERSION
    runtime: str
    critests_version: str
    critest_version: str
    seed: int | None
    minutes: float
    specs: int
    left_out: dict[str, str] = field(default_factory=dict)
    tests: int
    critest_baseline_seconds: float
    faults: list[ComparedFault] = field(default_factory=list)


def compared(ours: Iterable[FaultResult], theirs: Iterable[CritestResult]) -> list[ComparedFault]:
    """Return the faults that both suites have results for, in the order of the first."""
    by_fault = {one.fault: one for one in theirs}
    return [
        ComparedFault(
            fault=one.fault,
            kind=one.kind,
            says=one.says,
            critests=one.outcome,
            critests_by=one.by,
            critests_seconds=one.seconds,
            critest=other.outcome,
            critest_by=other.by,
            critest_seconds=other.seconds,
            critest_complete=other.complete,
            evidence=one.evidence,
        )
        for one in ours
        if (other := by_fault.get(one.fault)) is not None
    ]


def share(part: int, whole: int) -> str:
    """Return a share in percent with its 95 % interval (Wilson); `-` of nothing."""
    if not whole:
        return "-"
    z = statistics.NormalDist().inv_cdf(0.975)
    p, n = part / whole, whole
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return f"{100 * p:.0f} % ({100 * (middle - half):.0f} to {100 * (middle + half):.0f})"


def _seconds(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.0f} s" if values else "-"


def page(result: SuiteComparison) -> str:
    """Return the comparison as a page in Markdown."""
    faults = result.faults
    groups = Counter(fault.group for fault in faults)
    reached = [
        fault for fault in faults if fault.group in {"both", "only critests", "only critest", "neither"}
    ]
    sides = [
        [(fault.critests, fault.critests_seconds) for fault in faults],
        [(fault.critest, fault.critest_seconds) for fault in faults],
    ]

    def row(title: str, cells: Iterable[object]) -> str:
        return f"| {title} | {' | '.join(map(str, cells))} |"

    def times(outcome: FaultOutcome) -> list[str]:
        return [_seconds([took for was, took in side if was is outcome]) for side in sides]

    noticed = [sum(was is FaultOutcome.NOTICED for was, _ in side) for side in sides]
    lines = [
        f"# critests and critest under the same {len(faults)} faults",
        "",
        f"On {result.runtime}; critests {result.critests_version}, critest {result.critest_version}. The"
        " faults are "
        + ("all selected" if result.seed is None else f"a random sample with the seed {result.seed}")
        + " of those that are derived from the API (`critests-proof faults`).",
        "",
        row("", ["critests", "critest"]),
        "|---|---|---|",
        row("tests or specs that pass without a fault", [result.tests, result.specs]),
        row("faults noticed", noticed),
        row("reached, not noticed", [sum(was is FaultOutcome.SURVIVED for was, _ in side) for side in sides]),
        row(
            f"noticed, of {len(reached)} that either suite reached",
            [share(number, len(reached)) for number in noticed],
        ),
        row("median time of a noticed fault", times(FaultOutcome.NOTICED)),
        row("median time of a fault that was reached and not noticed", times(FaultOutcome.SURVIVED)),
        row("time for all faults", [f"{sum(took for _, took in side) / 60:.0f} min" for side in sides]),
        "",
        "| noticed by | faults |",
        "|---|---|",
        *(
            row(name, [groups[name]])
            for name in ("both", "only critests", "only critest", "neither", "not reached", "not observable")
        ),
        "",
        (
            "*neither*: at least one suite reached the fault. *not reached*: neither suite reaches it. *not"
            " observable*: no client could notice it, or the runtime lacks the RPC or never fills the field."
        ),
        "",
        *_kinds(reached),
        *_list("Noticed by critest only", [fault for fault in faults if fault.group == "only critest"]),
        *_list("Noticed by neither", [fault for fault in faults if fault.group == "neither"]),
        _METHOD.format(
            minutes=result.minutes,
            baseline=result.critest_baseline_seconds / 60,
            specs=result.specs,
            left_out=len(result.left_out),
            incomplete=sum(not fault.critest_complete for fault in faults),
        ),
    ]
    return "\n".join(lines)


def _kinds(reached: Sequence[ComparedFault]) -> list[str]:
    """Return a table of the noticed faults by kind."""
    kinds = dict.fromkeys(fault.kind for fault in reached)
    if not kinds:
        return []
    lines = ["| kind of fault | reached | critests noticed | critest noticed |", "|---|---|---|---|"]
    for kind in kinds:
        here = [fault for fault in reached if fault.kind == kind]
        ours = sum(fault.critests is FaultOutcome.NOTICED for fault in here)
        theirs = sum(fault.critest is FaultOutcome.NOTICED for fault in here)
        lines.append(f"| {kind} | {len(here)} | {ours} | {theirs} |")
    return [*lines, ""]


def _list(title: str, faults: Sequence[ComparedFault]) -> list[str]:
    if not faults:
        return []
    lines = [f"## {title}", ""]
    for fault in faults:
        by = f"; critest: {fault.critest_by}" if fault.critest_by else ""
        lines.append(f"- `{fault.fault}`: the runtime {fault.says} (critests: {fault.critests}{by})")
    return [*lines, ""]
