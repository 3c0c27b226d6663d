import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from critests.cli.import_ import import_
from critests.record.errors import RecordUnreadable
from critests.record.files import read
from critests.record.samples import Series, read_samples
from critests.report.formats.critest import write_files
from critests.report.formats.critest_reading import read_critest
from tests.report.sample_benchmark import sample_benchmark

CONTAINER = ["CreateContainer", "StartContainer", "StatusContainer", "StopContainer", "RemoveContainer"]
START = 1_700_000_000_000_000_000


def document(names: list[str], cycles: int = 8, parallel: int = 1) -> dict[str, Any]:
    """Return what critest writes; the datapoints in the order in which workers finished."""
    points = [
        {
            "sampleIndex": index,
            "startTime": START + index * 1_000_000_000,
            "endTime": START + index * 1_000_000_000 + 500_000_000,
            "operationsDurationsNs": [(place + 1) * 10_000_000 + index for place in range(len(names))],
            "metaInfo": {"podId": "4f0c66a2d1"},
        }
        for index in reversed(range(cycles))
    ]
    return {"operationsNames": names, "numParallel": parallel, "datapoints": points}


def written(folder: Path, data: object, name: str = "container_benchmark_data.json") -> Path:
    """Write a file as critest does."""
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data, indent=1))
    return path


def refusal(folder: Path, data: object) -> str:
    """Return why a file is not imported."""
    with pytest.raises(RecordUnreadable) as caught:
        read_critest([written(folder, data)], runtime="containerd", version="1.7.1")
    return str(caught.value)


def test_operations_get_the_names_of_rpcs_and_the_order_of_sample_indices(tmp_path: Path) -> None:
    path = written(tmp_path, document(CONTAINER, parallel=4), "containers_benchmark_data.json")
    record, series = read_critest([path], runtime="containerd", version="1.7.1")

    assert [each.operation for each in series] == [
        "CreateContainer",
        "StartContainer",
        "ContainerStatus",
        "StopContainer",
        "RemoveContainer",
    ]
    assert {each.scenario for each in series} == {"critest-container"}
    assert {tuple(each.dimensions.items()) for each in series} == {(("parallel", "4"),)}
    assert series[1].value == pytest.approx([0.02 + index * 1e-9 for index in range(8)])
    assert series[1].at == pytest.approx([index + 0.01 for index in range(8)], abs=1e-6)
    assert (record.kind, record.runtime.name, record.runtime.version) == ("benchmark", "containerd", "1.7.1")
    assert record.started == START / 1e9
    assert record.operations[1].quantiles["0.5"].value == pytest.approx(0.02, abs=1e-6)


@pytest.mark.parametrize(
    ("names", "scenario"),
    [
        (["CreatePod", "StatusPod", "StopPod", "RemovePod"], "critest-pod"),
        (["PullImage", "StatusImage", "RemoveImage"], "critest-image-lifecycle"),
        (["ListImages"], "critest-image-listing"),
    ],
)
def test_what_a_file_holds_is_told_by_its_operations(tmp_path: Path, names: list[str], scenario: str) -> None:
    _, series = read_critest(
        [written(tmp_path, document(names), "renamed.json")], runtime="cri-o", version="1.31"
    )

    assert {each.scenario for each in series} == {scenario}
    assert len(series) == len(names)


def test_what_was_imported_is_written_as_it_was(tmp_path: Path) -> None:
    original = document(CONTAINER, parallel=2)
    record, series = read_critest([written(tmp_path, original)], runtime="containerd", version="1.7.1")

    (path,) = write_files(record, series, tmp_path / "out")

    again = json.loads(path.read_text())
    assert path.name == "container_benchmark_data.json"
    assert (again["operationsNames"], again["numParallel"]) == (CONTAINER, 2)
    points = sorted(original["datapoints"], key=lambda point: int(point["sampleIndex"]))
    assert [point["operationsDurationsNs"] for point in again["datapoints"]] == [
        point["operationsDurationsNs"] for point in points
    ]
    assert [point["startTime"] for point in again["datapoints"]] == pytest.approx(
        [point["startTime"] for point in points], abs=1000
    )
    assert set(again["datapoints"][0]) == {
        "sampleIndex",
        "startTime",
        "endTime",
        "operationsDurationsNs",
        "metaInfo",
    }


def test_only_whole_cycles_of_our_own_runs_are_written(tmp_path: Path) -> None:
    create, start = (
        Series(scenario="B-06", operation=name) for name in ("CreateContainer", "StartContainer")
    )
    for index in range(6):
        create.add(0.03, float(index), code="UNKNOWN" if index == 2 else "OK")
        if index != 2:
            start.add(0.04, index + 0.03, code="INTERNAL" if index == 4 else "OK")

    (path,) = write_files(sample_benchmark(size=20)[0], [start, create], tmp_path)

    data = json.loads(path.read_text())
    assert data["operationsNames"] == ["CreateContainer", "StartContainer"]
    assert [point["sampleIndex"] for point in data["datapoints"]] == [0, 1, 2, 3]


