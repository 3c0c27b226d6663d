import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest

from critests.catalogue.words import Outcome
from critests.record.judgement import JudgeContext
from critests.record.merge import merge
from critests.record.reasons import Reason, ReasonCode
from critests.record.record_errors import MergeRejected
from critests.record.result_records import TestResult
from critests.record.run_record import CapabilityFact, RunRecord
from critests.report.wording.endings import worded
from tests.report.sample_run import JUDGES, sample_run

CONTEXT = JudgeContext(judge_of=JUDGES.get)


def merged_of(records: Sequence[RunRecord], context: JudgeContext) -> RunRecord:
    return worded(*merge(records, context))


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    return sample_run(tmp_path)


def shard(record: RunRecord, *tests: TestResult, **changes: object) -> RunRecord:
    return dataclasses.replace(record, tests=list(tests), **changes)  # type: ignore[arg-type]  # real fields only


def test_shards_are_judged_as_one_run(record: RunRecord) -> None:
    half = len(record.tests) // 2

    merged = merged_of(
        [
            shard(record, *record.tests[half:], started=record.started + 5),
            shard(record, *record.tests[:half]),
        ],
        CONTEXT,
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
        stands_for="a::b",
    )
    judge_test = TestResult(id="c::d", name="d", requirement="SBX-01", outcome=Outcome.PASSED)

    merged = merged_of(
        [shard(record, blocked, judged, exit_code=1), shard(record, judge_test, exit_code=0)], CONTEXT
    )

    assert {test.id: test.outcome for test in merged.tests} == {
        "a::b": Outcome.BLOCKED,
        "c::d": Outcome.PASSED,
    }
    assert any("SBX-01 passed its own test" in note for note in merged.notes)


DIED = Reason(code=ReasonCode.RUNTIME_ENDED, words="it died")
PASSED = TestResult(id="a::b", name="b", requirement="CTR-02", outcome=Outcome.PASSED)
ABSENT = TestResult(
    id="c::d", name="d", requirement="EVT-02", outcome=Outcome.UNSUPPORTED, reason="no events"
)


@pytest.mark.parametrize(
    ("part", "code", "reason"),
    [
        (
            {"tests": [PASSED], "runtime_gone": DIED},
            5,
            "it died",
        ),
        (
            {"tests": [ABSENT], "runtime_gone": DIED},
            5,
            "it died",
        ),
        (
            {"tests": [ABSENT], "exit_reason": "no test of a MUST could run"},
            0,
            "no new failure",
        ),
    ],
    ids=["gone", "gone at once", "nothing binding"],
)
def test_a_part_that_could_not_be_tested(
    record: RunRecord, part: dict[str, object], code: int, reason: str
) -> None:
    whole = shard(record, dataclasses.replace(PASSED, id="e::f"), exit_code=0)
    broken = shard(record, dataclasses.replace(PASSED, id="e::f", outcome=Outcome.FAILED), exit_code=1)
    lost = dataclasses.replace(record, **{"exit_code": 5, "exit_reason": "", **part})  # type: ignore[arg-type]  # real fields only

    merged = merged_of([whole, lost], CONTEXT)

    assert (merged.exit_code, reason in merged.exit_reason) == (code, True)
    assert merged_of([merged, broken], CONTEXT).exit_code == 1, "what was found counts"


@pytest.mark.parametrize(
    ("codes", "together"),
    [((0, 1, 5), 1), ((0, 5), 5), ((1, 5, 3), 3), ((5, 3, 2), 2), ((0, 1), 1), ((0, 0), 0)],
)
def test_the_gravest_end_of_a_part_stays(record: RunRecord, codes: tuple[int, ...], together: int) -> None:
    parts: dict[int, dict[str, object]] = {
        0: {"tests": [PASSED]},
        1: {"tests": [dataclasses.replace(PASSED, id="e::f", outcome=Outcome.FAILED)]},
        2: {"tests": [PASSED], "interrupted": True},
        3: {"tests": [PASSED], "harness_error": "pytest itself failed"},
        5: {"tests": [PASSED], "runtime_gone": DIED},
    }
    records = [
        dataclasses.replace(record, exit_code=code, **parts[code])  # type: ignore[arg-type]  # real fields only
        for code in codes
    ]

    assert merged_of(records, CONTEXT).exit_code == together


def test_a_test_that_ran_twice_keeps_its_worst_outcome(record: RunRecord) -> None:
    good = TestResult(id="a::b", name="b", requirement="CTR-02", outcome=Outcome.PASSED)
    bad = dataclasses.replace(good, outcome=Outcome.FAILED)

    assert merged_of([shard(record, bad, exit_code=1), shard(record, good, exit_code=0)], CONTEXT).tests == [
        dataclasses.replace(bad, requirement_id="CTR-02", group="CTR")
    ]


def test_what_runs_disagree_about_is_unknown(record: RunRecord) -> None:
    yes, no = (CapabilityFact(name="IPv6", present=present, evidence="e") for present in (True, False))

    merged = merged_of(
        [dataclasses.replace(record, capabilities=[yes]), dataclasses.replace(record, capabilities=[no])],
        CONTEXT,
    )

    assert merged.capabilities[0].present is None
    assert "the merged runs disagree about IPv6" in merged.notes


def test_records_of_strangers_are_refused(record: RunRecord) -> None:
    other = dataclasses.replace(record, runtime=dataclasses.replace(record.runtime, version="2.1.9"))

    with pytest.raises(MergeRejected, match="different versions of the runtime cannot be one run"):
        merged_of([record, other], CONTEXT)
    with pytest.raises(MergeRejected, match="nothing to merge"):
        merged_of([], CONTEXT)
