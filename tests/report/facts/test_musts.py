import dataclasses
from pathlib import Path

import pytest

from critests.catalogue.words import Level, Outcome
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.report.facts.musts import musts, verdict_sentence
from tests.report.sample_run import sample_run


def of(name: str, outcome: Outcome, level: Level = Level.MUST, why: Reason = Reason()) -> TestResult:  # noqa: B008 - frozen
    return TestResult(
        id=f"{name} {outcome}", name="t", requirement=name, outcome=outcome, level=level, why=why
    )


@pytest.fixture
def run(tmp_path: Path) -> RunRecord:
    return dataclasses.replace(sample_run(tmp_path), exit_reason="as the run says")


def said(run: RunRecord, code: int, *tests: TestResult) -> str:
    return verdict_sentence(dataclasses.replace(run, exit_code=code, tests=list(tests)))


def test_an_aspect_counts_once_whatever_its_tests() -> None:
    tests = [of("A-1", Outcome.PASSED), of("A-1", Outcome.FAILED), of("A-2", Outcome.BLOCKED)]
    found = musts(tests)

    assert (found.judged, found.broken, found.blocked) == (1, 1, 1)


def test_the_sentence_of_a_broken_run_has_numbers(run: RunRecord) -> None:
    assert said(
        run,
        1,
        of("A-1", Outcome.FAILED),
        of("A-2", Outcome.PASSED),
        of("A-3", Outcome.KNOWN),
        of("A-4", Outcome.BLOCKED),
        of("A-5", Outcome.UNSUPPORTED),
        of("A-6", Outcome.FAILED, Level.OPT),
        of("A-7", Outcome.WARNED, Level.SHOULD),
    ) == (
        "1 of the 3 MUST aspects that were judged is broken, 1 known failure; 1 failure outside the MUST"
        " aspects; 1 more could not be judged; 1 more covers a feature that the runtime does not offer."
    )


def test_the_sentence_of_a_run_that_conforms_has_numbers(run: RunRecord) -> None:
    passed = of("A-1", Outcome.PASSED)

    assert said(run, 0, passed) == "The one MUST aspect that was judged passed."
    assert said(run, 0, of("A-2", Outcome.KNOWN)) == "The one MUST aspect that was judged is a known failure."
    assert said(run, 0, passed, of("A-2", Outcome.KNOWN)) == (
        "1 of the 2 MUST aspects that were judged passed, 1 known failure."
    )


def test_unexpected_passes_and_missing_capabilities_are_not_breaches(run: RunRecord) -> None:
    surprise = of("A-1", Outcome.FAILED, why=Reason(code=ReasonCode.UNEXPECTED_PASS))
    missing = TestResult(
        id="missing", name="c", outcome=Outcome.FAILED, why=Reason(code=ReasonCode.CAPABILITY_MISSING)
    )

    assert said(run, 1, surprise) == "As the run says."
    assert musts([surprise, missing]).broken == 0


def test_a_run_without_a_verdict_says_why(run: RunRecord) -> None:
    assert said(run, 5) == "As the run says."
    assert said(run, 3, of("A-1", Outcome.FAILED)) == (
        "As the run says; the one MUST aspect that was judged is broken."
    )
