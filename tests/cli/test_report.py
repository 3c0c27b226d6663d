"""`critests report` as a user calls it."""

from pathlib import Path

import pytest

from critests.record.files import write
from critests.report.formats import FORMATS
from tests.plugin.command import called
from tests.report.sample_run import sample_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "1795000000"
    folder.mkdir()
    write(sample_run(tmp_path), folder)
    return folder


def test_help_lists_the_formats() -> None:
    ended = called("report", "--help")

    assert ended.returncode == 0
    assert all(f"  {name} " in ended.stdout for name in FORMATS)


def test_a_text_is_printed_or_written(run: Path, tmp_path: Path) -> None:
    printed = called("report", str(run), "--format", "junit")
    written = called(
        "report", str(run / "run.json"), "--format", "junit", "--output", str(tmp_path / "j.xml")
    )
    into = called("report", str(run), "--format", "prometheus", "--output", str(tmp_path))

    assert (printed.returncode, written.returncode, into.returncode) == (0, 0, 0)
    assert printed.stdout == (tmp_path / "j.xml").read_text()
    assert (tmp_path / "critests.prom").read_text().startswith("# HELP critests_run_info")
    assert "critests.prom" in into.stderr


def test_a_tree_is_written_for_several_runs(run: Path, tmp_path: Path) -> None:
    assert (
        called(
            "report", str(run), str(run), "--format", "testgrid", "--output", str(tmp_path / "bucket")
        ).returncode
        == 0
    )
    assert (
        tmp_path / "bucket" / "logs" / "critests-containerd-1.6" / "latest-build.txt"
    ).read_text() == "1795000000\n"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 4, "Missing argument"),
        (["/no/such/run"], 4, "does not exist"),
        (["RUN", "--format", "nosuch"], 4, "'nosuch' is not one of 'summary'"),
        (["RUN", "--format", "allure"], 4, "name it with --output"),
        (["RUN", "RUN", "--format", "junit"], 4, "takes one run, not 2"),
        (["RUN", "--format", "csv"], 3, "measured nothing"),
        (["BROKEN"], 3, "is cut off"),
        (["RUN", "--format", "junit", "--output", "/proc/nothing/j.xml"], 3, "cannot write"),
    ],
)
def test_errors_have_a_message_and_an_exit_code(
    arguments: list[str], code: int, said: str, run: Path, tmp_path: Path
) -> None:
    (tmp_path / "broken.json").write_text('{"schema": "critests.run", ')
    places = {"RUN": str(run), "BROKEN": str(tmp_path / "broken.json")}

    ended = called("report", *(places.get(argument, argument) for argument in arguments))

    assert ended.returncode == code
    assert said in " ".join(ended.stderr.split())
    assert "Traceback" not in ended.stderr
