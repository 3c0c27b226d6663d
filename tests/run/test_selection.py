"""Which id a test has in the record."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import critests
from critests.benchmark import scenarios
from critests.report.formats.places import file_of, line_of
from critests.run.selection import SUITE, test_id

SCENARIOS = Path(scenarios.__file__).parent


@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        (SUITE / "sandboxes" / "test_state.py", "test_x[a::b]", "sandboxes/test_state.py::test_x[a::b]"),
        (SCENARIOS / "test_pods.py", "test_pod_cycle", "benchmark/test_pods.py::test_pod_cycle"),
    ],
)
def test_an_id_does_not_tell_where_the_suite_is_installed(path: Path, name: str, expected: str) -> None:
    item: Any = SimpleNamespace(path=path, nodeid=f"../somewhere/{path.name}::{name}")
    assert test_id(item) == expected


def test_a_test_of_others_keeps_its_own_id(tmp_path: Path) -> None:
    item: Any = SimpleNamespace(path=tmp_path / "test_own.py", nodeid="test_own.py::test_x")
    assert test_id(item) == "test_own.py::test_x"


def test_a_scenario_is_found_again_by_its_id() -> None:
    identity = "benchmark/test_pods.py::test_pod_cycle"
    assert (Path(critests.__file__).parents[1] / file_of(identity, "benchmark")).is_file()
    assert line_of(identity, "benchmark", critests.__version__)
