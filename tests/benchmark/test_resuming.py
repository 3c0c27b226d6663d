"""A benchmark resumes only an earlier one of the same runtime and machine."""

import dataclasses
from pathlib import Path

import pytest

from critests.benchmark.benchmark_resuming import StoppedBenchmark
from critests.catalogue.words import Outcome
from critests.exit_codes import CannotTest, UsageError
from critests.node.observing.machine_facts import fingerprint
from critests.record.files import write
from critests.record.identity import RuntimeIdentity
from critests.record.operations import BenchmarkFacts, OperationResult
from critests.record.run_record import RunRecord
from critests.run.run_settings import Settings
from tests.report.sample_run import sample_run

FACTS = BenchmarkFacts(profile="smoke", seed=7, budget_seconds=30.0)
OF_B01 = OperationResult(scenario="B-01", operation="Version")
OF_B11 = OperationResult(scenario="B-11", operation="pod cycle")


@pytest.fixture
def record(tmp_path: Path) -> RunRecord:
    """A benchmark of two scenarios, one of which was measured."""
    plain = sample_run(tmp_path)
    done, failed = (
        dataclasses.replace(plain.tests[0], id=name, name=name, outcome=outcome)
        for name, outcome in (("done", Outcome.PASSED), ("failed", Outcome.ERROR))
    )
    return dataclasses.replace(
        plain,
        kind="benchmark",
        machine=fingerprint(),
        tests=[done, failed],
        operations=[OF_B01, OF_B11],
        benchmark=FACTS,
    )


@pytest.fixture
def stored(record: RunRecord, tmp_path: Path) -> Path:
    (tmp_path / "run" / "samples").mkdir(parents=True)
    (tmp_path / "run" / "samples" / "B-01.jsonl.gz").write_bytes(b"samples")
    write(record, tmp_path / "run")
    return tmp_path / "run"


def resumed(run: Path, **given: object) -> StoppedBenchmark:
    settings = Settings.read(
        {"cri_resume": str(run), **{f"cri_{name}": each for name, each in given.items()}}.get
    )
    stopped = StoppedBenchmark.of(settings, "smoke")
    assert stopped is not None
    return stopped


def test_without_the_option_no_run_is_resumed() -> None:
    assert StoppedBenchmark.of(Settings(), "smoke") is None


@pytest.mark.parametrize("named", ["run", "run/run.json"])
def test_results_and_samples_are_reused(stored: Path, tmp_path: Path, named: str) -> None:
    earlier = resumed(stored.parent / named)

    earlier.copy_samples({"B-01", "B-11"}, tmp_path / "new" / "samples")

    assert earlier.tests.keys() == {"done"}
    assert earlier.operations({"B-01"}) == [OF_B01]
    assert [path.name for path in (tmp_path / "new" / "samples").iterdir()] == ["B-01.jsonl.gz"]
    assert earlier.record.run_id in earlier.note({"B-01"})


def test_deselected_tests_have_their_earlier_results(stored: Path, record: RunRecord) -> None:
    left_out = [dataclasses.replace(test, outcome=Outcome.DISABLED) for test in record.tests]

    outcomes = [test.outcome for test in resumed(stored).with_earlier_results(left_out)]

    assert outcomes == [Outcome.PASSED, Outcome.DISABLED]


def test_a_run_of_the_same_runtime_and_machine_is_resumed(stored: Path, record: RunRecord) -> None:
    resumed(stored).check_same_setup((record.runtime.name, record.runtime.version), {}, 30.2)


@pytest.mark.parametrize(
    ("runtime", "sides", "seconds", "fact"),
    [
        (("another", "1"), {}, 30.0, "runtime"),
        (None, {"a": RuntimeIdentity(name="one", version="1")}, 30.0, "sides"),
        (None, {}, 60.0, "seconds of sampling"),
    ],
)
def test_another_runtime_is_rejected(
    stored: Path,
    record: RunRecord,
    runtime: tuple[str, str] | None,
    sides: dict[str, RuntimeIdentity],
    seconds: float,
    fact: str,
) -> None:
    same = record.runtime.name, record.runtime.version

    with pytest.raises(CannotTest, match=f"the {fact} of the earlier run was"):
        resumed(stored).check_same_setup(runtime or same, sides, seconds)


def test_another_machine_is_rejected(record: RunRecord, tmp_path: Path) -> None:
    write(
        dataclasses.replace(record, machine=record.machine | {"cpu": {"model": "another"}}), tmp_path / "run"
    )
    same = record.runtime.name, record.runtime.version

    with pytest.raises(CannotTest, match="the processor of the earlier run was another"):
        resumed(tmp_path / "run").check_same_setup(same, {}, 30.0)


@pytest.mark.parametrize(
    ("changes", "given", "message"),
    [
        ({"kind": "validation"}, {}, "not a benchmark"),
        ({"benchmark": None}, {}, "not a benchmark"),
        ({"benchmark": dataclasses.replace(FACTS, profile="full")}, {}, "--profile full"),
        ({}, {"seed": "8"}, "--seed 7"),
        ({}, {"seed": "0"}, "--seed 7"),
    ],
)
def test_another_profile_or_seed_is_rejected(
    record: RunRecord, tmp_path: Path, changes: dict[str, object], given: dict[str, object], message: str
) -> None:
    write(dataclasses.replace(record, **changes), tmp_path / "run")  # type: ignore[arg-type]  # real fields only

    with pytest.raises(UsageError, match=message):
        resumed(tmp_path / "run", **given)


def test_a_folder_without_a_run_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--resume"):
        resumed(tmp_path)
