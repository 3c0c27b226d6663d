"""The command line as a user runs it."""

import subprocess
import sys

from tests.plugin.command import captured

COMMAND = [sys.executable, "-m", "critests_proof"]


def proof(*arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run it without a terminal, and wait for its end."""
    return captured([*COMMAND, *arguments])
