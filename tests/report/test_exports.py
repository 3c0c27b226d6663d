from pathlib import Path

import pytest

from critests.record.files import read
from critests.record.record_errors import RecordNotWritten
from critests.report.exports import export
from tests.report.sample_run import sample_run


def test_a_run_and_the_requested_copies_are_written(tmp_path: Path) -> None:
    run_dir = tmp_path / "run"
    record = sample_run(tmp_path)

    files = export(
        record, run_dir, junit=tmp_path / "out" / "j.xml", html=tmp_path / "h.html", json=tmp_path / "r.json"
    )

    assert files == [
        run_dir / "run.json",
        tmp_path / "r.json",
        run_dir / "report.html",
        tmp_path / "h.html",
        run_dir / "junit.xml",
        tmp_path / "out" / "j.xml",
    ]
    assert read(tmp_path / "r.json").counts == record.counts
    assert (run_dir / "junit.xml").read_text() == (tmp_path / "out" / "j.xml").read_text()


def test_without_a_folder_only_the_requested_copies_are_written(tmp_path: Path) -> None:
    assert export(sample_run(tmp_path), None, junit=tmp_path / "j.xml") == [tmp_path / "j.xml"]


def test_other_files_are_written_even_if_one_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(RecordNotWritten, match=r"cannot write .*file/h\.html"):
        export(sample_run(tmp_path), tmp_path / "run", html=tmp_path / "file" / "h.html")

    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [
        "junit.xml",
        "report.html",
        "run.json",
    ]
