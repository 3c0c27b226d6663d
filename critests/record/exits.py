"""The exit code of a run and its cause."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from critests.catalogue.words import Level, Outcome
from critests.exit_codes import ExitCode
from critests.record.blocking import BREACHES, VERDICTS
from critests.record.reasons import Reason, ReasonCode
from critests.record.result_records import TestResult

MEASURED: Final = "benchmark"
"""The area of benchmark scenarios."""

_NO_BREACH: Final = frozenset({ReasonCode.CAPABILITY_MISSING, ReasonCode.UNEXPECTED_PASS})


class ExitCause(StrEnum):
    """What decided the exit code."""

    INTERRUPTED = "interrupted"
    HARNESS = "harness"
    UNREACHABLE = "unreachable"
    """The runtime could not pull from the suite's registry."""
    BROKEN = "broken"
    GONE = "gone"
    NOTHING_RAN = "nothing ran"
    TIME_LIMIT = "time limit"
    """The time limit of the run left out the tests of MUSTs, and none was judged."""
    STRICT = "strict"
    """Only warnings, and --strict counts them."""
    NO_NEW_FAILURE = "no new failure"


@dataclass(frozen=True, kw_only=True)
class ExitDecision:
    """The exit code of a run and its cause.

    Attributes:
        code: The exit code.
        because: What decided.
        ran: Number of tests with a verdict.
        broken: Number of failed tests by the level of their aspect. A failed SHOULD normally is a warning;
            one that is still a failure must fail the run.
        findings: Number of findings behind these failures.
        now_and_then: Number of failed tests that failed in some of their tries only.
        by_chance: Number of warnings of tests that failed once and in none of the repeats.
        surprises: Number of known failures that passed although earlier runs have shown them to fail.
        missing: Number of declared capabilities that were not found.
        known: Number of known failures.
        warned: Number of warnings.
        errors: Number of tests in which the harness failed.
        harness_error: Error in the harness itself, in words, or empty.
        gone: Why the runtime could not be tested any more; None if it could.
        shown_by: A test with the reason if no test ran or the runtime had no image; else None.
        measuring: The run is a benchmark.
        musts_not_begun: Number of tests of a MUST that the time limit of the run left out.
    """

    code: ExitCode = ExitCode.NO_NEW_FAILURE
    because: ExitCause = ExitCause.NO_NEW_FAILURE
    ran: int = 0
    broken: Mapping[Level, int] = field(default_factory=dict)
    findings: int = 0
    now_and_then: int = 0
    by_chance: int = 0
    surprises: int = 0
    missing: int = 0
    known: int = 0
    warned: int = 0
    errors: int = 0
    harness_error: str = ""
    gone: Reason | None = None
    shown_by: TestResult | None = None
    measuring: bool = False
    musts_not_begun: int = 0

    @property
    def any_broken(self) -> bool:
        """Whether anything fails the run."""
        return bool(self.broken or self.surprises or self.missing)


def ending(  # noqa: PLR0911 - one return per cause
    tests: Sequence[TestResult],
    *,
    strict: bool = False,
    interrupted: bool = False,
    harness_error: str = "",
    runtime_gone: Reason | None = None,
    musts_not_begun: int = 0,
) -> ExitDecision:
    """Return the exit code and its cause.

    Args:
        tests: Final results.
        strict: Warnings count.
        interrupted: The user stopped the run.
        harness_error: Error in the harness, or empty.
        runtime_gone: Why the runtime cannot be tested any more; None if it can.
        musts_not_begun: Number of tests of a MUST that the time limit of the run left out.
    """
    outcomes = Counter(test.outcome for test in tests)
    every = [test for test in tests if test.outcome is Outcome.FAILED]
    of_code = Counter(test.why.code for test in every)
    failed = [test for test in every if test.why.code not in _NO_BREACH]
    known = [test for test in tests if test.outcome is Outcome.KNOWN]
    found = ExitDecision(
        ran=sum(outcomes[outcome] for outcome in VERDICTS),
        broken=Counter(test.level for test in failed),
        findings=sum(not test.cause for test in failed),
        now_and_then=sum(test.now_and_then for test in failed),
        by_chance=sum(test.by_chance for test in tests if test.outcome is Outcome.WARNED),
        surprises=of_code[ReasonCode.UNEXPECTED_PASS],
        missing=of_code[ReasonCode.CAPABILITY_MISSING],
        known=len(known),
        warned=outcomes[Outcome.WARNED],
        errors=outcomes[Outcome.ERROR],
        harness_error=harness_error,
        gone=runtime_gone,
        measuring=bool(tests) and all(test.area == MEASURED for test in tests),
        musts_not_begun=musts_not_begun,
    )
    unreachable = next(
        (
            test
            for test in tests
            if test.outcome is Outcome.BLOCKED and test.why.code is ReasonCode.REGISTRY_UNREACHABLE
        ),
        None,
    )
    if interrupted:
        return replace(found, code=ExitCode.INTERRUPTED, because=ExitCause.INTERRUPTED)
    if harness_error or found.errors:
        return replace(found, code=ExitCode.HARNESS_ERROR, because=ExitCause.HARNESS)
    if unreachable is not None:
        # most tests are blocked by this, and the rest is not enough for a verdict
        return replace(found, code=ExitCode.NOT_TESTED, because=ExitCause.UNREACHABLE, shown_by=unreachable)
    if found.any_broken or (runtime_gone is not None and _ended_by_itself(tests)):
        return replace(found, code=ExitCode.BROKEN, because=ExitCause.BROKEN)
    if runtime_gone is not None:
        return replace(found, code=ExitCode.NOT_TESTED, because=ExitCause.GONE)
    if musts_not_begun and not _any_must_judged(tests):
        return replace(found, code=ExitCode.NOT_TESTED, because=ExitCause.TIME_LIMIT)
    if not binding_ran(tests):
        why = _commonest(tests)
        return replace(found, code=ExitCode.NOT_TESTED, because=ExitCause.NOTHING_RAN, shown_by=why)
    if strict and found.warned:
        return replace(found, code=ExitCode.BROKEN, because=ExitCause.STRICT)
    return found


def _ended_by_itself(tests: Sequence[TestResult]) -> bool:
    """Return whether the runtime crashed during a test, known or not."""
    return any(test.outcome in BREACHES and test.why.code is ReasonCode.RUNTIME_ENDED for test in tests)


def binding_ran(tests: Sequence[TestResult]) -> bool:
    """Return whether a MUST-level test gave a verdict; if none was selected, whether any test did."""
    selected = [test for test in tests if test.outcome is not Outcome.DISABLED]
    binding = [test for test in selected if test.level is Level.MUST] or selected
    return any(test.outcome in VERDICTS for test in binding)


def _any_must_judged(tests: Sequence[TestResult]) -> bool:
    return any(test.level is Level.MUST and test.outcome in VERDICTS for test in tests)


def _commonest(tests: Sequence[TestResult]) -> TestResult | None:
    """Return a test with the most frequent reason for not running; None if no test has a reason."""
    not_run = [
        test
        for test in tests
        if test.outcome in {Outcome.BLOCKED, Outcome.UNSUPPORTED} and test.why.code is not ReasonCode.NONE
    ]
    numbers = Counter(repr(test.why) for test in not_run)
    return max(not_run, key=lambda test: numbers[repr(test.why)], default=None)
