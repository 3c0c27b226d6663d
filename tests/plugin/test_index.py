"""A list and a record are the same with the index of the suite and without it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from critests.run.collected_tests import PACKAGE
from tests.criserver import CriServer, serve
from tests.plugin.command import SECONDS, environment, record_in

pytestmark = pytest.mark.nightly("three runs, each of which imports the whole suite")

IMPORTED = "import atexit, sys; atexit.register(lambda: print('pytest' in sys.modules, file=sys.stderr));"
"""Prints at exit whether pytest was imported; nothing if the process was replaced by pytest."""
LIST = ("run", "--list", "--json", "-", "--select", "GEN,SBX-02")


@pytest.fixture
def own_cache(tmp_path: Path) -> dict[str, str]:
    """The environment of processes with a bytecode cache for this test alone."""
    inherited = {name: value for name, value in environment().items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "PYTHONPYCACHEPREFIX": str(tmp_path / "pycache")}


def run_critests(environment: dict[str, str], *arguments: str) -> "subprocess.CompletedProcess[str]":
    code = f"{IMPORTED} from critests.cli import main; sys.argv[1:] = {list(arguments)!r}; main()"
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=environment,
        check=True,
    )


def test_a_list_is_the_same_with_an_index_and_needs_no_pytest(own_cache: dict[str, str]) -> None:
    first = run_critests(own_cache, *LIST)
    second = run_critests(own_cache, *LIST)
    without = run_critests({**own_cache, "PYTEST_ADDOPTS": "--strict-markers"}, *LIST)

    assert (first.stderr, second.stderr, without.stderr) == ("", "False\n", "")
    assert {test["requirement"].partition("-")[0] for test in json.loads(second.stdout)} == {"GEN", "SBX"}
    assert first.stdout == second.stdout == without.stdout


def test_a_record_is_the_same_with_an_index_and_with_workers(
    tmp_path: Path, own_cache: dict[str, str]
) -> None:
    tests: list[list[dict[str, Any]]] = []
    with serve(CriServer()) as endpoint:
        for number, workers in enumerate(["1", "1", "2"]):
            results = tmp_path / str(number)
            run_critests(
                own_cache,
                *("run", "--runtime-endpoint", endpoint, "--allow-kubelet", "--results", str(results)),
                *("--select", "GEN-01", "-n", workers),
            )
            tests.append(sorted(record_in(results)["tests"], key=lambda test: str(test["id"])))

    recorded = [
        [{name: test[name] for name in ("id", "params", "title", "level", "outcome")} for test in each]
        for each in tests
    ]
    assert {test["outcome"] for test in recorded[0]} == {"passed", "disabled"}
    assert recorded[0] == recorded[1] == recorded[2]


def test_new_test_is_listed_despite_the_index(tmp_path: Path, own_cache: dict[str, str]) -> None:
    copy = shutil.copytree(
        PACKAGE, tmp_path / "code" / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__")
    )
    module = copy / "validation" / "runtime" / "test_transport.py"
    there = {**own_cache, "PYTHONPATH": str(copy.parent)}
    before = run_critests(there, "run", "--list", "--select", "GEN-01")
    with module.open("a") as file:
        file.write('\n\n@requirement("GEN-01")\ndef test_one_more(runtime):\n    """It MUST."""\n')
    after = run_critests(there, "run", "--list", "--select", "GEN-01")

    assert "test_one_more" not in before.stdout
    assert after.stdout.splitlines() == [
        *before.stdout.splitlines(),
        f"{'GEN-01':<24} MUST     test_one_more",
    ]
