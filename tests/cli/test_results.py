"""`critests results`, as a user calls it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from critests.cli.results import results
from critests.record.files import read
from critests.record.run_layout import RUN_FILE
from tests.report.store.small_run import small_run, store


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(results, [str(argument) for argument in arguments])


def test_runs_are_listed_the_newest_first(tmp_path: Path) -> None:
    store(tmp_path, small_run())
    store(tmp_path, small_run({"SBX-01": "F"}, night=1))
    store(tmp_path, small_run(kind="benchmark", night=2))

    lines = call("list", tmp_path, "--kind", "validation").output.splitlines()

    assert [line.split("  ")[:2] for line in lines] == [
        ["2026-11-19 11:06", "exit 1"],
        ["2026-11-18 11:06", "exit 0"],
    ]
    assert lines[0].endswith("containerd/2.1.0/1795086400")
    assert json.loads(call("list", tmp_path, "--json").output.splitlines()[0])["kind"] == "benchmark"


def test_a_damaged_run_is_reported_and_hides_no_other(tmp_path: Path) -> None:
    folder = store(tmp_path, small_run())
    folder.with_name("9").mkdir()
    (folder.with_name("9") / RUN_FILE).write_text("{")

    listed = call("list", tmp_path)

    assert listed.exit_code == 0
    assert "containerd/2.1.0/9: skipped:" in listed.stderr
    assert "containerd/2.1.0/1795000000" in listed.stdout


def test_pruning_only_lists_runs_without_yes(tmp_path: Path) -> None:
    old, new = store(tmp_path, small_run()), store(tmp_path, small_run(night=1))

    dry = call("prune", tmp_path, "--keep", "1")
    assert dry.output.splitlines() == [
        "containerd/2.1.0/1795000000  number 2 of its runtime, version and kind; --keep 1",
        "1 run would be removed; pass --yes to remove",
    ]
    assert old.exists()

    assert call("prune", tmp_path, "--keep", "1", "--yes").output.splitlines() == [
        "containerd/2.1.0/1795000000  removed",
        "1 run removed",
    ]
    assert not old.exists()
    assert new.exists()
    assert call("list", tmp_path).output.count("\n") == 1


def test_a_run_that_cannot_be_removed_is_reported(tmp_path: Path) -> None:
    old = store(tmp_path, small_run())
    store(tmp_path, small_run(night=1))
    real = tmp_path / "elsewhere"
    old.rename(real)
    old.symlink_to(real)

    ended = call("prune", tmp_path, "--keep", "1", "--yes")

    assert ended.exit_code == 3
    assert "is a symbolic link" in ended.stderr
    assert (real / RUN_FILE).exists()


@pytest.mark.parametrize(
    "arguments", [[], ["--newer-than", "soon"], ["--newer-than", "-1d"], ["--keep", "0"]]
)
def test_pruning_needs_to_know_what_to_keep(tmp_path: Path, arguments: list[str]) -> None:
    ended = call("prune", tmp_path, *arguments)

    assert ended.exit_code == 2  # click's own; `critests` makes 4 of it
    assert "keep" in ended.stderr or "expected a duration" in ended.stderr


@pytest.mark.parametrize("age", ["90d", "12w", "36h"])
def test_ages_are_days_weeks_or_hours(tmp_path: Path, age: str) -> None:
    store(tmp_path, small_run(night=-400))
    store(tmp_path, small_run(night=-399))

    assert "1 run would be removed" in call("prune", tmp_path, "--newer-than", age).output


def test_shards_are_merged(tmp_path: Path) -> None:
    parts = {"a": {"SBX-01": "P"}, "b": {"SBX-02": "F"}}
    shards = [store(tmp_path / name, small_run(verdicts)) for name, verdicts in parts.items()]

    ended = call("merge", *shards, "--results", tmp_path / "results")

    assert ended.exit_code == 1
    folder = Path(ended.output.splitlines()[-1].removeprefix("record: "))
    assert set(read(folder).requirements) == {"SBX-01", "SBX-02"}
    stranger = store(tmp_path / "c", small_run(version="9.9.9"))
    assert (
        "versions of the runtime"
        in call("merge", shards[0], stranger, "--results", tmp_path / "results").stderr
    )
