import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest

from critests.record.judgement import JudgeContext
from critests.record.merge import merge
from critests.record.run_record import RunRecord, RunScope
from critests.report.wording.endings import worded
from critests.report.wording.partial_run import partial
from tests.report.sample_run import JUDGES, sample_run


def merged_of(records: Sequence[RunRecord], context: JudgeContext) -> RunRecord:
    return worded(*merge(records, context))


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    return sample_run(tmp_path)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"scope": RunScope(musts_judged=3, musts=9)}, ""),
        (
            {"scope": RunScope(selection="--select IMG", musts_judged=3, musts=9)},
            "--select IMG; 3 of 9 MUSTs judged",
        ),
        (
            {"scope": RunScope(shards=["1/3"], musts_judged=3, musts=9)},
            "shard 1/3; 3 of 9 MUSTs judged",
        ),
        ({"scope": RunScope(), "interrupted": True}, "interrupted"),
    ],
    ids=["whole", "selection", "shard", "interrupted"],
)
def test_what_a_run_was_about(record: RunRecord, changes: dict[str, object], said: str) -> None:
    changed = dataclasses.replace(record, interrupted=False)
    assert partial(dataclasses.replace(changed, **changes)) == said  # type: ignore[arg-type]  # real fields


@pytest.mark.parametrize(
    ("scopes", "selection", "shards"),
    [
        ([RunScope(shards=["1/2"]), RunScope(shards=["2/2"])], "", []),
        ([RunScope(shards=["1/3"]), RunScope(shards=["2/3"])], "", ["1/3", "2/3"]),
        ([RunScope(selection="--select IMG"), RunScope()], "", []),
        ([RunScope(selection="--select IMG"), RunScope(selection="-k x")], "--select IMG | -k x", []),
    ],
    ids=["all shards", "a shard is missing", "one is whole", "two selections"],
)
def test_what_merged_runs_are_about(
    record: RunRecord, scopes: list[RunScope], selection: str, shards: list[str]
) -> None:
    parts = [dataclasses.replace(record, scope=scope) for scope in scopes]

    scope = merged_of(parts, JudgeContext(judge_of=JUDGES.get)).scope

    assert (scope.selection, scope.shards) == (selection, shards)
    assert scope.musts_judged > 0
