"""The expectations that come with critests say honestly what runs have shown."""

import tomllib
from pathlib import Path

import pytest

import critests.runtimes
from critests.record.expectations import load
from critests.runtimes.known_runtimes import KINDS, known_failures_file

FILES = sorted(Path(critests.runtimes.__file__).parent.glob("*/known_failures.toml"))


def test_every_known_failure_names_the_runs_that_have_shown_it() -> None:
    """One that shows only now and then needs none: a pass is no surprise anywhere."""
    assert FILES

    silent = [
        f"{path.parent.name}:{entry.line}"
        for path in FILES
        for entry, table in zip(load(path).known, tomllib.loads(path.read_text())["known"], strict=True)
        if "proven" not in table and not entry.intermittent
    ]

    assert not silent, 'add `proven`, such as ["==1.6.20", ">=1.7.24,<=1.7.34"]'


def test_those_runs_lie_within_the_versions_of_the_entry() -> None:
    for path in FILES:
        for entry in load(path).known:
            if entry.intermittent:
                continue
            for condition in entry.proven.conditions:
                where = f"{path.parent.name}:{entry.line}: {condition.text}"
                assert condition.clauses, f"{where}: nobody has run every version"
                for sign, run in condition.clauses:
                    assert sign in {"==", ">=", "<="}, f"{where} does not name versions that were run"
                    version = ".".join(map(str, run.numbers))
                    assert entry.versions.holds(version), f"{where} is not in {entry.versions}"


@pytest.mark.parametrize("name", [kind.reported_name for kind in KINDS])
def test_every_runtime_has_a_list_by_the_name_that_it_reports(name: str) -> None:
    assert known_failures_file(name) in FILES


@pytest.mark.parametrize("name", ["", "other", "../crio", "crio"])
def test_a_name_that_no_runtime_reports_has_no_list(name: str) -> None:
    assert known_failures_file(name) is None
