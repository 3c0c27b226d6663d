"""Merges records of one runtime: shards of a run, or runs with different handlers."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Sequence

from critests.catalogue.words import WORST_FIRST
from critests.record.judgement import JudgeContext, Judgement, judge
from critests.record.reasons import Reason, ReasonCode
from critests.record.record_errors import MergeRejected
from critests.record.result_records import TestResult
from critests.record.run_record import ApiCoverage, CapabilityFact, RunRecord, Timing
from critests.record.scope import joined
from critests.record.tally import musts_judged


def merge(records: Sequence[RunRecord], context: JudgeContext) -> tuple[RunRecord, Judgement]:
    """Merge records of one runtime and one version of the suite, and judge them as one run. Return the
    record, still without sentences, and the judgement from which they are made.

    A test in several records keeps its worst outcome: repeating until green proves nothing.

    Args:
        records: At least one.
        context: As for a single run; `interrupted`, `required` and `expectations` of the records stay
            applied.

    Raises:
        MergeRejected: they are of different runtimes, versions or suites.
    """
    if not records:
        msg = "there is nothing to merge"
        raise MergeRejected(msg)
    first = min(records, key=lambda record: record.started)
    for record in records:
        _require_same_run_kind(first, record)
    interrupted = context.interrupted or any(record.interrupted for record in records)
    capabilities, disputed = _capabilities(records)
    harness_error = context.harness_error or next(
        (record.harness_error for record in records if record.harness_error), ""
    )
    gone = context.runtime_gone or next(
        (record.runtime_gone for record in records if record.runtime_gone), None
    )
    left_out = sum(record.scope.musts_not_begun for record in records)
    judged = judge(
        _worst_of_each(records),
        dataclasses.replace(
            context,
            interrupted=interrupted,
            harness_error=harness_error,
            runtime_gone=gone,
            musts_not_begun=left_out,
            capabilities=capabilities,
        ),
    )
    handlers = dict.fromkeys(handler for record in records for handler in record.runtime.handlers)
    record = dataclasses.replace(
        first,
        finished=max(record.finished for record in records),
        runtime=dataclasses.replace(first.runtime, handlers=list(handlers)),
        capabilities=capabilities,
        tests=judged.tests,
        root_causes=judged.root_causes,
        requirements=judged.requirements,
        counts=judged.counts,
        coverage=_coverage([record.coverage for record in records]),
        exit_code=judged.exit_code,
        exit_reason="",
        interrupted=interrupted,
        runtime_gone=gone,
        scope=joined([record.scope for record in records], musts_judged(judged.tests)),
        harness_error=harness_error,
        remarks=[*(remark for record in records for remark in record.remarks), *disputed],
        notes=list(dict.fromkeys(note for record in records for note in record.notes)),
        workers=sum(record.workers for record in records),
        timing=Timing(
            startup_seconds=max(record.timing.startup_seconds for record in records),
            wall_seconds=max(record.timing.wall_seconds for record in records),
            harness_cpu_seconds=sum(record.timing.harness_cpu_seconds for record in records),
        ),
    )
    return record, judged


def _require_same_run_kind(first: RunRecord, other: RunRecord) -> None:
    for what, ours, theirs in (
        ("kinds", first.kind, other.kind),
        ("runtimes", first.runtime.name, other.runtime.name),
        ("versions of the runtime", first.runtime.version, other.runtime.version),
        ("versions of the suite", first.suite_version, other.suite_version),
        ("revisions of the catalogue", first.catalogue_revision, other.catalogue_revision),
    ):
        if ours != theirs:
            msg = (
                f"records of different {what} cannot be one run: {ours} (run {first.run_id}) and {theirs}"
                f" (run {other.run_id})"
            )
            raise MergeRejected(msg)


def _worst_of_each(records: Sequence[RunRecord]) -> list[TestResult]:
    worst: dict[str, TestResult] = {}
    for test in (test for record in records for test in record.tests):
        before = worst.get(test.id)
        if before is None or WORST_FIRST.index(test.outcome) < WORST_FIRST.index(before.outcome):
            worst[test.id] = test
    return list(worst.values())


def _capabilities(records: Sequence[RunRecord]) -> tuple[list[CapabilityFact], list[Reason]]:
    """Merge capabilities; if runs disagree, the capability is unknown, with a remark."""
    found: dict[str, CapabilityFact] = {}
    disputed = []
    for fact in (fact for record in records for fact in record.capabilities):
        before = found.get(fact.name)
        if before is None or before.present is None:
            found[fact.name] = fact
        elif fact.present not in {None, before.present}:
            found[fact.name] = dataclasses.replace(
                before, present=None, evidence=f"{before.evidence}; {fact.evidence}"
            )
            disputed.append(Reason(code=ReasonCode.RUNS_DISAGREE, subject=fact.name))
    return list(found.values()), disputed


def _coverage(parts: Sequence[ApiCoverage]) -> ApiCoverage:
    return ApiCoverage(
        rpcs=_sum(part.rpcs for part in parts),
        request_fields=_sum(part.request_fields for part in parts),
        response_fields=_sum(part.response_fields for part in parts),
        rpcs_total=max(part.rpcs_total for part in parts),
        request_fields_total=max(part.request_fields_total for part in parts),
        response_fields_total=max(part.response_fields_total for part in parts),
    )


def _sum(parts: Iterable[dict[str, int]]) -> dict[str, int]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(part)
    return dict(total)
