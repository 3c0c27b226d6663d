"""Validation runs that differ from `sample_run` in known ways."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from critests.catalogue.words import Level, Outcome
from critests.record.blocking import RequirementFacts
from critests.record.judgement import JudgeContext, judge
from critests.record.result_records import TestResult
from critests.record.run_record import CapabilityFact, RunRecord
from critests.report.wording.endings import worded
from tests.report.sample_run import JUDGES, raw_tests, sample_run


def rejudged(base: RunRecord, tests: Sequence[TestResult], **changes: object) -> RunRecord:
    """Return the run with other raw tests, judged anew and without expectations."""
    judged = judge(
        tests,
        JudgeContext(
            judge_of=JUDGES.get, facts_of=lambda _: RequirementFacts(area="sandboxes"), version="2.1.9"
        ),
    )
    fields: dict[str, object] = {
        "tests": judged.tests,
        "root_causes": judged.root_causes,
        "requirements": judged.requirements,
        "counts": judged.counts,
        "exit_code": judged.exit_code,
        "notes": [],
    }
    made = worded(dataclasses.replace(base, **fields), judged)  # type: ignore[arg-type]  # see below
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]  # a test names real fields


def clean_tests() -> list[TestResult]:
    """Return raw tests that all pass; one of them records a variant."""
    return [
        dataclasses.replace(
            test,
            outcome=Outcome.PASSED,
            level=Level.DIV if test.requirement == "EXS-01" else Level.MUST,
            form="an error for a missing binary" if test.requirement == "EXS-01" else "",
            reason="",
            seen="",
            detail="",
            raw_rpc="",
            unproven_since="",
            evidence="",
            phase_of_failure="",
        )
        for test in raw_tests()
    ]


def changed(tests: Sequence[TestResult], requirement: str, **changes: object) -> list[TestResult]:
    """Return the tests, those of one requirement changed."""
    return [
        # real fields
        dataclasses.replace(test, **changes) if test.requirement == requirement else test  # type: ignore[arg-type]  # see above
        for test in tests
    ]


def run_a(folder: Path, **changes: object) -> RunRecord:
    """Return a run that keeps everything."""
    return rejudged(
        sample_run(folder),
        clean_tests(),
        **{"capabilities": capabilities({"pod network": True, "AppArmor": True})} | changes,
    )


def run_b(folder: Path, **changes: object) -> RunRecord:
    """Return a run that breaks STP-02, has no IMG-02, blocks SBX-04, warns of LOG-01, diverges in EXS-01 and
    lacks AppArmor.
    """
    tests = changed(
        clean_tests(),
        "STP-02",
        outcome=Outcome.FAILED,
        seen="exit_code == 137",
        reason="the exit code was replaced",
    )
    tests = changed(tests, "IMG-02", outcome=Outcome.UNSUPPORTED, reason="no default tag")
    tests = changed(tests, "SBX-04", outcome=Outcome.BLOCKED, reason="needs --disruptive")
    tests = changed(
        tests, "LOG-01", outcome=Outcome.FAILED, level=Level.SHOULD, seen="time stamps go backwards"
    )
    tests = changed(tests, "EXS-01", form="code 127 for a missing binary")
    fields = {
        "run_id": "1795000100-ffffff",
        "capabilities": capabilities({"pod network": True, "AppArmor": False}),
    }
    return rejudged(sample_run(folder), tests, **fields | changes)


def capabilities(present: Mapping[str, bool | None]) -> list[CapabilityFact]:
    """Return capability facts."""
    return [
        CapabilityFact(name=name, present=value, evidence=f"{name}: {value}", source="Status")
        for name, value in present.items()
    ]
