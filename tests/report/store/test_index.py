import gzip
import json
import sqlite3
from pathlib import Path

import pytest

from critests.record.files import to_json
from critests.record.identity import RuntimeIdentity
from critests.record.operations import OperationResult, QuantileEstimate
from critests.record.result_records import RequirementVerdict
from critests.record.run_layout import RUN_FILE
from critests.report.store import Index, IndexUnusable
from critests.report.store.letters import LETTERS
from tests.report.sample_run import HOSTILE, sample_run
from tests.report.store.small_run import BY_LETTER, small_run, store


def test_a_run_is_indexed_with_its_facts(tmp_path: Path) -> None:
    verdicts = {"SBX-01": "P", "SBX-02": "F", "CTR-01": "U", "NEW-99": "K"}
    store(tmp_path, small_run(verdicts, exit_reason="a MUST is broken"))

    with Index.of(tmp_path) as index:
        (entry,) = index.runs()
        names = index.requirements()
        assert entry.path == "containerd/2.1.0/1795000000"
        assert (entry.runtime, entry.version, entry.exit_code, entry.exit_reason) == (
            "containerd",
            "2.1.0",
            1,
            "a MUST is broken",
        )
        assert {
            name: letter for name, letter in zip(names, entry.letters, strict=False) if letter != "."
        } == verdicts
        assert entry.reasons == {"SBX-02": "SBX-02 was not seen", "NEW-99": "NEW-99 was not seen"}
        assert names.index("SBX-01") < names.index("SBX-02"), "the catalogue's order"
        assert names[-1] == "NEW-99", "what the catalogue does not know comes last"


def test_deselected_tests_are_untested(tmp_path: Path) -> None:
    store(tmp_path, small_run({"SBX-01": "P", "SBX-02": "D"}))

    with Index.of(tmp_path) as index:
        assert index.runs()[0].letters.strip(".") == "P"


def test_every_outcome_of_a_whole_run_is_indexed(tmp_path: Path) -> None:
    record = sample_run(tmp_path)
    store(tmp_path, record)

    with Index.of(tmp_path) as index:
        letters = dict(zip(index.requirements(), index.runs()[0].letters, strict=False))
    assert {name: letters[name] for name in record.requirements} == {
        name: LETTERS[verdict.outcome] for name, verdict in record.requirements.items()
    }


def test_only_what_changed_is_read_again(tmp_path: Path) -> None:
    folders = [store(tmp_path, small_run(night=night)) for night in range(3)]
    with Index.of(tmp_path) as index:
        nothing = index.update(tmp_path)
        (folders[0] / RUN_FILE).write_text(to_json(small_run({"SBX-01": "F"})))
        (folders[1] / RUN_FILE).unlink()
        new = store(tmp_path, small_run(night=7))
        something = index.update(tmp_path)

        assert nothing == []
        assert [Path(path).name for path in something] == [folders[0].name, new.name]
        assert [entry.letters.strip(".") for entry in index.runs()] == ["P", "P", "F"], "the newest first"


def test_a_compressed_run_is_found_as_the_same_run(tmp_path: Path) -> None:
    folder = store(tmp_path, small_run({"SBX-01": "F"}))
    with Index.of(tmp_path) as index:
        before = index.runs()
        compressed = gzip.compress((folder / RUN_FILE).read_bytes())
        (folder / RUN_FILE).with_name("run.json.gz").write_bytes(compressed)
        (folder / RUN_FILE).unlink()

        index.update(tmp_path)
        assert [(run.path, run.reasons) for run in index.runs()] == [
            (run.path, run.reasons) for run in before
        ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "cut off"),
        ('{"schema": "critests.run", "schema_ver', "cut off"),
        ("[1, 2]", "is not a run record"),
        ("null", "is not a run record"),
        ("[" * 100_000, "is not"),
        ('{"schema": "somebody.else"}', "somebody.else"),
        ('{"schema": "critests.run", "schema_version": 999999}', "newer"),
        ('{"schema": "critests.run", "schema_version": 2, "run_id": 5}', "run_id"),
    ],
    ids=[
        "empty",
        "cut off",
        "a list",
        "null",
        "nested too deeply",
        "of another schema",
        "of the future",
        "of the wrong shape",
    ],
)
def test_a_damaged_run_is_reported_and_skipped(tmp_path: Path, content: str, said: str) -> None:
    good = store(tmp_path, small_run())
    bad = good.with_name("5")
    bad.mkdir()
    (bad / RUN_FILE).write_text(content)

    with Index.of(tmp_path) as index:
        assert [entry.path for entry in index.runs()] == ["containerd/2.1.0/1795000000"]
        ((path, problem),) = index.damaged().items()
        assert path == "containerd/2.1.0/5"
        assert said in problem
        assert index.update(tmp_path) == [], "it is not read again"


