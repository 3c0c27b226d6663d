"""Running one test again: its command, and the results of a new run."""

import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from critests.record.files import read
from critests.record.record_errors import RecordError
from critests.record.result_records import TestResult
from critests.run.collected_tests import SUITE, JudgedAspect
from critests.run.context import RunContext
from critests.run.items import scenario_of
from critests.run.options import MEASURING, RULES, RUNTIME
from critests.run.run_settings import Settings
from critests.run.stop_signals import protect_cleanup

SECTIONS: Final = (RUNTIME, RULES, MEASURING)
OTHERS: Final = ("--profile", "--read-only", "--disruptive", "--allow-kubelet")
"""Options of other sections without which the test would be blocked, or measure something else."""
CLEANING_SECONDS: Final = 60.0
"""How long an interrupted run may take to clean up before it is killed."""


def repeat_command(
    item: pytest.Item, judged: JudgedAspect, settings: Settings, context: RunContext | None
) -> str:
    """Return the command that runs a test again on the same runtime, with the same parameters and rules.

    Args:
        item: the test.
        judged: the aspect that it judges.
        settings: the user's options.
        context: the run, with the endpoint if no option names it; None before the run began.
    """
    scenario = scenario_of(item)
    ours = SUITE in item.path.parents or bool(scenario)
    command = "bench" if scenario else "run"
    words = ["critests", command] if ours else ["pytest", "-p", "critests.plugin", item.nodeid]
    if context is not None and not settings.node:
        words += _endpoints(settings, context)
    for option, value in settings.given():
        if command not in option.commands or (option.name == "--profile" and not scenario):
            continue
        if option.section in SECTIONS or option.name in OTHERS:
            words += [option.name if ours else option.pytest_name, *([value] if option.metavar else [])]
    if context is not None and context.conditions.names and settings.seed is None:
        words += ["--seed" if ours else "--cri-seed", str(context.conditions.seed)]
    if scenario:
        words += ["--select", scenario]
    elif ours:
        words += [*(["--select", judged.name] if judged.name else []), "-k", item.name]
    return shlex.join(words)


def _endpoints(settings: Settings, context: RunContext) -> Iterator[str]:
    """Yield options for the endpoints that were found without an option."""
    if not settings.runtime_endpoint:
        yield from ("--runtime-endpoint", context.endpoint.text)
    if not settings.image_endpoint and context.image_endpoint != context.endpoint:
        yield from ("--image-endpoint", context.image_endpoint.text)


def run_again(test: TestResult, words: Sequence[str], times: int, seconds: float) -> list[TestResult]:
    """Run a test again in a new run, and return its results; none without a readable record. They are found
    by name: names are unique, while ids depend on pytest's root directory.

    Args:
        test: the test.
        words: its repeat command, or a similar one.
        times: how often it runs.
        seconds: after which the run is stopped.

    Raises:
        KeyboardInterrupt: the user has stopped the run, which has cleaned up.
    """
    ours = words[0] == "critests"
    module, prefix = ("critests.cli", "--") if ours else ("pytest", "--cri-")
    with tempfile.TemporaryDirectory(prefix="critests-again-") as folder:
        more = [f"{prefix}times", str(times), f"{prefix}results", folder]
        command = [sys.executable, "-m", module, *words[1:], *more]
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            run.wait(seconds)
        except subprocess.TimeoutExpired:
            _stop(run)
        except KeyboardInterrupt:
            protect_cleanup()
            _stop(run)
            raise
        try:
            tests = [each for file in Path(folder).rglob("run.json") for each in read(file).tests]
        except RecordError:
            return []
    return [each for each in tests if each.name == test.name]


def _stop(run: "subprocess.Popen[bytes]") -> None:
    """End a run as Ctrl-C does: it cleans up and writes its results."""
    run.terminate()
    try:
        run.wait(CLEANING_SECONDS)
    except subprocess.TimeoutExpired:
        run.kill()
        run.wait()
