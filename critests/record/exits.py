"""The exit code of a run, and the sentence that explains it."""

from collections.abc import Sequence
from typing import Final

from critests.catalogue.words import Level, Outcome
from critests.exit_codes import ExitCode
from critests.record.blocking import VERDICTS
from critests.record.results import TestResult

MEASURED: Final = "benchmark"
"""The area of scenarios, which are no tests of promises."""


def exit_code(
    tests: Sequence[TestResult],
    *,
    strict: bool = False,
    interrupted: bool = False,
    harness_error: str = "",
    runtime_gone: str = "",
) -> tuple[int, str]:
    """Return the exit code and one sentence that says why.

    Args:
        tests: Final results.
        strict: Warnings count.
        interrupted: The user stopped the run.
        harness_error: What broke in the harness, or empty.
        runtime_gone: Why the runtime cannot be tested (any more), or empty.
    """
    numbers = {outcome: sum(test.outcome is outcome for test in tests) for outcome in Outcome}
    failed, warned, known, errors = (
        numbers[outcome] for outcome in (Outcome.FAILED, Outcome.WARNED, Outcome.KNOWN, Outcome.ERROR)
    )
    ran = sum(test.outcome in VERDICTS for test in tests)
    code, reason = (
        ExitCode.CONFORMS,
        f"every MUST that could be tested is kept ({_of(known, 'known failure')}, {_of(warned, 'warning')})",
    )
    if interrupted:
        code, reason = (
            ExitCode.INTERRUPTED,
            f"interrupted after {_of(ran, 'test')}; nothing is said about the rest",
        )
    elif harness_error or errors:
        code = ExitCode.HARNESS_ERROR
        reason = (
            harness_error
            or f"the harness itself failed in {_of(errors, 'test')}; nothing is said about the runtime there"
        )
        if failed:
            reason = f"{reason}; {_of(failed, 'test')} found a MUST broken"
    elif runtime_gone:
        code, reason = ExitCode.NOT_TESTED, f"the runtime could not be tested: {runtime_gone}"
    elif not binding_ran(tests):
        code, reason = ExitCode.NOT_TESTED, _why_nothing_ran(tests)
    elif failed:
        code = ExitCode.BROKEN
        reason = f"{_of(failed, 'test')} found a MUST broken ({_of(known, 'known failure')} beside)"
    elif strict and warned:
        code, reason = ExitCode.BROKEN, f"no MUST is broken, but --strict counts {_of(warned, 'warning')}"
    return int(code), reason


def binding_ran(tests: Sequence[TestResult]) -> bool:
    """Say whether a MUST-level test gave a verdict; where none was selected, whether any test did."""
    selected = [test for test in tests if test.outcome is not Outcome.DISABLED]
    binding = [test for test in selected if test.level is Level.MUST] or selected
    return any(test.outcome in VERDICTS for test in binding)


def _why_nothing_ran(tests: Sequence[TestResult]) -> str:
    reasons = [
        test.reason
        for test in tests
        if test.outcome in {Outcome.BLOCKED, Outcome.UNSUPPORTED} and test.reason
    ]
    what = "scenario" if tests and all(test.area == MEASURED for test in tests) else "test of a MUST"
    if not reasons:
        return f"no {what} was selected or could run"
    commonest = max(dict.fromkeys(reasons), key=reasons.count)
    return f"no {what} could run; the commonest reason: {commonest}"


def _of(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"
