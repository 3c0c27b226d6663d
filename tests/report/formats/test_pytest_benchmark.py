import json
import subprocess
import sys
from pathlib import Path

from critests.record.samples import Series
from critests.record.units import PER_SECOND
from critests.report.formats.pytest_benchmark import full_name, to_pytest_benchmark
from tests.report.sample_benchmark import sample_benchmark


def test_every_duration_has_an_entry_with_a_unique_name() -> None:
    record, series = sample_benchmark(sides=True, size=60)
    entries = to_pytest_benchmark(record, series)["benchmarks"]

    names = [entry["fullname"] for entry in entries]
    assert len(names) == len(set(names)) == sum(each.unit == "s" for each in series)
    assert "critests/benchmark/B-18::ListContainers[containers=100-side=a]" in names
    assert all(entry["stats"]["rounds"] == len(entry["stats"]["data"]) for entry in entries)


def test_an_entry_has_errors_warm_up_and_supported_quantiles() -> None:
    record, series = sample_benchmark(size=400)
    entries = {entry["name"]: entry for entry in to_pytest_benchmark(record, series)["benchmarks"]}

    stop = entries["StopContainer"]
    assert stop["extra_info"]["errors"] == {"UNKNOWN": 1, "DEADLINE_EXCEEDED": 1}
    assert stop["extra_info"]["calls"] == stop["stats"]["rounds"] + 5 + 2
    assert set(stop["extra_info"]["quantiles"]) == {"p10", "p50", "p90"}


def test_names_do_not_depend_on_the_order_of_dimensions_and_failed_series_have_none() -> None:
    one = Series(scenario="B-04", operation="RunPodSandbox", dimensions={"b": "2", "a": "1"})
    other = Series(scenario="B-04", operation="RunPodSandbox", dimensions={"a": "1", "b": "2"})
    failed = Series(scenario="B-04", operation="StopPodSandbox")
    failed.add(0.1, 0.0, code="UNKNOWN")
    rate = Series(scenario="B-28", operation="pod cycle", unit=PER_SECOND, value=[2.0], at=[0.0])

    nothing = Series(scenario="B-33", operation="gap", value=[0.0, 0.0], at=[0.0, 1.0])

    assert full_name(one) == full_name(other)
    entries = to_pytest_benchmark(sample_benchmark(size=20)[0], [failed, rate, nothing])["benchmarks"]
    assert entries == []


def test_operations_with_equal_names_are_numbered() -> None:
    record, series = sample_benchmark(size=60)
    create = next(each for each in series if each.operation == "CreateContainer")

    entries = to_pytest_benchmark(record, [create, create])["benchmarks"]

    assert [entry["fullname"].partition("::")[2] for entry in entries] == [
        "CreateContainer",
        "CreateContainer#2",
    ]


def test_pytest_benchmark_compares_two_files(tmp_path: Path) -> None:
    record, series = sample_benchmark(size=40)
    files = [tmp_path / f"{name}.json" for name in ("old", "new")]
    for file in files:
        file.write_text(json.dumps(to_pytest_benchmark(record, series), allow_nan=False))

    command = [
        sys.executable,
        "-m",
        "pytest_benchmark",
        "compare",
        *map(str, files),
        "--columns=median,rounds",
        "--group-by=fullname",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=60)

    assert done.returncode == 0, done.stderr
    assert "Failed to load" not in done.stdout + done.stderr
    assert done.stdout.count("ListContainers[containers=100] (") == 2
    assert json.loads(files[0].read_text())["datetime"].startswith("2026-11-")
