"""The command as a user runs it, against a server that does nothing; Locust stays in the command's own
processes.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.criserver import CriServer, serve

LOCUST = pytest.mark.skipif(
    find_spec("locust") is None or find_spec("hdrh") is None, reason="the load extra is not installed"
)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with serve(CriServer()) as endpoint:
        yield endpoint


def load(*arguments: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "critests.cli", "load", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=env)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--rate", "1", "--users", "1"], "give one of them"),
        (["--arrivals", "poisson"], "belongs to --rate"),
        (["--capacity"], "needs --p99"),
        (["--p99", "1"], "belongs to --capacity"),
        (["--worker"], "--master-host"),
        (["--worker", "--master-host", "h", "--rate", "1"], "the master says"),
        (["--master", "--node", "containerd"], "touches no runtime"),
        (["--web", "http"], "expected a port"),
    ],
)
def test_wrong_usage_ends_with_4_and_a_sentence(arguments: list[str], says: str) -> None:
    done = load(*arguments)
    assert done.returncode == 4
    assert says in done.stderr


@pytest.mark.nightly("starts processes that wait for each other")
@LOCUST
def test_a_worker_that_connects_before_it_can_hear_is_waited_for(endpoint: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\nif 'critests.benchmark.load.workers' in sys.orig_argv:\n    import gevent,"
        " locust.runners\n    connect = locust.runners.WorkerRunner.connect_to_master\n   "
        " locust.runners.WorkerRunner.connect_to_master = lambda runner: (connect(runner), gevent.sleep(2))\n"
    )
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    }
    wanted = ["--rate", "20", "--duration", "1", "--warm-up", "0", "--json", str(tmp_path / "run.json")]
    done = load("--runtime-endpoint", endpoint, "--results", str(tmp_path / "results"), *wanted, env=env)

    assert done.returncode == 0, done.stderr
    cycle = next(
        each
        for each in json.loads((tmp_path / "run.json").read_text())["operations"]
        if each["operation"] == "pod cycle"
    )
    assert cycle["count"] >= 15


def test_without_locust_it_says_what_to_install(tmp_path: Path) -> None:
    code = (
        "import sys; from importlib import util; real = util.find_spec;"
        "util.find_spec = lambda name, *more: None if name == 'locust' else real(name, *more);"
        "sys.argv = ['critests', 'load', '--runtime-endpoint', 'unix:///nowhere'];"
        "from critests.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path
    )
    assert done.returncode == 5
    assert "pip install locust" in done.stderr


def test_nobody_at_the_endpoint_ends_with_5(tmp_path: Path) -> None:
    done = load("--runtime-endpoint", f"unix://{tmp_path}/none.sock", "--results", str(tmp_path))
    if find_spec("locust") is not None:
        assert "no such socket" in done.stderr
    assert done.returncode == 5


@LOCUST
@pytest.mark.runtime
def test_an_open_loop_is_recorded(endpoint: str, tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    done = load(
        "--runtime-endpoint", endpoint, "--rate", "20", "--arrivals", "poisson", "--duration", "5",
        "--warm-up", "1", "--processes", "2", "--results", str(tmp_path), "--json", str(file),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    record = json.loads(file.read_text())
    headline = next(operation for operation in record["operations"] if operation["headline"])
    assert record["kind"] == "benchmark"
    assert record["workers"] == 2
    assert headline["operation"] == "pod cycle"
    assert headline["dimensions"] == {"rate": "20", "arrivals": "poisson", "measured": "from intended start"}
    assert 60 <= headline["count"] <= 140
    assert not headline["errors"]


@LOCUST
@pytest.mark.runtime
def test_ctrl_c_ends_with_2_and_keeps_what_was_measured(endpoint: str, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "critests.cli",
        "load",
        "--runtime-endpoint",
        endpoint,
        "--users",
        "2",
        "--warm-up",
        "0",
    ]
    running = subprocess.Popen([*command, "--results", str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith("load"):
            break
    time.sleep(1)
    running.send_signal(signal.SIGINT)
    output, _ = running.communicate(timeout=60)
    assert running.returncode == 2
    assert "interrupted after" in output
    record = json.loads(next(tmp_path.glob("*/*/*/run.json")).read_text())
    assert record["interrupted"]
    assert record["operations"]
