"""The gate: whether a run may pass, by a policy and, with a baseline, only by what is new.

Speed fails on evidence only: an operation is called slower (see `critests.statistics`) and the whole interval
of its ratio lies beyond the regression that is allowed; the whole interval of a quantile lies beyond its
bound. What is not proven is said and does not fail.
"""

import dataclasses
import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from critests.catalogue.words import Outcome
from critests.exit_codes import ExitCode
from critests.record.blocking import VERDICTS
from critests.record.run import RunRecord
from critests.record.scope import partial
from critests.report.comparison import (
    CompareSettings,
    SideFacts,
    Speed,
    StoredRun,
    compare_records,
    compare_sides,
)
from critests.report.comparison.compare import side_facts
from critests.report.comparison.speed import Key, Measured, measured
from critests.report.gates.conformance import conformance_findings
from critests.report.gates.findings import Finding, Kind, counted
from critests.report.gates.policy import Policy, Waiver
from critests.report.gates.speed import SpeedRules, bound_findings, regression_findings
from critests.report.run_kinds import kind_of
from critests.report.wording.texts import plural

DEFAULT: Final = Policy()


@dataclass(frozen=True, kw_only=True)
class GateReport:
    """What the gate decided.

    Attributes:
        exit_code: 0 passes, 1 fails, 5 could not be judged.
        sentence: Why.
        failing: What fails, worst first.
        obstacles: Why something could not be judged.
        remarks: What is said and does not fail.
        run: The run that was judged.
        baseline: What it was compared with, or None.
        policy: Name of the policy.
    """

    exit_code: int
    sentence: str
    failing: list[Finding] = field(default_factory=list)
    obstacles: list[str] = field(default_factory=list)
    remarks: list[Finding] = field(default_factory=list)
    run: SideFacts
    baseline: SideFacts | None = None
    policy: str = ""


def judge_run(
    run: StoredRun,
    policy: Policy = DEFAULT,
    baseline: StoredRun | None = None,
    *,
    settings: CompareSettings | None = None,
    today: dt.date | None = None,
) -> GateReport:
    """Judge a run.

    A live comparison of two sides needs no baseline: its side A is it.

    Args:
        run: The run.
        policy: What it may do.
        baseline: An earlier run; only what is new since then fails.
        settings: How speed is compared; the quantile is the policy's.
        today: Day to judge waivers by; the present one by default.

    Raises:
        NotComparable: run and baseline have nothing in common.
        TomlMalformed: a bound does not suit the unit of its operation.
    """
    settings = dataclasses.replace(settings or CompareSettings(), quantile=policy.quantile)
    waivers = _Waivers(run.record, policy, today or dt.datetime.now(dt.UTC).date())
    side = "b" if run.two_sided else ""
    operations = measured(run.record.operations, run.samples, side)
    rules = SpeedRules(policy, waivers.living, settings.significance)
    findings = [
        *waivers.findings,
        *conformance_findings(run.record, policy, waivers.living, baseline.record if baseline else None),
    ]
    if baseline is not None and partial(baseline.record):
        said = f"the baseline is no run of the whole suite: {partial(baseline.record)}"
        findings.append(Finding(kind=Kind.SAID, fails=False, subject="baseline", sentence=said))
    findings += bound_findings(operations, rules)
    obstacles = _obstacles(run.record, operations)
    if baseline is not None or run.two_sided:
        comparison = _compared(run, baseline, settings, rules)
        if comparison is not None and comparison.refused:
            obstacles.append(f"speed is not compared with the baseline: {comparison.refused}")
        elif comparison is not None:
            findings += regression_findings(comparison, rules)
    told = {finding.subject for finding in findings if finding.kind is Kind.ERRORS}
    findings = [
        finding for finding in findings if finding.kind is not Kind.SAID or finding.subject not in told
    ]
    failing = sorted((finding for finding in findings if finding.fails), key=lambda finding: finding.rank)
    remarks = sorted((finding for finding in findings if not finding.fails), key=lambda finding: finding.rank)
    exit_code = ExitCode.BROKEN if failing else ExitCode.NOT_TESTED if obstacles else ExitCode.CONFORMS
    identities = run.record.benchmark.sides if run.record.benchmark else {}
    before = (
        side_facts("A", baseline.record)
        if baseline
        else side_facts("A", run.record, identities.get("a"))
        if side
        else None
    )
    return GateReport(
        exit_code=int(exit_code),
        sentence=_sentence(exit_code, failing, obstacles, run.record, operations),
        failing=failing,
        obstacles=obstacles,
        remarks=remarks,
        run=side_facts("B", run.record, identities.get("b")),
        baseline=before,
        policy=policy.source,
    )


