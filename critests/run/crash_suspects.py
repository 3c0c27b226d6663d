"""Which test crashed the daemon: with several workers, every test that ran at that time is a suspect.

Each suspect is repeated alone, on a new runtime if the run can start one. If none crashes the daemon again,
or none can be repeated, one synthesized failure names them all.
"""

import dataclasses
import shlex
from collections.abc import Callable, Collection, Sequence

from critests.catalogue.words import Outcome
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult
from critests.run.collected_tests import JudgedAspect
from critests.run.daemon_watch import OUTLIVES_MALFORMED, OUTLIVES_WELL_FORMED
from critests.run.repeating import run_again

REPEAT_SECONDS = 600.0
"""For a run with one suspect, including the start of a private runtime."""

Repeat = Callable[[TestResult], TestResult | None]
"""Runs a test alone and returns its raw result; None if that was not possible."""


def ended_the_daemon(test: TestResult) -> bool:
    """Return whether the daemon ended during a test."""
    return test.outcome is Outcome.FAILED and test.requirement in {OUTLIVES_MALFORMED, OUTLIVES_WELL_FORMED}


def resolve_crash_suspects(
    results: Sequence[TestResult], together: Collection[Collection[str]], repeat: Repeat
) -> list[TestResult]:
    """Return the results with each crash of the daemon attributed to one test, or to none.

    Args:
        results: of the whole run.
        together: for each crash, the ids of the tests that ran at that time.
        repeat: runs one of them again.
    """
    by_id = {test.id: test for test in results}
    changed: dict[str, TestResult] = {}
    more: list[TestResult] = []
    for ids in together:
        suspects = [by_id[each] for each in ids if each in by_id and ended_the_daemon(by_id[each])]
        if len(suspects) < 2:
            continue
        again = {test.id: repeat(test) for test in suspects}
        culprits = {each for each, test in again.items() if test is not None and ended_the_daemon(test)}
        for test in suspects:
            if test.id not in culprits:
                changed[test.id] = again[test.id] or _blocked(test)
        if not culprits:
            more.append(_unattributed_crash(suspects))
    return [changed.get(test.id, test) for test in results] + more


def end_between_tests(results: Sequence[TestResult], together: Collection[Collection[str]]) -> Reason | None:
    """Return why the daemon ended if it did so between two tests, so that none failed by it; None if it did
    not.

    Args:
        results: of the whole run.
        together: for each end of the daemon, the ids of the tests that met it.
    """
    by_id = {test.id: test for test in results}
    for ids in together:
        met = [
            test for each in ids if (test := by_id.get(each)) and test.why.code is ReasonCode.RUNTIME_ENDED
        ]
        if met and all(test.outcome is Outcome.BLOCKED for test in met):
            return met[0].why
    return None


def _blocked(test: TestResult) -> TestResult:
    return dataclasses.replace(
        test,
        outcome=Outcome.BLOCKED,
        why=Reason(code=ReasonCode.CONCURRENT_CRASH),
        reported_blocker=OUTLIVES_WELL_FORMED,
        detail="",
    )


def _unattributed_crash(suspects: Sequence[TestResult]) -> TestResult:
    return dataclasses.replace(
        suspects[0],
        id=f"<the daemon ended beside {suspects[0].id}>",
        name="daemon_outlives_tests_side_by_side",
        params={},
        **JudgedAspect.named(OUTLIVES_WELL_FORMED).fields,
        why=dataclasses.replace(suspects[0].why, more=[test.name for test in suspects]),
        synthesized=True,
        repeat_command="",
    )


def repeat_alone(test: TestResult) -> TestResult | None:
    """Run a test alone by its repeat command; None if that was not possible."""
    return next(iter(run_again(test, shlex.split(test.repeat_command), 1, REPEAT_SECONDS)), None)
