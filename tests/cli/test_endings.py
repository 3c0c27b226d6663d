"""How the command line ends where that is not what was hoped for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.command import SECONDS, environment
from tests.report.comparison.sample_measured import samples, store


def exit_code_without_reader(*arguments: object, stream: str) -> int:
    """Run a command with one stream to a closed pipe, and return its exit code."""
    reads, writes = os.pipe()
    os.close(reads)
    command = [sys.executable, "-m", "critests.cli", *map(str, arguments)]
    try:
        return subprocess.run(
            command,
            stdout=writes if stream == "stdout" else subprocess.DEVNULL,
            stderr=writes if stream == "stderr" else subprocess.DEVNULL,
            env=environment(),
            timeout=SECONDS,
            check=False,
        ).returncode
    finally:
        os.close(writes)


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_closed_pipe_does_not_change_the_exit_code(stream: str, tmp_path: Path) -> None:
    old = store(tmp_path / "old", samples())
    slow = store(tmp_path / "slow", samples({"RunPodSandbox": 1.3}, seed=2), run_id="1795100001-bbbbbb")

    assert exit_code_without_reader("gate", slow, "--baseline", old, stream=stream) == 1
    assert exit_code_without_reader("gate", "--no-such-option", stream=stream) == 4


def test_an_error_of_the_suite_has_its_own_exit_code() -> None:
    program = (
        "from critests.cli import command\n"
        "def mistaken(**_): raise ValueError('a mistake')\n"
        "command.group.main = mistaken\n"
        "command.main()\n"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=SECONDS, check=False
    )

    assert ended.returncode == 3
    assert "ValueError: a mistake" in ended.stderr
