"""Repeats of new failures at the end of a run, to see whether they are intermittent.

A failure in one of many tries proves little about a runtime, but must be reported: the result has the numbers
of tries and failures, and the judgement uses them.
"""

import dataclasses
import shlex
import time
from collections.abc import Callable, Collection, Sequence
from typing import Final

from critests.catalogue.words import Outcome
from critests.record.reasons import ReasonCode
from critests.record.result_records import CONDITION_REPEATS, REPEATS, TestResult
from critests.run.repeating import run_again
from critests.run.stop_signals import protect_cleanup

MOST_TESTS: Final = 10
"""Most tests that are repeated: with more failures the runtime is broken, and the run need not take longer.
"""
SECONDS: Final = 600.0
"""After this time no further try starts."""
NOT_TRIED: Final = frozenset(
    {
        ReasonCode.UNEXPECTED_PASS,
        ReasonCode.CAPABILITY_MISSING,
        ReasonCode.RUNTIME_ENDED,
        ReasonCode.RUNTIME_SILENT,
        ReasonCode.RESPONSE,
        ReasonCode.LEFTOVER,
    }
)
"""Failures without a test of their own, or that end the runtime."""

Say = Callable[[str], None]
Try = Callable[[TestResult, int, str, float], list[Outcome]]
"""Runs a test several times, on an endpoint if one is given, within some seconds; returns the outcomes."""


def tried_again(
    results: Sequence[TestResult],
    judged: Sequence[TestResult],
    *,
    same: str,
    fresh: bool,
    say: Say,
    try_it: Try,
    under_conditions: bool = False,
) -> list[TestResult]:
    """Return the raw results, new failures with their tries.

    A failure under a condition is repeated with the condition and without it, each time on a new runtime if
    the suite started it: five tries with and five without are the fewest for which the difference between
    always and never is significant at one percent (Fisher's exact test: one in 252).

    Args:
        results: raw, of the whole run.
        judged: the judged results, whose new failures are repeated, root causes first.
        same: endpoint of the runtime under test.
        fresh: whether the suite started it; then half of the tries use a new one.
        say: prints progress.
        try_it: repeats a test.
        under_conditions: whether the run has conditions.
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
    plain: dict[str, list[Outcome]] = {}
    for number, test in enumerate(chosen):
        times = f"{CONDITION_REPEATS} times with and without" if under_conditions else f"{REPEATS} times"
        say(f"{test.name} failed: trying it {times} more ({number + 1} of {len(chosen)})")
        outcomes = tries[test.id] = [Outcome.FAILED]
        share = (end - time.monotonic()) / (len(chosen) - number)
        try:
            if under_conditions:
                outcomes += try_it(test, CONDITION_REPEATS, "", share / 2)
                plain[test.id] = try_it(_without_conditions(test), CONDITION_REPEATS, "", share / 2)
                continue
            outcomes += try_it(test, REPEATS // 2 if fresh else REPEATS, same, share / 2 if fresh else share)
            if fresh:
                outcomes += try_it(test, REPEATS + 1 - len(outcomes), "", share / 2)
        except KeyboardInterrupt:
            # every test has run, so the verdict needs no further tries
            protect_cleanup()
            say("interrupted: no more tries, cleaning up")
            break
    return [_with_tries(test, tries.get(test.id, []), plain.get(test.id, [])) for test in results]


def _with_tries(test: TestResult, tried: Sequence[Outcome], plain: Sequence[Outcome]) -> TestResult:
    if len(tried) <= 1 and not plain:
        return test
    return dataclasses.replace(
        test,
        tries=len(tried),
        failures=tried.count(Outcome.FAILED),
        plain_tries=len(plain),
        plain_failures=plain.count(Outcome.FAILED),
    )


def _without_conditions(test: TestResult) -> TestResult:
    """Return a test whose repeat command has neither conditions nor their seed."""
    words = _without(shlex.split(test.repeat_command), {"--condition", "--seed"})
    return dataclasses.replace(test, repeat_command=shlex.join(words))


def repeat_in_new_run(test: TestResult, times: int, endpoint: str, seconds: float) -> list[Outcome]:
    """Repeat a test by its repeat command, on an endpoint if one is given, and return the outcomes; a try
    without a verdict does not count.
    """
    words = shlex.split(test.repeat_command)
    again = run_again(test, _elsewhere(words, endpoint) if endpoint else words, times, seconds)
    return [each.outcome for each in again if each.outcome in {Outcome.PASSED, Outcome.FAILED}]


def _elsewhere(words: Sequence[str], endpoint: str) -> list[str]:
    """Return a command with the endpoint of a running daemon instead of the options that start one."""
    left = _without(
        words, {"--node", "--handler-binary", "--cgroup-driver", "--node-setting", "--upgrade-from"}
    )
    return [*left, "--runtime-endpoint", endpoint] if len(left) < len(words) else left


def _without(words: Sequence[str], options: Collection[str]) -> list[str]:
    """Return a command without some options and their values."""
    left, skip = list[str](), False
    for word in words:
        if skip:
            skip = False
        elif word.replace("--cri-", "--", 1) in options:
            skip = True
        else:
            left.append(word)
    return left
