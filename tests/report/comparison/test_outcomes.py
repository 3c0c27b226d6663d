"""Tests that end otherwise: what is worse, gone, fixed, not run."""

import dataclasses
from pathlib import Path

import pytest

from critests.catalogue.words import Outcome
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.report.comparison.outcome_changes import compare_tests
from tests.report.comparison.sample_runs import run_a

PASSED, FAILED, WARNED, KNOWN = Outcome.PASSED, Outcome.FAILED, Outcome.WARNED, Outcome.KNOWN
KINDS = ("worse", "gone", "fixed", "not_run")


@pytest.fixture
def base(tmp_path: Path) -> RunRecord:
    return dataclasses.replace(run_a(tmp_path), requirements={})


def with_outcome(base: RunRecord, outcome: Outcome | None, expectation: str = "") -> RunRecord:
    test = TestResult(id="a.py::test_x", name="test_x", outcome=outcome or PASSED, expectation=expectation)
    return dataclasses.replace(base, tests=[test] if outcome else [])


@pytest.mark.parametrize(
    ("before", "now", "kind"),
    [
        (PASSED, FAILED, "worse"),
        (PASSED, WARNED, "worse"),
        (WARNED, FAILED, "worse"),
        (None, FAILED, "worse"),
        (Outcome.UNSUPPORTED, FAILED, "worse"),
        (Outcome.ERROR, FAILED, "worse"),
        (KNOWN, FAILED, "other"),
        (FAILED, WARNED, "other"),
        (PASSED, Outcome.ERROR, "other"),
        (PASSED, Outcome.UNSUPPORTED, "gone"),
        (PASSED, Outcome.BLOCKED, "gone"),
        (PASSED, None, "not_run"),
        (FAILED, None, "not_run"),
        (PASSED, Outcome.DISABLED, "not_run"),
        (FAILED, PASSED, "fixed"),
        (KNOWN, PASSED, "fixed"),
        (PASSED, KNOWN, "other"),
        (None, PASSED, "other"),
        (PASSED, PASSED, ""),
        (FAILED, FAILED, ""),
    ],
)
def test_a_change_of_outcome(before: Outcome | None, now: Outcome | None, kind: str, base: RunRecord) -> None:
    found = compare_tests(with_outcome(base, before), with_outcome(base, now))

    kinds = [{name for name in KINDS if getattr(each, name)} or {"other"} for each in found]
    assert kinds == ([{kind}] if kind else [])


def test_a_pass_of_an_intermittent_known_failure_is_known_too(base: RunRecord) -> None:
    passed = with_outcome(base, PASSED, expectation="a link")

    assert compare_tests(with_outcome(base, KNOWN), passed) == []
    assert compare_tests(passed, with_outcome(base, KNOWN)) == []


@pytest.mark.parametrize(("before", "worse"), [(PASSED, True), (FAILED, False), (KNOWN, False)])
def test_a_renamed_test_is_compared_with_its_aspect(before: Outcome, worse: bool, tmp_path: Path) -> None:
    base = run_a(tmp_path)
    first = base.tests[0]
    verdict = base.requirements[first.requirement_id]
    aspects = verdict.aspects | {first.requirement: before}
    old = dataclasses.replace(
        base,
        requirements=base.requirements
        | {first.requirement_id: dataclasses.replace(verdict, aspects=aspects)},
    )
    renamed = dataclasses.replace(first, id="other", outcome=FAILED)

    found = compare_tests(old, dataclasses.replace(base, tests=[renamed, *base.tests[1:]]))

    assert [(each.test, each.worse, each.not_run) for each in found] == [
        *([("other", True, False)] if worse else []),
        *([("other", False, False)] if before is KNOWN else []),
        (first.id, False, True),
    ]
