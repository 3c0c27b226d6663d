"""What counts as worse, lost, fixed."""

import dataclasses
from pathlib import Path

import pytest

from critests.catalogue.words import Outcome
from critests.record.operations import QuantileEstimate
from critests.record.results import TestResult
from critests.record.run import CapabilityFact, RunRecord
from critests.report.facts.changes import changes
from tests.report.formats import samples

PASSED, FAILED, WARNED, KNOWN = Outcome.PASSED, Outcome.FAILED, Outcome.WARNED, Outcome.KNOWN


def with_outcome(base: RunRecord, outcome: Outcome | None) -> RunRecord:
    tests = [TestResult(id="a.py::test_x", name="test_x", outcome=outcome)] if outcome else []
    return samples.with_tests(base, tests)


@pytest.mark.parametrize(
    ("before", "now", "kind"),
    [
        (PASSED, FAILED, "broken"),
        (PASSED, WARNED, "broken"),
        (WARNED, FAILED, "broken"),
        (KNOWN, FAILED, "broken"),
        (PASSED, Outcome.ERROR, "broken"),
        (None, FAILED, "broken"),
        (Outcome.UNSUPPORTED, FAILED, "broken"),
        (FAILED, WARNED, "other"),
        (PASSED, Outcome.UNSUPPORTED, "lost"),
        (PASSED, Outcome.BLOCKED, "lost"),
        (PASSED, None, "lost"),
        (PASSED, Outcome.DISABLED, "unselected"),
        (FAILED, Outcome.DISABLED, "unselected"),
        (FAILED, PASSED, "fixed"),
        (KNOWN, PASSED, "fixed"),
        (PASSED, KNOWN, "other"),
        (Outcome.UNSUPPORTED, PASSED, "other"),
        (None, PASSED, ""),
        (PASSED, PASSED, ""),
        (FAILED, FAILED, ""),
        (FAILED, None, ""),
    ],
)
def test_a_change_of_outcome(before: Outcome | None, now: Outcome | None, kind: str, tmp_path: Path) -> None:
    base = samples.validation(tmp_path).record

    found = changes(with_outcome(base, before), with_outcome(base, now))

    lists = {name: getattr(found, name) for name in ("broken", "lost", "fixed", "other", "unselected")}
    assert {name for name, each in lists.items() if each} == ({kind} if kind else set())


def test_a_pass_of_what_fails_now_and_then_fixes_nothing(tmp_path: Path) -> None:
    base = samples.validation(tmp_path).record
    passed = with_outcome(base, PASSED)
    covered = [dataclasses.replace(test, expectation="a link") for test in passed.tests]

    found = changes(with_outcome(base, KNOWN), samples.with_tests(passed, covered))

    assert found.fixed == []
    assert len(found.other) == 1


def test_capabilities_that_were_lost_come_first(tmp_path: Path) -> None:
    base = samples.validation(tmp_path).record

    def facts(*present: bool | None) -> RunRecord:
        return dataclasses.replace(
            base,
            capabilities=[
                CapabilityFact(name=str(number), present=each) for number, each in enumerate(present)
            ],
        )

    found = changes(facts(False, True, True, None), facts(True, None, True, False))

    assert found.capabilities == [("1", True, None), ("0", False, True), ("3", None, False)]


@pytest.mark.parametrize(("factor", "changed"), [(1.0, False), (1.02, False), (1.2, True), (0.8, True)])
def test_an_operation_changed_when_the_intervals_do_not_touch(factor: float, changed: bool) -> None:
    record = samples.benchmark().record
    (operation,) = [each for each in record.operations if each.scenario == "B-02"]
    value = operation.quantiles["0.5"].value * factor
    estimate = QuantileEstimate(value=value, low=value * 0.97, high=value * 1.03)
    other = dataclasses.replace(operation, quantiles={"0.5": estimate})

    found = changes(
        dataclasses.replace(record, operations=[operation]), dataclasses.replace(record, operations=[other])
    )

    assert found.compared == 1
    assert [change.better for change in found.operations] == ([factor < 1] if changed else [])
