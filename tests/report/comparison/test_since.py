"""The last good run of the same machine, and what changed since then."""

import io
from pathlib import Path
from typing import Any

from critests.exit_codes import ExitCode
from critests.record.identity import RuntimeIdentity
from critests.report.comparison.changes_since import earlier_run, last_good, print_since
from critests.report.terminal.console import new_console
from tests.report.comparison.sample_measured import MACHINE, record, samples, store

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


def test_last_is_the_newest_good_and_comparable_run(tmp_path: Path) -> None:
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


def test_a_named_run_is_used_without_conditions(tmp_path: Path) -> None:
    bad = run_of(tmp_path, NEW - 30, exit_code=int(ExitCode.BROKEN))

    found = earlier_run(str(bad), tmp_path, now())

    assert found is not None
    assert found.folder == bad
    assert earlier_run("last", tmp_path, now()) is None


def printed(named: str, results: Path, folder: Path, width: int = 100) -> str:
    out = io.StringIO()
    print_since(named, results, folder, new_console(out, width=width))
    return out.getvalue()


def test_changes_are_printed(tmp_path: Path) -> None:
    run_of(tmp_path, NEW - 40)
    folder = run_of(tmp_path, NEW, {"CreateContainer": 1.3}, seed=2)

    lines = printed("last", tmp_path, folder, 140).splitlines()

    assert next(line for line in lines if "B-08 CreateContainer" in line).rstrip().endswith("slower")
    assert next(line for line in lines if "B-06 RunPodSandbox" in line).rstrip().endswith("difference")


def test_a_missing_baseline_is_reported(tmp_path: Path) -> None:
    folder = run_of(tmp_path, NEW)

    assert "found no earlier run to compare with" in " ".join(printed("last", tmp_path, folder).split())
    assert "--baseline no/such" in printed("no/such", tmp_path, folder)


def test_a_baseline_on_another_machine_is_not_compared(tmp_path: Path) -> None:
    other = run_of(tmp_path, NEW - 40, machine=MACHINE | {"kernel": "7.0"})
    folder = run_of(tmp_path, NEW)

    assert "the machines differ (kernel)" in " ".join(printed(str(other), tmp_path, folder).split())
