from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critests.record.record_errors import RecordNotWritten
from critests.record.run_layout import (
    evidence_name,
    new_run_folder,
    newest_first,
    run_named,
    safe_name,
    safe_test_id,
)


def test_two_runs_of_one_second_have_folders_of_their_own(tmp_path: Path) -> None:
    first = new_run_folder(tmp_path, "containerd", "v2.1.9+unknown", 1795000000.9)
    second = new_run_folder(tmp_path, "containerd", "v2.1.9+unknown", 1795000000.1)

    assert first.path == tmp_path / "containerd" / "v2.1.9+unknown" / "1795000000"
    assert second.path.name == "1795000001"
    assert first.record.name == "run.json"
    assert first.evidence("a.py::test_x[1]").parent == first.path / "evidence"


def test_a_results_folder_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")

    with pytest.raises(RecordNotWritten, match="cannot write"):
        new_run_folder(tmp_path / "results", "containerd", "1", 1.0)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("containerd", "containerd"),
        ("1.6.20~ds1", "1.6.20~ds1"),
        ("", "unknown"),
        ("..", "unknown"),
        ("../../etc/passwd", "-..-etc-passwd"),
        ("a b\n/c", "a-b-c"),
    ],
)
def test_names_from_a_runtime_cannot_leave_the_results_folder(text: str, name: str) -> None:
    assert safe_name(text) == name


@given(st.text())
def test_a_safe_id_is_a_plain_file_name_whatever_the_id(text: str) -> None:
    name = safe_test_id(text)

    assert 9 < len(name) <= 120
    assert "/" not in name
    assert not name.startswith(".")
    assert name.isascii()
    assert name.isprintable()


def test_ids_that_differ_only_in_what_is_replaced_stay_apart() -> None:
    names = {safe_test_id(f"sandboxes/test_a.py::test_x[{param}]") for param in ("a/b", "a-b", "A-b", "a b")}

    assert len(names) == 4
    assert evidence_name("sandboxes/test_a.py::test_x[not ready]").startswith(
        "evidence/sandboxes.test_a.test_x-not-ready-"
    )


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with results of two runtimes, in which it is the working directory."""
    for run in ("containerd/1.7/1795000003", "containerd/2.1/1795000001", "cri-o/1.36/1795000002"):
        (tmp_path / "results" / run).mkdir(parents=True)
        (tmp_path / "results" / run / "run.json").write_text("{}")
    (tmp_path / "results/containerd/2.1/1795000009").mkdir()
    (tmp_path / "results/containerd/2.1/1795000001/run.json").rename(
        tmp_path / "results/containerd/2.1/1795000001/run.json.gz"
    )
    (tmp_path / "results/style/pages/css").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "results"


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("latest", "results/containerd/1.7/1795000003"),
        ("results/latest", "results/containerd/1.7/1795000003"),
        ("results/cri-o/latest", "results/cri-o/1.36/1795000002"),
        ("containerd/latest", "results/containerd/1.7/1795000003"),
        ("containerd/2.1/latest", "results/containerd/2.1/1795000001"),
        ("results/cri-o/1.36/1795000002", "results/cri-o/1.36/1795000002"),
        ("no/such/run", "no/such/run"),
    ],
)
@pytest.mark.usefixtures("results")
def test_latest_is_the_newest_run_with_a_record_below_what_stands_before_it(name: str, run: str) -> None:
    assert run_named(Path(name)) == Path(run)


def test_runs_are_found_the_newest_first(results: Path) -> None:
    found = newest_first(results)

    assert [run.name for run in found] == ["1795000003", "1795000002", "1795000001"]
    assert newest_first(results / "nothing") == []