def test_sides_of_a_comparison_are_written_apart(tmp_path: Path) -> None:
    record, series = sample_benchmark(sides=True, size=40)

    found = {str(path.relative_to(tmp_path)) for path in write_files(record, series, tmp_path)}

    assert {
        "a/container_benchmark_data.json",
        "b/container_benchmark_data.json",
        "a/pod_benchmark_data.json",
    } <= found


def test_the_arrays_of_early_2022_are_read(tmp_path: Path) -> None:
    old = {"CreateContainer": [30_000_000] * 7, "StatusContainer": [900_000] * 6}
    record, series = read_critest([written(tmp_path, old)], runtime="containerd", version="1.6")

    assert [(each.operation, len(each.value), each.dimensions) for each in series] == [
        ("CreateContainer", 7, {}),
        ("ContainerStatus", 6, {}),
    ]
    assert any("early 2022" in note for note in record.notes)


def test_oddities_are_told_and_the_rest_is_kept(tmp_path: Path) -> None:
    data = document(CONTAINER)
    data["datapoints"][0]["operationsDurationsNs"] = [1, 2]
    data["datapoints"][1]["operationsDurationsNs"][0] = -5
    data["operationsNames"] = [*CONTAINER[:4], "FreezeContainer"]
    record, series = read_critest([written(tmp_path, data)], runtime="containerd", version="1.7.1")

    assert [len(each.value) for each in series] == [7, 8, 7, 7, 7]
    assert series[4].operation == "FreezeContainer"
    assert any("1 datapoint with another number" in note for note in record.notes)
    assert any("1 duration below zero" in note for note in record.notes)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("", "is empty: the critest that wrote it did not come to its end"),
        (json.dumps(document(CONTAINER))[:900], "is cut off after 900 characters"),
        ('{"datapoints": [1,}', ":1: not JSON"),
        ("[1, 2]", "it holds no JSON object"),
        ({"schema": "critests.run"}, "it has no operationsNames and no datapoints"),
        (
            document(["Boot", "Halt"]),
            "of its operations (Boot, Halt) none is one of critest's (CreateContainer, ",
        ),
        ({"operationsNames": [], "numParallel": 1, "datapoints": []}, "operationsNames is no list of names"),
        ({"operationsNames": CONTAINER, "numParallel": 1, "datapoints": {}}, "datapoints is no list"),
        (
            {"operationsNames": CONTAINER, "numParallel": 1, "datapoints": [7]},
            "datapoints[0] has no operationsDurationsNs",
        ),
        (
            {"operationsNames": CONTAINER, "numParallel": "two", "datapoints": []},
            'numParallel holds "two", which is no whole number',
        ),
        ({"CreateContainer": [1.5]}, "CreateContainer holds 1.5, which is no whole number"),
        ({"CreateContainer": [1 << 70]}, "a number that no clock shows"),
        (
            {"operationsNames": CONTAINER, "numParallel": 1, "datapoints": []},
            "there is not one sample to import",
        ),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_other_files_are_refused_in_one_sentence(tmp_path: Path, data: object, sentence: str) -> None:
    said = refusal(tmp_path, data)

    assert sentence in said
    assert "container_benchmark_data.json" in said
    assert "\n" not in said


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordUnreadable, match=r"cannot read .*nowhere\.json: No such file"):
        read_critest([tmp_path / "nowhere.json"], runtime="containerd", version="1")


def test_the_command_makes_a_run_with_its_samples(tmp_path: Path) -> None:
    path = written(tmp_path, document(CONTAINER))
    arguments = [
        str(path),
        "--runtime",
        "containerd",
        "--version",
        "1.7.1",
        "--results",
        str(tmp_path / "results"),
    ]

    done = CliRunner().invoke(import_, arguments)

    folder = tmp_path / "results" / "containerd" / "1.7.1" / "1700000000"
    assert (done.exit_code, done.stdout) == (0, f"40 samples of 5 operations: {folder}\n")
    assert read(folder).operations[0].count == 8
    assert len(read_samples(folder / "samples")) == 5
    assert "CreateContainer" in (folder / "report.html").read_text()


def test_the_command_refuses_what_is_cut_off(tmp_path: Path) -> None:
    path = written(tmp_path, '{"operationsNames": [')

    done = CliRunner().invoke(
        import_,
        [str(path), "--runtime", "containerd", "--version", "1.7.1", "--results", str(tmp_path / "results")],
    )

    assert done.exit_code == 5
    assert "is cut off after 21 characters" in done.output
    assert not (tmp_path / "results").exists()
