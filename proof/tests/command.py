"""The command line as a user runs it."""

import subprocess
import sys

from tests.plugin.command import SECONDS, environment

COMMAND = [sys.executable, "-m", "critests_proof"]


def proof(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run it without a terminal, and wait for its end."""
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=environment(),
        check=False,
    )
