"""The exit code of a run, and the sentence that explains it."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from critests.catalogue.words import Level, Outcome
from critests.exit_codes import ExitCode
from critests.record.blocking import BREACHES, VERDICTS
from critests.record.reasons import ReasonCode
from critests.record.results import TestResult

MEASURED: Final = "benchmark"
"""The area of scenarios, which are no tests of promises."""

BREACH: Final = {
    Level.MUST: "a MUST broken",
    Level.SHOULD: "a SHOULD broken",
    Level.OPT: "an optional feature broken that the runtime offers",
    Level.DIV: "a hang, crash or leak where runtimes may differ",
}
"""What a failed test found, by the level of what it tests. That of a SHOULD is a warning wherever its level
is heeded; what fails all the same must not end as kept.
"""


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
    warned, errors = (
        sum(test.outcome is outcome for test in tests) for outcome in (Outcome.WARNED, Outcome.ERROR)
    )
    broken, out_of_reach, ran = (
        _broken(tests),
        _out_of_reach(tests),
        sum(test.outcome in VERDICTS for test in tests),
    )
    code, reason = ExitCode.CONFORMS, _kept(tests, warned)
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
        if broken:
            reason = f"{reason}; {broken}"
    elif out_of_reach:
        code, reason = ExitCode.NOT_TESTED, f"the runtime could not be tested: {out_of_reach}"
    elif broken or (runtime_gone and _ended_by_itself(tests)):
        code = ExitCode.BROKEN
        found = broken or "the runtime ended in a way that is known"
        reason = f"{found} ({_of(_known(tests), 'known failure')} beside)"
        if runtime_gone:
            reason = f"{reason}; the rest could not be judged: {runtime_gone}"
    elif runtime_gone:
        code, reason = ExitCode.NOT_TESTED, f"the runtime could not be tested: {runtime_gone}"
    elif not binding_ran(tests):
        code, reason = ExitCode.NOT_TESTED, _why_nothing_ran(tests)
    elif strict and warned:
        code, reason = ExitCode.BROKEN, f"no MUST is broken, but --strict counts {_of(warned, 'warning')}"
    return int(code), reason


def _out_of_reach(tests: Sequence[TestResult]) -> str:
    """Return why the runtime had no image to test with; empty where it had. Most tests are blocked by that,
    and the rest make no verdict.
    """
    blocked = (test for test in tests if test.outcome is Outcome.BLOCKED)
    return next((test.reason for test in blocked if test.why.code is ReasonCode.REGISTRY_UNREACHABLE), "")


def _ended_by_itself(tests: Sequence[TestResult]) -> bool:
    """Say whether the runtime ended in the time of a test, known or not."""
    return any(test.outcome in BREACHES and test.why.code is ReasonCode.RUNTIME_ENDED for test in tests)


def _broken(tests: Sequence[TestResult]) -> str:
    """Say what is broken, and how many findings that comes down to; empty where nothing is."""
    every = [
        test
        for test in tests
        if test.outcome is Outcome.FAILED and test.why.code is not ReasonCode.CAPABILITY_MISSING
    ]
    failed = [test for test in every if test.why.code is not ReasonCode.UNEXPECTED_PASS]
    passed = len(every) - len(failed)
    findings, missing = sum(not test.cause for test in failed), _missing(tests)
    found = _found(failed)
    if findings < len(failed):
        found = f"{found}, which comes down to {_of(findings, 'finding')}"
    lacking = "a capability that --require names is missing"
    if missing > 1:
        lacking = f"{missing} capabilities that --require names are missing"
    surprise = f"{_of(passed, 'known failure')} passed, so that the list of them is wrong" if passed else ""
    return "; ".join(filter(None, [found, surprise, lacking if missing else ""]))


def _found(failed: Sequence[TestResult]) -> str:
    """Say how many tests found what broken, by level; empty where none did."""
    levels = Counter(test.level for test in failed)
    found = [
        f"{_of(levels[level], 'test')} found {breach}" for level, breach in BREACH.items() if levels[level]
    ]
    return ", ".join(found)


def _kept(tests: Sequence[TestResult], warned: int) -> str:
    """Say what a run without a new finding means; where known failures are of MUSTs, those are not kept."""
    known = _known(tests)
    binding = sum(test.outcome is Outcome.KNOWN and _binds(test) for test in tests)
    beside = f"{_of(known, 'known failure')}, {_of(warned, 'warning')}"
    if binding:
        return f"no MUST is broken but for {binding} that {_are(binding)} known to be ({beside})"
    return f"every MUST that could be tested is kept ({beside})"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _binds(test: TestResult) -> bool:
    return test.level is not Level.SHOULD and not test.judgement


def _known(tests: Sequence[TestResult]) -> int:
    return sum(test.outcome is Outcome.KNOWN for test in tests)


def _missing(tests: Sequence[TestResult]) -> int:
    return sum(test.why.code is ReasonCode.CAPABILITY_MISSING for test in tests)


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
