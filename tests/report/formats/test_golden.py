"""Every format of two small runs, as committed below `golden/`. After a wanted change:
CRITESTS_WRITE_GOLDEN=1 pytest tests/report.
"""

import os
from pathlib import Path

import pytest

from critests.report.formats import FORMATS, Source, TreeFormat
from tests.report.formats import samples

GOLDEN = Path(__file__).parent / "golden"
NAMES_ONLY = {"report.html", "run.json", "build-log.txt"}
"""Files whose content has tests of its own."""
BOTH = ["junit", "github", "testgrid", "testgrid-config", "allure", "prometheus"]
MEASURED = ["csv"]
ELSEWHERE = {"summary", "html", "pytest-benchmark"}
"""Formats that other modules of tests look at."""


def test_every_format_has_a_golden_file() -> None:
    assert {*BOTH, *MEASURED, *ELSEWHERE} == set(FORMATS)


@pytest.mark.parametrize("name", BOTH)
def test_a_validation_run(name: str, tmp_path: Path) -> None:
    check(name, "validation", samples.validation(tmp_path), tmp_path)


@pytest.mark.parametrize("name", [*BOTH, *MEASURED])
def test_a_benchmark_run(name: str, tmp_path: Path) -> None:
    check(name, "benchmark", samples.benchmark(), tmp_path)


def check(name: str, kind: str, source: Source, folder: Path) -> None:
    chosen = FORMATS[name]
    if isinstance(chosen, TreeFormat):
        files = chosen.write(source, folder / "out")
        text = "".join(f"=== {path.relative_to(folder / 'out')}\n{shown(path)}" for path in files)
        golden = GOLDEN / kind / f"{name}.txt"
    else:
        text = chosen.render(source)
        golden = GOLDEN / kind / chosen.file_name
    text = text.replace(str(folder), "FOLDER")
    if os.environ.get("CRITESTS_WRITE_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_bytes(text.encode())
    assert text.encode() == golden.read_bytes()


def shown(path: Path) -> str:
    return "" if path.name in NAMES_ONLY else path.read_text(encoding="utf-8")
