"""`critests load` as a user runs it, against the suite's CRI server."""

import csv
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.criserver import CriServer, serve

pytestmark = pytest.mark.skipif(
    find_spec("locust") is None or find_spec("scipy") is None, reason="the load extra is not installed"
)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serve(CriServer()) as endpoint:
        yield endpoint


def load(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "critests.cli", "load", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)


def rows(results: Path) -> dict[str, dict[str, str]]:
    (stats,) = results.rglob("*_stats.csv")
    with stats.open(encoding="utf-8", newline="") as file:
        return {row["Name"]: row for row in csv.DictReader(file)}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--capacity"], "needs --p99"),
        (["--master", "--node", "containerd"], "does not use a runtime"),
        (["--no-such-option"], "no-such-option"),
    ],
)
def test_a_usage_error_exits_with_4_and_a_message(
    arguments: list[str], message: str, endpoint: str, tmp_path: Path
) -> None:
    runtime = [] if "--master" in arguments else ["--runtime-endpoint", endpoint]
    done = load(*runtime, "--results", str(tmp_path), *arguments)
    assert done.returncode == 4, done.stderr
    assert message in done.stderr


@pytest.mark.nightly("starts processes that wait for each other")
def test_two_workers_share_the_rate_and_count_each_cycle_once(endpoint: str, tmp_path: Path) -> None:
    done = load(
        *("--runtime-endpoint", endpoint, "--results", str(tmp_path), "--mix", "exec", "--rate", "20"),
        *("--run-time", "3", "--warm-up", "1", "--processes", "2"),
    )
    assert done.returncode == 0, done.stderr
    cycles = rows(tmp_path)["exec"]
    assert (cycles["Type"], cycles["Request Count"], cycles["Failure Count"]) == ("cycle", "60", "0")
    assert list(tmp_path.rglob("load.html"))


@pytest.mark.nightly("starts processes that wait for each other")
def test_a_search_ends_if_the_first_step_has_too_few_samples(endpoint: str, tmp_path: Path) -> None:
    done = load(
        *("--runtime-endpoint", endpoint, "--results", str(tmp_path), "--mix", "exec", "--warm-up", "0"),
        *("--capacity", "--rate", "10", "--p99", "60", "--run-time", "1"),
    )
    assert done.returncode == 5, done.stderr
    assert "undecided, 0 of 10 above" in done.stdout
