"""What changed since the last good run of the same machine, and what is lacking where that cannot be told."""

import io
from pathlib import Path
from typing import Any

import pytest

from critests.exit_codes import ExitCode
from critests.record.identity import RuntimeIdentity
from critests.report.comparison import CompareSettings, StoredRun, read_run
from critests.report.comparison.since import SEEN, changed_since, earlier_run, last_good
from critests.report.comparison.since_terminal import LISTED, tell_since
from critests.report.terminal.console import new_console
from tests.report.comparison.sample_measured import MACHINE, STARTED, record, samples, store

NEW = 1_795_200_000
GOOD: dict[str, Any] = {"runtime": RuntimeIdentity(name="containerd", version="2.1.4")}


def run_of(results: Path, number: int, factors: dict[str, float] | None = None, **changes: Any) -> Path:  # noqa: ANN401 - fields of the record, and options of samples
    """Store a run under its number, as `critests bench` does."""
    options = {name: changes.pop(name) for name in ("count", "seed", "spread") if name in changes}
    return store(
        results / "containerd" / "2.1.4" / str(number),
        samples(factors, **options),
        run_id=f"{number}-aaaaaa",
        started=float(number),
        **GOOD | changes,
    )


def now(**changes: Any) -> Any:  # noqa: ANN401 - fields of the record
    return record(samples(), run_id=f"{NEW}-bbbbbb", started=float(NEW), **GOOD | changes)


def test_the_newest_run_that_is_good_and_alike_is_the_last_one(tmp_path: Path) -> None:
    run_of(tmp_path, NEW - 50)
    good = run_of(tmp_path, NEW - 40)
    run_of(tmp_path, NEW - 30, exit_code=int(ExitCode.BROKEN))
    run_of(tmp_path, NEW - 29, interrupted=True)
    run_of(tmp_path, NEW - 28, machine=MACHINE | {"kernel": "7.0"})
    run_of(tmp_path, NEW - 27, kind="validation")
    run_of(tmp_path, NEW - 26, operations=[])
    run_of(tmp_path, NEW - 25, runtime=RuntimeIdentity(name="containerd", version="2.1.4", handlers=["crun"]))
    (run_of(tmp_path, NEW - 24) / "run.json").write_text("{", encoding="utf-8")
    run_of(tmp_path, NEW + 10)

    assert last_good(tmp_path, now()) == good


def test_a_run_is_not_its_own_baseline(tmp_path: Path) -> None:
    run_of(tmp_path, NEW)

    assert last_good(tmp_path, now()) is None
    assert last_good(tmp_path / "nothing", now()) is None


def test_the_version_may_be_another(tmp_path: Path) -> None:
    older = store(
        tmp_path / "containerd" / "2.0.9" / "1795000000",
        samples(),
        runtime=RuntimeIdentity(name="containerd", version="2.0.9"),
    )

    assert last_good(tmp_path, now()) == older


def test_a_run_that_is_named_is_taken_as_it_is(tmp_path: Path) -> None:
    bad = run_of(tmp_path, NEW - 30, exit_code=int(ExitCode.BROKEN))

    found = earlier_run(str(bad), tmp_path, now())

    assert found is not None
    assert found.folder == bad
    assert earlier_run("last", tmp_path, now()) is None


def stored(tmp_path: Path, name: str, factors: dict[str, float] | None = None, **options: Any) -> StoredRun:  # noqa: ANN401 - as for samples
    return read_run(store(tmp_path / name, samples(factors, **options), run_id=name, started=STARTED))


def test_what_changed_is_told_and_the_rest_is_counted(tmp_path: Path) -> None:
    earlier = stored(tmp_path, "old")
    later = stored(tmp_path, "new", {"CreateContainer": 1.3, "StopPodSandbox": 0.7}, seed=2)

    found = changed_since(earlier, later, CompareSettings())

    assert [(each.operation, each.verdict) for each in found.changed] == [
        ("CreateContainer", "slower"),
        ("StopPodSandbox", "faster"),
    ]
    assert not found.still
    assert found.unchanged == 4


def test_nothing_changed_says_so(tmp_path: Path) -> None:
    found = changed_since(stored(tmp_path, "old"), stored(tmp_path, "new", seed=3), CompareSettings())

    assert (found.changed, found.still, found.unchanged) == ([], [], 6)


def test_a_short_run_lacks_samples(tmp_path: Path) -> None:
    later = stored(tmp_path, "new", count=12, seed=2)

    found = changed_since(stored(tmp_path, "old"), later, CompareSettings())

    assert len(found.still) == 6
    assert all(each.lacks.more >= 20 and not each.lacks.obstacle for each in found.still)


def test_a_short_earlier_run_is_the_one_to_repeat(tmp_path: Path) -> None:
    found = changed_since(
        stored(tmp_path, "old", count=12), stored(tmp_path, "new", seed=2), CompareSettings()
    )

    assert {each.lacks.more for each in found.still} == {0}
    assert all("the earlier run has 12 samples" in each.lacks.obstacle for each in found.still)


def test_a_difference_that_was_seen_and_is_not_proven_is_open(tmp_path: Path) -> None:
    earlier = stored(tmp_path, "old", count=2000, spread=0.4)
    later = stored(tmp_path, "new", {"RunPodSandbox": 1.12}, count=60, seed=4, spread=0.4)

    found = changed_since(earlier, later, CompareSettings())

    opened = {each.operation.operation: each for each in found.still}
    assert opened["RunPodSandbox"].why == SEEN
    assert opened["RunPodSandbox"].lacks.more > 0


def told(named: str, results: Path, folder: Path, width: int = 100) -> str:
    out = io.StringIO()
    tell_since(named, results, folder, new_console(out, width=width))
    return out.getvalue()


@pytest.mark.parametrize("width", [80, 100, 140])
def test_it_is_told_in_a_few_lines(tmp_path: Path, width: int) -> None:
    run_of(tmp_path, NEW - 40)
    folder = run_of(tmp_path, NEW, {"CreateContainer": 1.3}, seed=2)

    said = told("last", tmp_path, folder, width)

    assert max(map(len, said.splitlines())) <= min(width, 100)
    words = " ".join(said.split())
    assert words.startswith(f"Since containerd 2.1.4, run {NEW - 40}-aaaaaa")
    assert "slower B-08 CreateContainer: median 20.9 ms to 27" in words
    assert "5 operations without evidence of a difference" in words


def test_what_is_lacking_is_told_in_samples_and_in_times_of_the_run(tmp_path: Path) -> None:
    run_of(tmp_path, NEW - 40)
    folder = run_of(tmp_path, NEW, count=12, seed=2)

    words = " ".join(told("last", tmp_path, folder).split())

    assert "Cannot be told yet (6)" in words
    assert " samples more, " in words
    assert " times this run" in words
    assert LISTED > 6


def test_that_there_is_nothing_to_compare_with_is_said(tmp_path: Path) -> None:
    folder = run_of(tmp_path, NEW)

    assert "no earlier run is like this one" in " ".join(told("last", tmp_path, folder).split())
    assert "--baseline no/such" in told("no/such", tmp_path, folder)


def test_machines_that_differ_are_no_baseline_to_be_called(tmp_path: Path) -> None:
    other = run_of(tmp_path, NEW - 40, machine=MACHINE | {"kernel": "7.0"})
    folder = run_of(tmp_path, NEW)

    assert "machines are not alike (kernel)" in " ".join(told(str(other), tmp_path, folder).split())
