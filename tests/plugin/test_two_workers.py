"""A run with two workers has the same record as a run with one process."""

import os
from pathlib import Path

import pytest

from critests.exit_codes import ExitCode
from tests.criserver import CriServer, serve
from tests.plugin.command import critests, ran_in, record_in, validate
from tests.programs import program


@pytest.mark.parametrize("option", ["--select", "--deselect"])
def test_an_unknown_word_is_reported_before_workers_and_runtime_start(option: str, tmp_path: Path) -> None:
    # without the index, with which the command itself checks the options
    whole_suite = ("--", "-p", "no:cacheprovider")

    result = critests(
        *("run", "-n", "2", "--node", "containerd=/nowhere/containerd", option, "slow"),
        *("--results", str(tmp_path), *whole_suite),
    )

    assert result.returncode == ExitCode.USAGE, result.stdout
    assert "'slow' is no requirement" in result.stderr
    assert "INTERNALERROR" not in result.stdout + result.stderr


def test_tests_with_a_module_fixture_run_on_one_worker(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        validate(endpoint, tmp_path, "--select SBA-15,SBA-16,SBA-17,SBA-18,RT-01,RT-02,RT-03,RT-04 -n 2")

    ran = ran_in(tmp_path)
    of_the_filters = {test["worker"] for test in ran if test["id"].startswith("sandboxes/test_filters.py")}
    assert len(of_the_filters) == 1
    assert len({test["worker"] for test in ran}) == 2


def test_workers_have_the_deadlines_that_the_controller_found_for_a_slow_machine(tmp_path: Path) -> None:
    program(tmp_path / "true", "sleep 0.02")
    with serve(CriServer()) as endpoint:
        validate(endpoint, tmp_path, "--select RT-01 -n 2", more={"PATH": f"{tmp_path}:{os.environ['PATH']}"})

    record = record_in(tmp_path)
    scale = record["machine"]["speed"]["deadline_scale"]
    assert scale >= 10
    given = f"--deadline-scale {scale:g} "
    assert all(given in test["repeat_command"] for test in record["tests"] if test["worker"])
