"""Runs whose daemon or leader is killed at any moment: the verdict is right, and nothing stays."""

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from critests.exit_codes import ExitCode
from tests.node.killed_run import DAEMON, LEADER
from tests.node.test_leaves_nothing import BINARIES, CRIOS, ISOLATED, ROOT

KILLS = 20
MOMENTS = random.Random(20)  # noqa: S311 - not for secrets
RUNTIMES = [*BINARIES, *CRIOS]

pytestmark = [
    pytest.mark.runtime,
    pytest.mark.nightly("a run of about a minute for each kill"),
    pytest.mark.skipif(not RUNTIMES, reason="needs root and a runtime"),
    pytest.mark.timeout(300),
]


@pytest.mark.parametrize(
    ("victim", "seconds", "binary"),
    [
        (victim, round(MOMENTS.uniform(1, 40), 1), RUNTIMES[number % len(RUNTIMES)] if RUNTIMES else None)
        for victim in (DAEMON, LEADER)
        for number in range(KILLS // 2)
    ],
)
def test_killed_run_has_the_right_verdict_and_leaves_nothing(
    victim: str, seconds: float, binary: Path
) -> None:
    command = [*ISOLATED, sys.executable, "-m", "tests.node.killed_run", victim, str(seconds), str(binary)]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=290, check=False)
    assert process.returncode == 0, process.stderr
    end = json.loads(process.stdout.splitlines()[-1])

    assert end["left"] == []
    if victim == DAEMON:
        assert set(end["failed"]) <= {"GEN-17"}, "no other requirement is broken by a kill"
        assert end["code"] == (ExitCode.BROKEN if end["failed"] else ExitCode.NOT_TESTED)
        assert end["reason"] or end["words"]
