"""With the index, only files with selected tests are collected; a full collection is stored."""

import sys
from pathlib import Path

import pytest

from critests.exit_codes import UsageError
from critests.run import suite_index
from critests.run.collected_tests import SUITE, CollectedTest
from critests.run.run_settings import PYTEST_VARIABLES, Settings
from critests.run.suite_index import IndexedCollection

HERE = CollectedTest(
    id="sandboxes/test_a.py::test_x[1]", name="test_x[1]", aspect="SBX-01", params={"n": "1"}
)
THERE = CollectedTest(
    id="images/test_b.py::test_y", name="test_y", aspect="IMG-01", title="It MUST.", slow=True
)
EXTRA = CollectedTest(id="sandboxes/test_a.py::test_z", name="test_z", aspect="SBX-02")
SELECTED = Settings(select=("SBX-01",))


@pytest.fixture(autouse=True)
def own_pycache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for name in PYTEST_VARIABLES:
        monkeypatch.delenv(name, raising=False)


def test_what_is_known_of_tests_is_found_again() -> None:
    assert HERE.judged.name == "SBX-01", "what was looked up meanwhile is not kept"
    suite_index.store([HERE, THERE])

    assert suite_index.read() == [HERE, THERE]


def test_files_without_a_chosen_test_are_left_out(tmp_path: Path) -> None:
    suite_index.store([HERE, THERE])
    collection = IndexedCollection(SELECTED, use_index=True)

    assert not collection.leaves_out(SUITE / "sandboxes")
    assert not collection.leaves_out(SUITE / "sandboxes" / "test_a.py")
    assert collection.leaves_out(SUITE / "sandboxes" / "test_lifecycle.py")
    assert collection.leaves_out(SUITE / "images")
    assert not collection.leaves_out(SUITE / "sandboxes" / "conftest.py")
    assert not collection.leaves_out(SUITE)
    assert not collection.leaves_out(tmp_path / "test_own.py")
    assert collection.whole([HERE], complete=True) == [HERE, THERE]


def test_without_the_index_nothing_is_left_out_or_stored() -> None:
    collection = IndexedCollection(SELECTED, use_index=False)

    assert not collection.leaves_out(SUITE / "images")
    assert collection.whole([HERE], complete=True) == [HERE]
    assert suite_index.read() is None


@pytest.mark.parametrize(("complete", "found"), [(True, [HERE, THERE]), (False, None)])
def test_a_complete_collection_is_stored(complete: bool, found: list[CollectedTest] | None) -> None:
    collection = IndexedCollection(SELECTED, use_index=True)

    assert collection.whole([HERE, THERE], complete=complete) == [HERE, THERE]
    assert suite_index.read() == found


@pytest.mark.parametrize("collected", [[], [HERE, EXTRA]], ids=["less", "more"])
def test_an_index_with_other_tests_is_removed(collected: list[CollectedTest]) -> None:
    suite_index.store([HERE, THERE])
    collection = IndexedCollection(SELECTED, use_index=True)

    with pytest.raises(UsageError, match="was out of date and has been deleted"):
        collection.whole(collected, complete=True)
    assert suite_index.read() is None


def test_an_option_that_makes_no_sense_is_refused_before_anything_is_collected() -> None:
    suite_index.store([HERE, THERE])

    with pytest.raises(UsageError, match="STP-0"):
        IndexedCollection(Settings(select=("STP-0",)), use_index=True)


def test_where_something_else_decides_which_tests_there_are_nobody_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert Settings().collects_each_once
    assert Settings(runtime_handler=("crun",)).collects_each_once
    assert not Settings(runtime_handler=("runc", "crun")).collects_each_once
    monkeypatch.setenv("PYTEST_ADDOPTS", "-m slow")
    assert not Settings().collects_each_once
