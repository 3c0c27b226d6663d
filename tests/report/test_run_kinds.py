import dataclasses
import subprocess
import sys
from pathlib import Path

from critests.report.run_kinds import kind_of
from tests.report.sample_benchmark import sample_benchmark
from tests.report.sample_run import sample_run


def test_the_operations_of_a_validation_have_their_own_page(tmp_path: Path) -> None:
    benchmark, _ = sample_benchmark(size=20)
    validation = sample_run(tmp_path)
    mixed = dataclasses.replace(validation, operations=benchmark.operations)

    assert [*kind_of(validation.kind).pages(validation)] == ["report.html"]
    assert [*kind_of(mixed.kind).pages(mixed)] == ["report.html", "benchmark.html"]
    assert [*kind_of(benchmark.kind).pages(benchmark)] == ["report.html"]


def test_an_unknown_kind_is_shown_as_a_validation_under_its_own_name(tmp_path: Path) -> None:
    validation = sample_run(tmp_path)
    other = dataclasses.replace(validation, kind="audit")

    assert kind_of(other.kind).title == "CRI audit"
    assert kind_of(other.kind).to_html(other, None) == kind_of(validation.kind).to_html(validation, None)


def test_kinds_and_formats_import_no_renderer() -> None:
    script = (
        "import sys, critests.report.formats, critests.report.run_kinds;"
        "print(*{'allure_commons', 'jinja2', 'rich', 'yaml'} & set(sys.modules))"
    )

    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []
