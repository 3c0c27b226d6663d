import dataclasses
import re
from pathlib import Path

import pytest

from critests.catalogue import load
from critests.catalogue.words import Outcome
from critests.record.run_record import RunRecord, RunScope
from critests.report.facts.stored_evidence import Budget, read_evidence
from critests.report.validation.validation_page import validation_to_html
from tests.report.pages import FORBIDDEN, Page, is_inert
from tests.report.sample_run import HOSTILE, sample_run, write_evidence


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    record = sample_run(tmp_path)
    write_evidence(record, tmp_path)
    return record


def test_the_page_is_inert(record: RunRecord, tmp_path: Path) -> None:
    is_inert(Page(validation_to_html(record, tmp_path)), scripts=1)


def test_a_failure_has_its_story(record: RunRecord, tmp_path: Path) -> None:
    text = Page(validation_to_html(record, tmp_path)).text

    for part in (
        "exit_code == 137",
        "critests run --select STP-02",
        "StopContainer",
        "61.7 ms",
        '"pod_sandbox_id": "4f0c66a2d1"',
        "Runtime log",
    ):
        assert part in text
    assert text.index("EXE-01") < text.index("SBA-02")
    assert "a line of the recorded calls could not be read" in text


def test_every_requirement_and_capability_is_there(record: RunRecord, tmp_path: Path) -> None:
    texts = set(Page(validation_to_html(record, tmp_path)).texts)

    assert {entry.id for entry in load().requirements} <= texts
    assert {fact.name for fact in record.capabilities} <= texts


def test_deselected_requirements_are_not_tested(record: RunRecord, tmp_path: Path) -> None:
    tested = next(name for name, each in record.requirements.items() if each.outcome is Outcome.PASSED)
    requirements = {
        name: each if name == tested else dataclasses.replace(each, outcome=Outcome.DISABLED)
        for name, each in record.requirements.items()
        if name in {entry.id for entry in load().requirements}
    }
    record = dataclasses.replace(record, requirements=requirements)

    text = Page(validation_to_html(record, tmp_path)).text

    assert re.search(r"Requirements\s+1 of \d+ tested in this run", text)


def test_hostile_output_is_inert_and_bounded(record: RunRecord, tmp_path: Path) -> None:
    write_evidence(record, tmp_path, log_bytes=10 * 1024 * 1024)
    one = dataclasses.replace(
        record.tests[0],
        outcome=Outcome.FAILED,
        name=HOSTILE,
        title=HOSTILE,
        reason=HOSTILE,
        seen=HOSTILE * 9000,
    )
    hostile = [dataclasses.replace(one, id=f"{HOSTILE}{number}") for number in range(300)]

    source = validation_to_html(
        dataclasses.replace(
            record, tests=[*record.tests, *hostile], notes=[HOSTILE], machine={HOSTILE: HOSTILE}
        ),
        tmp_path,
    )

    page = Page(source)
    assert page.tags.count("script") == 1
    assert not FORBIDDEN.search(source)
    assert len(source) < 15_000_000
    assert "bytes are left out here; see container.log for all of them" in source
    source.encode()


@pytest.mark.parametrize(
    ("code", "word"),
    [
        (0, "4 MUSTs broken"),
        (1, "4 MUSTs broken"),
        (2, "Interrupted"),
        (5, "Could not be tested"),
        (77, "Exit code 77"),
    ],
)
def test_the_headline_says_the_verdict(record: RunRecord, code: int, word: str) -> None:
    whole = dataclasses.replace(record, exit_code=code, scope=RunScope(musts_judged=9, musts=9))
    assert f"</span>{word}</p>" in validation_to_html(whole)


def test_the_head_has_the_first_promises_and_what_was_seen_and_no_bare_ids(record: RunRecord) -> None:
    head = validation_to_html(record).partition("<nav")[0]

    assert "stdout and stderr MUST be separate without a tty" in head
    assert "19 of 23 MUSTs met, 4 broken (1 of them known failures);" in head
    known = [test for test in record.tests if test.outcome is Outcome.KNOWN]
    only = dataclasses.replace(record, tests=[dataclasses.replace(known[0], known_as="it is so")])
    assert "it is so" in validation_to_html(only).partition("<nav")[0]


def test_a_partial_run_does_not_claim_conformance(record: RunRecord) -> None:
    scope = RunScope(selection="--select IMG", musts_judged=3, musts=9)
    passed = [test for test in record.tests if test.outcome is Outcome.PASSED]
    page = validation_to_html(dataclasses.replace(record, tests=passed, exit_code=0, scope=scope))

    assert "</span>In part only</p>" in page
    assert "--select</span> IMG; 3 of 9 MUSTs judged" in page


def test_a_run_without_tests_still_is_a_page(record: RunRecord) -> None:
    empty = RunRecord(
        run_id="r",
        suite_version="1",
        started=1.0,
        finished=1.0,
        runtime=dataclasses.replace(record.runtime, name="", handlers=[]),
    )

    assert "unknown runtime" in validation_to_html(empty)


def test_evidence_outside_the_run_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "a.log").write_text("secret")
    run = tmp_path / "run"
    (run / "evidence").mkdir(parents=True)
    (run / "evidence" / "link.log").symlink_to(tmp_path / "secret" / "a.log")

    assert read_evidence(run, "../secret", Budget(1000)).files == []
    assert read_evidence(run, "evidence", Budget(1000)).files == []
    assert read_evidence(run, "nowhere", Budget(1000)).note == "nowhere is missing"


def test_a_full_page_says_where_the_evidence_is(record: RunRecord, tmp_path: Path) -> None:
    failed = next(test for test in record.tests if test.evidence)

    assert "this page is full" in read_evidence(tmp_path, failed.evidence, Budget(0)).note