def test_a_run_that_cannot_be_read_is_damaged(tmp_path: Path) -> None:
    good = store(tmp_path, small_run())
    good.with_name("6").mkdir()
    (good.with_name("6") / RUN_FILE).write_bytes(b"\xff\xfe\x00")
    (good.with_name("7") / RUN_FILE).mkdir(parents=True)

    with Index.of(tmp_path) as index:
        assert sorted(index.damaged()) == ["containerd/2.1.0/6", "containerd/2.1.0/7"]
        assert len(index.runs()) == 1


def test_undecodable_names_are_accepted(tmp_path: Path) -> None:
    record = small_run(exit_reason=HOSTILE)
    folder = store(tmp_path, record)
    data = json.loads((folder / RUN_FILE).read_text())
    data["runtime"] = {"name": "con\udc80tainerd", "version": "\x00<b>"}
    (folder / RUN_FILE).write_text(json.dumps(data))

    with Index.of(tmp_path) as index:
        assert not index.damaged()
        assert index.runs()[0].version == "\x00<b>"


def test_a_damaged_or_foreign_index_is_rebuilt(tmp_path: Path) -> None:
    store(tmp_path, small_run())
    for content in (b"no database at all, but long enough to look like something", b""):
        (tmp_path / "index.sqlite").write_bytes(content)
        with Index.of(tmp_path) as index:
            assert len(index.runs()) == 1
    database = sqlite3.connect(tmp_path / "index.sqlite")
    with database:
        database.execute("UPDATE about SET value = '1'")
        database.execute("UPDATE runs SET runtime = 'old'")
    database.close()

    with Index.of(tmp_path) as index:
        assert index.runs()[0].runtime == "containerd"


def test_an_index_in_a_missing_folder_is_an_error_with_a_message(tmp_path: Path) -> None:
    with pytest.raises(IndexUnusable, match="cannot write the index"):
        Index.of(tmp_path / "nowhere")


def test_medians_and_the_highest_supported_quantile_are_indexed(tmp_path: Path) -> None:
    quantiles = {
        "0.1": QuantileEstimate(value=0.1),
        "0.5": QuantileEstimate(value=0.2, low=0.19, high=0.21),
        "0.99": QuantileEstimate(value=0.9, low=0.8, high=1.0),
        "0.9": QuantileEstimate(value=0.4),
    }
    operations = [
        OperationResult(
            scenario="B-06",
            operation="pod cycle",
            dimensions={"image": "plain"},
            headline=True,
            count=1000,
            quantiles=quantiles,
        ),
        OperationResult(scenario="B-06", operation="pod cycle", side="b", quantiles=quantiles),
        OperationResult(scenario="B-06", operation="all failed"),
    ]
    store(tmp_path, small_run(kind="benchmark", operations=operations))

    with Index.of(tmp_path) as index:
        (entry,) = index.runs(kind="benchmark")
        points = index.points([entry.number])
        ((number, of_runs),) = points.items()
        point = of_runs[entry.number]
        series = index.series()[number]
    assert (series.scenario, series.operation, series.dimensions, series.headline) == (
        "B-06",
        "pod cycle",
        {"image": "plain"},
        True,
    )
    assert (point.count, point.median, point.low, point.high) == (1000, 0.2, 0.19, 0.21)
    assert (point.tail_at, point.tail) == (0.99, 0.9)


def test_choices_where_the_api_leaves_one_are_indexed(tmp_path: Path) -> None:
    verdict = RequirementVerdict(outcome=BY_LETTER["P"], forms={"SBX-26/code": "NotFound"})
    store(tmp_path, small_run(requirements={"SBX-26": verdict}))

    with Index.of(tmp_path) as index:
        assert index.runs()[0].forms == {"SBX-26/code": "NotFound"}


def test_runs_are_chosen_by_runtime_version_and_kind(tmp_path: Path) -> None:
    store(tmp_path, small_run())
    store(tmp_path, small_run(version="2.2.0", night=1))
    store(tmp_path, small_run(kind="benchmark", night=2))
    store(tmp_path, small_run(runtime=RuntimeIdentity(name="cri-o", version="1.34.0"), night=3))

    with Index.of(tmp_path) as index:
        assert len(index.runs(runtime="containerd")) == 3
        assert len(index.runs(runtime="containerd", version="2.1.0", kind="validation")) == 1
        assert index.lines() == [("containerd", "2.1.0"), ("containerd", "2.2.0"), ("cri-o", "1.34.0")]
