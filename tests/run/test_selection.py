"""Which tests run, and which id each has in the record."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from critests.benchmark import scenarios
from critests.catalogue.rpcs import all_rpcs
from critests.exit_codes import UsageError
from critests.run import profiles
from critests.run.collected_tests import SUITE, CollectedTest
from critests.run.items import metadata_of, narrowed_by_pytest, test_id
from critests.run.marks import disruptive, documents, malformed, requirement, slow
from critests.run.run_settings import Settings
from critests.run.selection import PARTS, choose

SCENARIOS = Path(scenarios.__file__).parent


@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        (SUITE / "sandboxes" / "test_state.py", "test_x[a::b]", "sandboxes/test_state.py::test_x[a::b]"),
        (SCENARIOS / "test_pods.py", "test_pod_cycle", "benchmark/test_pods.py::test_pod_cycle"),
    ],
)
def test_an_id_does_not_depend_on_the_place_of_installation(path: Path, name: str, expected: str) -> None:
    item: Any = SimpleNamespace(path=path, nodeid=f"../somewhere/{path.name}::{name}")
    assert test_id(item) == expected


def test_a_test_of_others_keeps_its_own_id(tmp_path: Path) -> None:
    item: Any = SimpleNamespace(path=tmp_path / "test_own.py", nodeid="test_own.py::test_x")
    assert test_id(item) == "test_own.py::test_x"


def marked(path: str, *marks: pytest.MarkDecorator) -> Any:  # noqa: ANN401 - stands in for pytest's item
    """A test with some markers."""
    item: Any = SimpleNamespace(path=SUITE / path, nodeid=f"{path}::test_x", name="test_x")
    held = {mark.name: mark.mark for mark in marks}
    item.get_closest_marker = held.get
    item.iter_markers = lambda name: [held[name]] if name in held else []
    return item


@pytest.mark.parametrize(
    ("marks", "part"),
    [
        ([], profiles.FULL),
        ([slow], profiles.SLOW),
        ([disruptive], profiles.RESTART),
        ([slow, disruptive], profiles.RESTART),
        ([disruptive, malformed], profiles.MALFORMED),
        ([disruptive, documents], profiles.DOCUMENTS),
        ([disruptive, requirement("RST-10/sigkill")], profiles.SURVEY),
    ],
    ids=str,
)
def test_every_test_is_in_one_of_the_parts_of_everything(
    marks: list[pytest.MarkDecorator], part: str
) -> None:
    named = [] if part == profiles.SURVEY else [requirement("SBX-01")]
    test = metadata_of(marked("sandboxes/test_x.py", *named, *marks))
    have_it = [name for name in PARTS if choose([test], Settings(profile=name))[0]]

    assert have_it == [part]
    assert choose([test], Settings(profile=profiles.EVERYTHING))[0] == [test]
    assert choose([test], Settings())[0] == [test], "everything is the default"


def test_judges_of_calls_come_first_and_what_hurts_the_daemon_last() -> None:
    def test(number: int, *marks: pytest.MarkDecorator) -> CollectedTest:
        return metadata_of(marked(f"sandboxes/test_{number}.py", *marks))

    hurts, waits, plain, judge = (
        test(1, requirement("SBX-26/error"), disruptive),
        test(2, requirement("SBX-26/error"), slow),
        test(3, requirement("SBX-26/error")),
        test(4, requirement(all_rpcs()["RunPodSandbox"].judge)),
    )
    assert choose([hurts, waits, plain, judge], Settings()) == ([judge, plain, waits, hurts], [])


def test_a_profile_of_benchmarks_is_none_of_a_validation() -> None:
    with pytest.raises(UsageError, match="--profile standard: a validation has everything, full"):
        choose([], Settings(profile="standard"))


@pytest.mark.parametrize(
    ("words", "narrowed"),
    [
        (["critests.validation"], []),
        ([str(SUITE)], []),
        ([str(SUITE.parent)], []),
        ([str(SUITE / "images")], [str(SUITE / "images")]),
        ([f"{SUITE}/images/test_pull.py::test_x"], [f"{SUITE}/images/test_pull.py::test_x"]),
        (["critests.validation.images"], ["critests.validation.images"]),
    ],
)
def test_a_path_to_a_part_of_the_suite_leaves_tests_out(words: list[str], narrowed: list[str]) -> None:
    option = SimpleNamespace(keyword="", markexpr="not slow")
    config: Any = SimpleNamespace(option=option, args=words, invocation_params=SimpleNamespace(dir=Path("/")))
    assert narrowed_by_pytest(config) == ["-m not slow", *narrowed]
