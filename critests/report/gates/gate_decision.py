"""The gate: whether a run passes a policy; with a baseline, only new findings fail.

Speed fails only if it is significant: an operation is slower (see `critests.statistics`) and the whole
interval of its ratio exceeds the allowed regression, or the whole interval of a quantile exceeds its bound.
Other findings are reported and do not fail.
"""

import dataclasses
import datetime as dt
from collections.abc import Sequence
from typing import Final

from critests.catalogue.words import Outcome
from critests.exit_codes import ExitCode
from critests.record.blocking import VERDICTS
from critests.record.expectations import Expectations
from critests.record.operations import Key
from critests.record.run_record import RunRecord
from critests.report.comparison import (
    CompareSettings,
    NotComparable,
    RunComparison,
    StoredRun,
    compare_records,
    compare_sides,
)
from critests.report.comparison.run_comparison import side_facts
from critests.report.comparison.speed_diff import Measured, measured
from critests.report.gates.conformance_gate import conformance_findings
from critests.report.gates.gate_findings import GateFinding, GateFindingKind, GateReport, counted
from critests.report.gates.gate_sides import differences, refusals, sides
from critests.report.gates.policy import Policy
from critests.report.gates.speed_gate import bound_findings, regression_findings
from critests.report.run_kinds import kind_of
from critests.report.wording.endings import notes_of
from critests.report.wording.partial_run import partial
from critests.report.wording.texts import one_line, plural, utc_time

DEFAULT: Final = Policy()
NONE_KNOWN: Final = Expectations()


def judge_run(
    run: StoredRun,
    policy: Policy = DEFAULT,
    baseline: StoredRun | None = None,
    *,
    known: Expectations = NONE_KNOWN,
    settings: CompareSettings | None = None,
    today: dt.date | None = None,
) -> GateReport:
    """Judge a run.

    Side A of a live comparison is its baseline.

    Args:
        run: The run.
        policy: The policy.
        baseline: An earlier run; only what is new since then fails.
        known: Known failures in addition to those of the run.
        settings: How speed is compared; the quantile is that of the policy.
        today: Date for the expiry of known failures; today by default.

    Raises:
        NotComparable: run and baseline have nothing in common, or the baseline is of another runtime or OCI
            runtime and `settings.unlike_machines` is not set.
        TomlMalformed: a bound does not suit the unit of its operation.
    """
    settings = dataclasses.replace(settings or CompareSettings(), quantile=policy.quantile)
    applied = known.apply(run.record.tests, run.record.runtime.version, today)
    record = dataclasses.replace(run.record, tests=applied.tests)
    operations = measured(record.operations, run.samples, "b" if run.two_sided else "")
    obstacles = _obstacles(record, operations)
    if (
        baseline is not None
        and not settings.unlike_machines
        and (refused := refusals(baseline.record, record))
    ):
        raise NotComparable("; ".join(refused), unlike_machines=True)
    comparison = _compared(dataclasses.replace(run, record=record), baseline, settings)
    findings = list(conformance_findings(record, policy, None if run.two_sided else comparison))
    findings += [
        GateFinding(kind=GateFindingKind.SAID, sentence=note)
        for note in notes_of(applied, run.record.runtime.version)
    ]
    findings += bound_findings(operations, policy, settings.significance)
    if comparison is not None and comparison.speed is not None:
        if comparison.speed.refused:
            obstacles.append(f"speed is not compared with the baseline: {comparison.speed.refused}")
        findings += regression_findings(comparison.speed, policy)
    reported = {finding.subject for finding in findings if finding.kind is GateFindingKind.ERRORS}
    findings = [
        each for each in findings if each.kind is not GateFindingKind.SAID or each.subject not in reported
    ]
    findings.sort(key=lambda finding: finding.rank)
    failing = [finding for finding in findings if finding.fails]
    exit_code = ExitCode.BROKEN if failing else ExitCode.NOT_TESTED if obstacles else ExitCode.NO_NEW_FAILURE
    return GateReport(
        exit_code=int(exit_code),
        sentence=_sentence(exit_code, failing, obstacles, record, operations, baseline),
        failing=failing,
        obstacles=obstacles,
        remarks=[finding for finding in findings if not finding.fails],
        run=comparison.b if comparison else side_facts("B", record),
        baseline=comparison.a if comparison else None,
        compared=_compared_lines(record, baseline.record if baseline else None),
        policy=policy.source,
    )


def _compared_lines(record: RunRecord, baseline: RunRecord | None) -> list[str]:
    """Return both runs, and how their environments differ, which may be the cause of what is new."""
    unlike = differences(baseline, record) if baseline is not None else []
    return [*sides(record, baseline), *(f"! {each}" for each in unlike)]


def _compared(run: StoredRun, baseline: StoredRun | None, settings: CompareSettings) -> RunComparison | None:
    if baseline is not None:
        return compare_records(baseline.record, run.record, baseline.samples, run.samples, settings)
    return compare_sides(run.record, run.samples, settings) if run.two_sided else None


def _obstacles(record: RunRecord, operations: dict[Key, Measured]) -> list[str]:
    """Return why the run, or a part of it, cannot be judged."""
    obstacles = []
    errors = sum(test.outcome is Outcome.ERROR for test in record.tests)
    if record.interrupted or record.exit_code == ExitCode.INTERRUPTED:
        obstacles.append("the run was interrupted")
    if errors:
        obstacles.append(f"the harness itself failed in {plural(errors, 'test')}")
    elif record.exit_code in {ExitCode.HARNESS_ERROR, ExitCode.NOT_TESTED, ExitCode.USAGE}:
        obstacles.append(
            f"the run exited with {record.exit_code}: {record.exit_reason or 'no reason was recorded'}"
        )
    if not record.tests and not operations:
        obstacles.append("the run has no results")
    elif kind_of(record.kind).measures and not any(
        each.steady() or (each.result and each.result.count) for each in operations.values()
    ):
        obstacles.append("the run measured nothing: no operation has a sample")
    return obstacles


def _sentence(
    code: ExitCode,
    failing: Sequence[GateFinding],
    obstacles: Sequence[str],
    record: RunRecord,
    operations: dict[Key, Measured],
    baseline: StoredRun | None,
) -> str:
    if code is ExitCode.BROKEN:
        obstacle = f"; in addition, {obstacles[0]}" if obstacles else ""
        return f"fails: {counted(failing)}{obstacle}"
    if code is ExitCode.NOT_TESTED:
        return f"could not be judged: {'; '.join(obstacles)}"
    tested = sum(verdict.outcome in VERDICTS for verdict in record.requirements.values())
    judged = [plural(tested, "requirement")] if record.requirements else []
    judged += [plural(len(operations), "operation")] if operations else []
    part = partial(record)
    passes = f"passes in part ({part})" if part else "passes"
    if baseline is not None:
        since = f"{utc_time(baseline.record.started)} ({one_line(baseline.record.run_id, 60)})"
        return f"{passes}: nothing new since {since} in {' and '.join(judged) or 'no test'}"
    return f"{passes}: no failing finding in {' and '.join(judged) or plural(len(record.tests), 'test')}"
