"""How the command line ends where that is not what was hoped for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.command import SECONDS, environment
from tests.report.comparison.sample_measured import samples, store


def unread(*arguments: object, stream: str) -> int:
    """Run a command of whose output nobody reads that on one stream, and return its exit code."""
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
def test_a_verdict_is_the_same_when_nobody_reads_it(stream: str, tmp_path: Path) -> None:
    old = store(tmp_path / "old", samples())
    slow = store(tmp_path / "slow", samples({"RunPodSandbox": 1.3}, seed=2), run_id="1795100001-bbbbbb")

    assert unread("gate", slow, "--baseline", old, stream=stream) == 1
    assert unread("gate", old, "--baseline", old, stream=stream) == 0
    assert unread("gate", "--no-such-option", stream=stream) == 4


def test_a_mistake_of_ours_is_no_verdict() -> None:
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
