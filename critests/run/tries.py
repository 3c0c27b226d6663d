"""Whether a failure is steady: what fails and no list knows is tried again when the run is over.

A failure that shows once in many tries is no sentence over a runtime, and must be seen all the same: how many
tries there were, and how many failed, stands in the result, and the judgement goes by it.
"""

import dataclasses
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from critests.catalogue.words import Outcome
from critests.record.files import read
from critests.record.reasons import ReasonCode
from critests.record.record_errors import RecordError
from critests.record.result_records import REPEATS, TestResult

MOST_TESTS: Final = 10
"""So many tests are tried again: a runtime that fails more is broken, and shall not double the run."""
SECONDS: Final = 600.0
"""After so long nothing more is tried."""
CLEANING_SECONDS: Final = 60.0
NOT_TRIED: Final = frozenset(
    {
        ReasonCode.UNEXPECTED_PASS,
        ReasonCode.CAPABILITY_MISSING,
        ReasonCode.RUNTIME_ENDED,
        ReasonCode.RUNTIME_SILENT,
    }
)
"""What is no failure of a test, or takes the runtime along."""

Say = Callable[[str], None]
Try = Callable[[TestResult, int, str, float], list[Outcome]]
"""Runs a test so many times, on the endpoint where one is named, in so many seconds; returns the verdicts."""


def tried_again(
    results: Sequence[TestResult],
    judged: Sequence[TestResult],
    *,
    same: str,
    fresh: bool,
    say: Say,
    try_it: Try,
) -> list[TestResult]:
    """Return the raw results, each new failure with its tries.

    Args:
        results: raw, of the whole run.
        judged: the same, judged: what failed there and no list knows is tried again, findings first.
        same: endpoint of the daemon that the tests ran on.
        fresh: whether the suite started it, so that half of the tries are on a new one.
        say: shows what goes on.
        try_it: runs a test again.
    """
    new = [
        test
        for test in judged
        if test.outcome is Outcome.FAILED
        and test.repeat_command
        and not test.synthesized
        and test.why.code not in NOT_TRIED
    ]
    chosen = sorted(new, key=lambda test: bool(test.cause))[:MOST_TESTS]
    end = time.monotonic() + SECONDS
    tries: dict[str, list[Outcome]] = {}
    for number, test in enumerate(chosen):
        say(f"{test.name} failed: trying it {REPEATS} times more ({number + 1} of {len(chosen)})")
        outcomes = tries[test.id] = [Outcome.FAILED]
        share = (end - time.monotonic()) / (len(chosen) - number)
        outcomes += try_it(test, REPEATS // 2 if fresh else REPEATS, same, share / 2 if fresh else share)
        if fresh:
            outcomes += try_it(test, REPEATS + 1 - len(outcomes), "", share / 2)
    return [
        dataclasses.replace(test, tries=len(tried), failures=tried.count(Outcome.FAILED))
        if len(tried := tries.get(test.id, [])) > 1
        else test
        for test in results
    ]


def in_a_run_of_its_own(test: TestResult, times: int, endpoint: str, seconds: float) -> list[Outcome]:
    """Run a test so many times by the command that its result names, on the endpoint where one is given, and
    return what it came to each time; a try that was no verdict does not count.
    """
    words = shlex.split(test.repeat_command)
    if endpoint:
        words = _elsewhere(words, endpoint)
    with tempfile.TemporaryDirectory(prefix="critests-again-") as folder:
        command = [
            sys.executable,
            "-m",
            "critests.cli",
            *words[1:],
            "--times",
            str(times),
            "--results",
            folder,
        ]
        run = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            run.wait(seconds)
        except subprocess.TimeoutExpired:
            # as Ctrl-C ends a run: it cleans up, and writes what it has found
            run.terminate()
            try:
                run.wait(CLEANING_SECONDS)
            except subprocess.TimeoutExpired:
                run.kill()
                run.wait()
        try:
            tests = [each for file in Path(folder).rglob("run.json") for each in read(file).tests]
        except RecordError:
            return []
    return [
        each.outcome
        for each in tests
        if each.name == test.name and each.outcome in {Outcome.PASSED, Outcome.FAILED}
    ]


def _elsewhere(words: Sequence[str], endpoint: str) -> list[str]:
    """Return a command with the endpoint of a daemon that runs in the place of what starts one."""
    kept, skip = list[str](), False
    for word in words:
        if skip:
            skip = False
        elif word in {"--node", "--handler-binary", "--upgrade-from"}:
            skip = True
        else:
            kept.append(word)
    return [*kept, "--runtime-endpoint", endpoint] if len(kept) < len(words) else kept
