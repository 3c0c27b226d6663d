import dataclasses
from pathlib import Path

import pytest

from critests.catalogue.words import Level, Outcome
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.record.run_record import ApiLevel, RunRecord, RunScope
from critests.report.facts.musts import musts, verdict_sentence, verdict_word
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


def test_an_aspect_counts_once_whatever_its_tests(run: RunRecord) -> None:
    tests = [of("A-1", Outcome.PASSED), of("A-1", Outcome.FAILED), of("A-2", Outcome.BLOCKED)]
    found = musts(dataclasses.replace(run, tests=tests))

    assert (found.judged, found.broken, found.blocked) == (1, ["A-1"], 1)


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
        "1 of 3 MUSTs met, 2 broken: A-1, A-3 (1 of them known failures); not counted: 1 of optional features"
        " that it does not offer, 1 that could not be judged; 1 failure outside the MUSTs."
    )


def test_the_sentence_of_a_run_that_conforms_has_numbers(run: RunRecord) -> None:
    passed = of("A-1", Outcome.PASSED)

    assert said(run, 0, passed) == "1 of 1 MUST met."
    assert said(run, 0, passed, of("A-2", Outcome.KNOWN)) == (
        "1 of 2 MUSTs met, 1 broken: A-2 (known failures)."
    )


def test_a_feature_that_is_newer_than_the_api_of_the_runtime_is_not_a_missing_one(run: RunRecord) -> None:
    streaming = of("LST-01", Outcome.UNSUPPORTED)

    old, new = (dataclasses.replace(run, api_level=ApiLevel(proven=level)) for level in ("1.26", "1.99"))

    assert "not counted: 1 newer than the API of this runtime" in said(
        old, 0, of("A-1", Outcome.PASSED), streaming
    )
    assert "not counted: 1 of optional features" in said(new, 0, of("A-1", Outcome.PASSED), streaming)


@pytest.mark.parametrize(
    ("code", "outcomes", "word"),
    [
        (0, [Outcome.PASSED, Outcome.UNSUPPORTED], "Conforms"),
        (0, [Outcome.PASSED, Outcome.KNOWN], "1 MUST broken"),
        (0, [Outcome.PASSED, Outcome.BLOCKED], "No MUST broken, 1 not judged"),
        (1, [Outcome.FAILED, Outcome.KNOWN], "2 MUSTs broken"),
        (1, [Outcome.PASSED], "Failed"),
    ],
)
def test_a_runtime_conforms_only_if_no_must_is_broken_and_each_is_judged(
    run: RunRecord, code: int, outcomes: list[Outcome], word: str
) -> None:
    tests = [of(f"A-{number}", outcome) for number, outcome in enumerate(outcomes)]

    whole = dataclasses.replace(run, exit_code=code, tests=tests, scope=RunScope(musts=9, musts_judged=9))

    assert verdict_word(whole)[0] == word


def test_unexpected_passes_and_missing_capabilities_are_not_breaches(run: RunRecord) -> None:
    surprise = of("A-1", Outcome.FAILED, why=Reason(code=ReasonCode.UNEXPECTED_PASS))
    missing = TestResult(
        id="missing", name="c", outcome=Outcome.FAILED, why=Reason(code=ReasonCode.CAPABILITY_MISSING)
    )

    assert said(run, 1, surprise) == "As the run says; 1 of 1 MUST met."
    assert musts(dataclasses.replace(run, tests=[surprise, missing])).broken == []


def test_a_run_without_a_verdict_says_why(run: RunRecord) -> None:
    assert said(run, 5) == "As the run says."
    assert said(run, 3, of("A-1", Outcome.FAILED)) == ("As the run says; 0 of 1 MUST met, 1 broken: A-1.")
