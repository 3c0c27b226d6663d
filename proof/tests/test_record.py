"""The record of an audit: what became of faults, counted."""

import json

from critests_proof.record import AuditCoverage, AuditRecord, FaultOutcome, FaultResult, Score, scores
from sample_audit import ABSENT, FILLED, LOST, NOTICED, SAME, SURVIVED

from critests.record.codec import from_plain, to_plain


def test_a_record_is_read_as_it_was_written() -> None:
    record = AuditRecord(
        runtime="containerd 2.1.9",
        seed=7,
        coverage={"request": AuditCoverage(fields=3, seen=2, missing=["Version.request.version"])},
        faults=[NOTICED, SURVIVED],
    )
    assert from_plain(AuditRecord, json.loads(json.dumps(to_plain(record)))) == record


def test_what_is_not_reached_counts_but_not_what_nobody_could_notice() -> None:
    score = Score.of([NOTICED, SURVIVED, LOST, LOST, FILLED, ABSENT, SAME])
    assert score.of_reached == 0.5
    assert score.of_all == 0.25
    assert Score.of([FILLED]).of_reached is None


def test_scores_by_area_and_rpc() -> None:
    results = [NOTICED, SURVIVED]
    assert {name: score.noticed for name, score in scores(results, "area").items()} == {
        "containers": 1,
        "runtime": 0,
    }
    assert list(scores(results, "rpc")) == ["StopContainer", "Version"]


def test_how_many_more_tests_get_there() -> None:
    assert SURVIVED.untried == 3
    assert FaultResult(fault="a", kind="call", text="", outcome=FaultOutcome.NOTICED).untried == 0
