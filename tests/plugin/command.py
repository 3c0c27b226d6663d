"""Runs the command line like a user, and reads the records."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

SECONDS = 600
"""Timeout of one command, which may be a run of a few hundred tests on a busy machine."""


def environment() -> dict[str, str]:
    """Return the environment of this process without the variables that select a runtime or options."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("CONTAINER_RUNTIME", "IMAGE_SERVICE", "PYTEST"))
    }


def critests(
    *arguments: str, cwd: Path | None = None, more: Mapping[str, str] | None = None, once: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run critests without a terminal, with `more` added to the environment. With `once`, a run repeats no
    failure.
    """
    command = [sys.executable, "-m", "critests.cli", *(_once(arguments) if once else arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=cwd,
        env=environment() | dict(more or {}),
        check=False,
    )


def _once(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command that repeats no failure, unless it has the option `--times`."""
    if arguments[:1] != ("run",) or "--times" in arguments:
        return arguments
    return ("run", "--times", "1", *arguments[1:])


def begin(*arguments: str, stderr: int = subprocess.PIPE) -> "subprocess.Popen[str]":
    """Start critests without a terminal; a run repeats no failure."""
    command = [sys.executable, "-m", "critests.cli", *_once(arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment())


def record_in(results: Path) -> dict[str, Any]:
    """Return the only run record below a folder."""
    (file,) = results.rglob("run.json")
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded


def verdicts_in(results: Path) -> dict[str, str]:
    """Return the outcomes of the only run below a folder, by test.

    A known intermittent failure has the verdict `intermittent`, whether it occurred this time or not.
    """
    return {
        test["id"]: "intermittent" if test["intermittent"] else test["outcome"]
        for test in record_in(results)["tests"]
        if test["outcome"] != "disabled"
    }
