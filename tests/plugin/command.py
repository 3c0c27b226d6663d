"""Runs the command line like a user, and reads the records."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from critests.cli import main

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
    return captured(command, cwd, more)


def captured(
    command: Sequence[str], cwd: Path | None = None, more: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command without a terminal, and return its end and its output, with `more` added to
    `environment()`.
    """
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        cwd=cwd,
        env=environment() | dict(more or {}),
        check=False,
    )


def called(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run critests in this process, which is ten times as fast; for commands that start no other program."""
    words = ["critests", *arguments]
    with CliRunner().isolation() as (output, errors, _), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", words)
        with pytest.raises(SystemExit) as ended:
            main()
    code = int(ended.value.code or 0)
    return subprocess.CompletedProcess(words, code, output.getvalue().decode(), errors.getvalue().decode())


def on(command: str, endpoint: str, results: Path, options: str = "") -> list[str]:
    """Return the words of a command for an endpoint, with options as a user types them."""
    return f"{command} --runtime-endpoint {endpoint} --results {results} --allow-kubelet {options}".split()


def validate(
    endpoint: str,
    results: Path,
    options: str = "",
    *,
    more: Mapping[str, str] | None = None,
    once: bool = True,
) -> subprocess.CompletedProcess[str]:
    """Run `critests run` on an endpoint, with options as a user types them."""
    return critests(*on("run", endpoint, results, options), more=more, once=once)


def until_running(run: "subprocess.Popen[str]") -> None:
    """Return when a run has begun its tests."""
    assert run.stdout is not None
    for line in run.stdout:
        if line.startswith("running"):
            return
    raise AssertionError(run.communicate()[1])


def _once(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command that repeats no failure, unless it has the option `--times`."""
    if arguments[:1] != ("run",) or "--times" in arguments:
        return arguments
    return ("run", "--times", "1", *arguments[1:])


def run_own_test(test: str, place: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    """Run a test of the user's own in an empty folder with the plugin; the results are in the folder too."""
    (place / "test_mine.py").write_text(test, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "critests.plugin"]
    command += ["--cri-allow-kubelet", "--cri-results", str(place / "results"), *options]
    return captured(command, place)


def begin(*arguments: str, stderr: int = subprocess.PIPE) -> "subprocess.Popen[str]":
    """Start critests without a terminal; a run repeats no failure."""
    command = [sys.executable, "-m", "critests.cli", *_once(arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, env=environment())


def record_in(results: Path) -> dict[str, Any]:
    """Return the only run record below a folder."""
    (file,) = results.rglob("run.json")
    loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return loaded


def ran_in(results: Path) -> list[dict[str, Any]]:
    """Return the tests of the only run below a folder, without the deselected ones."""
    return [test for test in record_in(results)["tests"] if test["outcome"] != "disabled"]


def verdicts_in(results: Path) -> dict[str, str]:
    """Return the outcomes of the only run below a folder, by test.

    A known intermittent failure has the verdict `intermittent`, whether it occurred this time or not.
    """
    return {
        test["id"]: "intermittent" if test["intermittent"] else test["outcome"] for test in ran_in(results)
    }
