import dataclasses
from pathlib import Path

import pytest

from critests.catalogue.words import Outcome
from critests.record import CapabilityFact, MergeRefused, RunRecord
from critests.record.judgement import Circumstances
from critests.record.merge import merge
from critests.record.results import TestResult
from tests.report.sample_run import JUDGES, sample_run

CIRCUMSTANCES = Circumstances(judge_of=JUDGES.get)


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    return sample_run(tmp_path)


def shard(record: RunRecord, *tests: TestResult, **changes: object) -> RunRecord:
    return dataclasses.replace(record, tests=list(tests), **changes)  # type: ignore[arg-type]  # real fields only


def test_shards_are_judged_as_one_run(record: RunRecord) -> None:
    half = len(record.tests) // 2

    merged = merge(
        [
            shard(record, *record.tests[half:], started=record.started + 5),
            shard(record, *record.tests[:half]),
        ],
        CIRCUMSTANCES,
    )

    assert merged.counts.outcomes == record.counts.outcomes
    assert merged.root_causes[0].requirement == record.root_causes[0].requirement
    assert len(merged.root_causes[0].blocked) == len(record.root_causes[0].blocked)
    assert merged.exit_code == record.exit_code
    assert merged.started == record.started
    assert merged.workers == 4
    assert merged.coverage.rpcs["Version"] == 24


def test_a_set_up_judged_in_one_shard_gives_way_to_the_judge_of_another(record: RunRecord) -> None:
    blocked = TestResult(
        id="a::b",
        name="b",
        requirement="CTR-02",
        outcome=Outcome.BLOCKED,
        blocked_by="SBX-01",
        setup_rpc="RunPodSandbox",
        reason="no",
    )
    judged = dataclasses.replace(
        blocked,
        id="<judged in set-up of a::b>",
        requirement="SBX-01",
        outcome=Outcome.FAILED,
        synthesized=True,
    )
    judge_test = TestResult(id="c::d", name="d", requirement="SBX-01", outcome=Outcome.PASSED)

    merged = merge(
        [shard(record, blocked, judged, exit_code=1), shard(record, judge_test, exit_code=0)], CIRCUMSTANCES
    )

    assert {test.id: test.outcome for test in merged.tests} == {
        "a::b": Outcome.BLOCKED,
        "c::d": Outcome.PASSED,
    }
    assert any("SBX-01 passed its own test" in note for note in merged.notes)


def test_a_test_that_ran_twice_keeps_its_worst_outcome(record: RunRecord) -> None:
    good = TestResult(id="a::b", name="b", requirement="CTR-02", outcome=Outcome.PASSED)
    bad = dataclasses.replace(good, outcome=Outcome.FAILED)

    assert merge(
        [shard(record, bad, exit_code=1), shard(record, good, exit_code=0)], CIRCUMSTANCES
    ).tests == [dataclasses.replace(bad, requirement_id="CTR-02", group="CTR")]


def test_what_runs_disagree_about_is_unknown(record: RunRecord) -> None:
    yes, no = (CapabilityFact(name="IPv6", present=present, evidence="e") for present in (True, False))

    merged = merge(
        [dataclasses.replace(record, capabilities=[yes]), dataclasses.replace(record, capabilities=[no])],
        CIRCUMSTANCES,
    )

    assert merged.capabilities[0].present is None
    assert "the merged runs disagree about IPv6" in merged.notes


def test_records_of_strangers_are_refused(record: RunRecord) -> None:
    other = dataclasses.replace(record, runtime=dataclasses.replace(record.runtime, version="2.1.9"))

    with pytest.raises(MergeRefused, match="different versions of the runtime cannot be one run"):
        merge([record, other], CIRCUMSTANCES)
    with pytest.raises(MergeRefused, match="nothing to merge"):
        merge([], CIRCUMSTANCES)
