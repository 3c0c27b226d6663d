"""A description states the promise and the reason of a failure once each."""

import dataclasses
from pathlib import Path

from critests.catalogue.words import Outcome
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.record.run_record import RunRecord
from critests.report.facts.explanations import description, promise_of, title_of
from critests.report.validation.validation_page import validation_to_html
from tests.report.sample_run import sample_run

PROMISE = "A container that is stopped MUST be exited."


def failing(folder: Path) -> tuple[RunRecord, TestResult]:
    """Return a record with one failure, as the suite writes it: the promise is the expected value."""
    record = sample_run(folder)
    broken = next(test for test in record.tests if test.outcome is Outcome.FAILED)
    failure = dataclasses.replace(
        broken, title=PROMISE, reason="it runs still", seen="it runs still\nfor 5 s"
    )
    return dataclasses.replace(record, tests=[failure], root_causes=[], notes=[]), failure


def test_in_a_text(tmp_path: Path) -> None:
    text = description(failing(tmp_path)[1])

    assert text.count(PROMISE) == 1
    assert text.count("it runs still") == 1


def test_in_a_card_of_the_page(tmp_path: Path) -> None:
    page = validation_to_html(failing(tmp_path)[0])
    card = page[page.index('class="pair failed"') - 400 : page.index('class="pair failed"') + 400]

    assert card.count(f">{PROMISE}<") == 1
    assert "<pre>it runs still\nfor 5 s</pre>" in card
    assert card.count("it runs still") == 1


def test_a_crash_breaks_the_promise_of_its_own_requirement() -> None:
    passed = TestResult(
        id="a",
        name="a",
        requirement="GEN-17",
        requirement_id="GEN-17",
        outcome=Outcome.FAILED,
        title="X MUST Y.",
    )
    crash = dataclasses.replace(passed, why=Reason(code=ReasonCode.RUNTIME_ENDED))

    assert promise_of(passed) == "X MUST Y."
    assert promise_of(crash) == title_of("GEN-17") != ""
