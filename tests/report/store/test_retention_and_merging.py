from pathlib import Path

import pytest

from critests.record.files import read, write
from critests.record.record_errors import MergeRejected
from critests.record.run_layout import RUN_FILE, RunFolder, evidence_name, safe_test_id
from critests.report.store import Index, RunEntry, merge_runs, remove, surplus
from tests.report.store.small_run import DAY, STARTED, small_run, store


def runs_of(results: Path) -> list[RunEntry]:
    with Index.of(results) as index:
        return index.runs()


def test_the_newest_of_each_line_are_not_removed(tmp_path: Path) -> None:
    for night in range(5):
        store(tmp_path, small_run(night=night))
    store(tmp_path, small_run(version="2.2.0", night=-90))
    store(tmp_path, small_run(kind="benchmark", night=-91))

    found = surplus(runs_of(tmp_path), now=STARTED + 5 * DAY, keep=2)

    assert [entry.started for entry, _ in found] == [STARTED, STARTED + DAY, STARTED + 2 * DAY], (
        "the oldest first"
    )
    assert "--keep 2" in found[0][1]


def test_old_runs_are_removed_but_never_the_newest_of_a_line(tmp_path: Path) -> None:
    for night in (0, 50, 99):
        store(tmp_path, small_run(night=night))
    store(tmp_path, small_run(version="2.2.0"))

    found = surplus(runs_of(tmp_path), now=STARTED + 100 * DAY, age=30 * DAY)

    assert [entry.started for entry, _ in found] == [STARTED, STARTED + 50 * DAY]
    assert found[0][1] == "100 days old; --newer-than 30d"


def test_removing_takes_the_run_and_nothing_else(tmp_path: Path) -> None:
    old = store(tmp_path, small_run(version="1.0.0"))
    new = store(tmp_path, small_run(version="1.0.0", night=1))
    neighbour = old.with_name("notes")
    neighbour.mkdir()
    (neighbour / "diary.txt").write_text("mine")

    removed, left = remove(
        tmp_path, [entry for entry, _ in surplus(runs_of(tmp_path), now=STARTED + DAY, keep=1)]
    )

    assert removed == ["containerd/1.0.0/1795000000"]
    assert not left
    assert not old.exists()
    assert new.exists()
    assert (neighbour / "diary.txt").exists()


def test_folders_that_changed_since_indexing_are_not_removed(tmp_path: Path) -> None:
    folders = [store(tmp_path, small_run(night=night)) for night in range(4)]
    found = surplus(runs_of(tmp_path), now=STARTED, keep=1)
    write(small_run(run_id="1795000000-ffffff"), folders[0])
    (folders[1] / RUN_FILE).write_text("{}")
    real = tmp_path / "elsewhere"
    folders[2].rename(real)
    folders[2].symlink_to(real)

    removed, left = remove(tmp_path, [entry for entry, _ in found])

    assert removed == []
    assert [
        "now contains run" in left["containerd/2.1.0/" + folders[0].name],
        "is not" in left["containerd/2.1.0/" + folders[1].name],
    ] == [
        True,
        True,
    ]
    assert "is a symbolic link" in left["containerd/2.1.0/" + folders[2].name]
    assert (real / RUN_FILE).exists()


def test_shards_become_one_run_with_their_evidence(tmp_path: Path) -> None:
    parts = [{"SBX-01": "P", "SBX-02": "F"}, {"SBX-03": "P", "SBX-04": "U"}]
    folders = [
        store(tmp_path / f"shard {number}", small_run(verdicts)) for number, verdicts in enumerate(parts)
    ]
    record = read(folders[0])
    failed = next(test for test in record.tests if test.requirement == "SBX-02")
    object.__setattr__(failed, "evidence", evidence_name(failed.id))
    write(record, folders[0])
    (folders[0] / failed.evidence).mkdir(parents=True)
    (folders[0] / failed.evidence / "log.txt").write_text("what it said")
    calls = RunFolder(folders[0]).calls / f"{safe_test_id(failed.id)}.jsonl.gz"
    calls.parent.mkdir()
    calls.write_bytes(b"calls")

    folder, joined = merge_runs(folders, tmp_path / "results")

    assert {name: verdict.outcome.value for name, verdict in joined.requirements.items()} == {
        "SBX-01": "passed",
        "SBX-02": "failed",
        "SBX-03": "passed",
        "SBX-04": "unsupported",
    }
    assert joined.exit_code == 1
    assert read(folder).requirements == joined.requirements
    assert (folder / failed.evidence / "log.txt").read_text() == "what it said"
    assert (folder / "calls" / calls.name).read_bytes() == b"calls"
    assert (folder / "report.html").exists()
    assert all((each / RUN_FILE).exists() for each in folders), "the parts stay"


def test_runs_of_different_runtimes_are_not_merged(tmp_path: Path) -> None:
    folders = [store(tmp_path, small_run(version=version)) for version in ("2.0.0", "2.1.0")]

    with pytest.raises(MergeRejected, match="versions of the runtime"):
        merge_runs(folders, tmp_path)