class _Waivers:
    """The waivers that speak of this run: those that hold, and what is to be said of the others."""

    def __init__(self, record: RunRecord, policy: Policy, today: dt.date) -> None:
        relevant = [
            waiver
            for waiver in policy.waivers
            if waiver.holds_for(record.runtime.name, record.runtime.version)
        ]
        self.living: Sequence[Waiver] = [waiver for waiver in relevant if waiver.expires >= today]
        self.findings = [
            Finding(
                kind=Kind.EXPIRED,
                fails=True,
                subject=waiver.subject,
                sentence=(
                    f"the waiver for {waiver.subject} ({policy.source}:{waiver.line}) expired on"
                    f" {waiver.expires}; owner {waiver.owner}: {waiver.reason}"
                ),
            )
            for waiver in relevant
            if waiver.expires < today
        ]


def _compared(
    run: StoredRun, baseline: StoredRun | None, settings: CompareSettings, rules: SpeedRules
) -> Speed | None:
    if baseline is None:
        return compare_sides(run.record, run.samples, settings, quantile_of=rules.quantile).speed
    return compare_records(
        baseline.record, run.record, baseline.samples, run.samples, settings, quantile_of=rules.quantile
    ).speed


def _obstacles(record: RunRecord, operations: dict[Key, Measured]) -> list[str]:
    """Say why the run itself cannot be judged, or not all of it."""
    found = []
    errors = sum(test.outcome is Outcome.ERROR for test in record.tests)
    if record.interrupted or record.exit_code == ExitCode.INTERRUPTED:
        found.append("the run was interrupted")
    if errors:
        found.append(f"the harness itself failed in {plural(errors, 'test')}")
    elif record.exit_code in {ExitCode.HARNESS_ERROR, ExitCode.NOT_TESTED, ExitCode.USAGE}:
        found.append(
            f"the run itself ended with {record.exit_code}: {record.exit_reason or 'no reason was recorded'}"
        )
    if not record.tests and not operations:
        found.append("the run holds no results")
    elif kind_of(record.kind).measures and not any(
        each.steady() or (each.result and each.result.count) for each in operations.values()
    ):
        found.append("the run measured nothing: no operation has a sample")
    return found


def _sentence(
    code: ExitCode,
    failing: Sequence[Finding],
    obstacles: Sequence[str],
    record: RunRecord,
    operations: dict[Key, Measured],
) -> str:
    if code is ExitCode.BROKEN:
        beside = f"; beside that, {obstacles[0]}" if obstacles else ""
        return f"fails: {counted(failing)}{beside}"
    if code is ExitCode.NOT_TESTED:
        return f"could not be judged: {'; '.join(obstacles)}"
    tested = sum(verdict.outcome in VERDICTS for verdict in record.requirements.values())
    judged = [plural(tested, "requirement")] if record.requirements else []
    judged += [plural(len(operations), "operation")] if operations else []
    part = partial(record)
    passes = f"passes in part ({part})" if part else "passes"
    return f"{passes}: nothing that blocks in {' and '.join(judged) or plural(len(record.tests), 'test')}"
