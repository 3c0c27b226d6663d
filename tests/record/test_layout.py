from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from critests.record import RecordNotWritten
from critests.record.layout import evidence_name, new_run_folder, safe_name, safe_test_id


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
