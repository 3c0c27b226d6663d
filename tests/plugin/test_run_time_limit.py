"""A run with a time limit judges the tests that began before it, and says that it is partial."""

from pathlib import Path

import pytest

from critests.exit_codes import ExitCode
from tests.criserver import CriServer, serve
from tests.plugin.command import record_in, run_own_test, validate

UNTIL_THE_LIMIT = """
import time


def test_begins_before_the_limit(runtime, run_context):
    while not run_context.is_over:
        time.sleep(0.05)


def test_begins_after_the_limit(runtime):
    raise AssertionError
"""


def test_a_test_that_began_before_the_limit_is_judged_and_the_next_does_not_begin(tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        result = run_own_test(
            UNTIL_THE_LIMIT, tmp_path, "--runtime-endpoint", endpoint, "--cri-time-limit", "0.5m"
        )

    record = record_in(tmp_path / "results")
    assert [(test["name"], test["outcome"]) for test in record["tests"]] == [
        ("test_begins_before_the_limit", "passed")
    ]
    assert (record["scope"]["time_limit"], record["scope"]["not_begun"]) == (30, 1)
    assert result.returncode == record["exit_code"] == ExitCode.NO_NEW_FAILURE
    assert record["interrupted"] is False
    assert "time limit of 30 s, 1 tests not begun" in " ".join(result.stdout.split())


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_limit_before_the_first_test_exits_with_5(workers: str, tmp_path: Path) -> None:
    with serve(CriServer()) as endpoint:
        result = validate(endpoint, tmp_path, f"--select RT-01 -n {workers} --time-limit 0.01s")

    record = record_in(tmp_path)
    assert result.returncode == ExitCode.NOT_TESTED, result.stderr
    assert {test["outcome"] for test in record["tests"]} == {"disabled"}
    assert record["scope"]["not_begun"] > 0
