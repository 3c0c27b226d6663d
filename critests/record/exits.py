"""The exit code of a run, and what it follows from."""

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
"""The area of scenarios, which are no tests of promises."""

_NO_BREACH: Final = frozenset({ReasonCode.CAPABILITY_MISSING, ReasonCode.UNEXPECTED_PASS})


class ExitCause(StrEnum):
    """What decided how a run ends."""

    INTERRUPTED = "interrupted"
    HARNESS = "harness"
    UNREACHABLE = "unreachable"
    """The runtime had no image to test with."""
    BROKEN = "broken"
    GONE = "gone"
    NOTHING_RAN = "nothing ran"
    STRICT = "strict"
    """Nothing is broken, but warnings count."""
    CONFORMS = "conforms"


@dataclass(frozen=True, kw_only=True)
class ExitDecision:
    """The exit code of a run, and what it follows from.

    Attributes:
        code: The exit code.
        because: What decided.
        ran: Number of tests with a verdict.
        broken: Number of failed tests, by the level of what they test. That of a SHOULD is a warning wherever
            its level is heeded; what fails all the same must not end as kept.
        findings: Number of faults that these come down to.
        now_and_then: Number of failed tests that failed in some of their tries only.
        by_chance: Number of warnings of tests that failed once and in none of the tries after.
        surprises: Number of known failures that passed although runs have shown them.
        missing: Number of declared capabilities that were not found.
        known: Number of known failures.
        known_binding: How many of them are of what binds.
        warned: Number of warnings.
        errors: Number of tests in which the harness failed.
        harness_error: What broke in the harness itself, in words, or empty.
        gone: Why the runtime could not be tested (any more); None where it could.
        shown_by: A test that says why, where no test ran or the runtime had no image; None where none does.
        measuring: The run was to measure, and not to judge.
    """

    code: ExitCode = ExitCode.CONFORMS
    because: ExitCause = ExitCause.CONFORMS
    ran: int = 0
    broken: Mapping[Level, int] = field(default_factory=dict)
    findings: int = 0
    now_and_then: int = 0
    by_chance: int = 0
    surprises: int = 0
    missing: int = 0
    known: int = 0
    known_binding: int = 0
    warned: int = 0
    errors: int = 0
    harness_error: str = ""
    gone: Reason | None = None
    shown_by: TestResult | None = None
    measuring: bool = False

    @property
    def any_broken(self) -> bool:
        """Whether there is anything that must not pass."""
        return bool(self.broken or self.surprises or self.missing)


def ending(  # noqa: PLR0911 - one for each way to end
    tests: Sequence[TestResult],
    *,
    strict: bool = False,
    interrupted: bool = False,
    harness_error: str = "",
    runtime_gone: Reason | None = None,
) -> ExitDecision:
    """Return the exit code and what it follows from.

    Args:
        tests: Final results.
        strict: Warnings count.
        interrupted: The user stopped the run.
        harness_error: What broke in the harness, or empty.
        runtime_gone: Why the runtime cannot be tested (any more); None where it can.
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
        known_binding=sum(test.level is not Level.SHOULD and not test.judgement for test in known),
        warned=outcomes[Outcome.WARNED],
        errors=outcomes[Outcome.ERROR],
        harness_error=harness_error,
        gone=runtime_gone,
        measuring=bool(tests) and all(test.area == MEASURED for test in tests),
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
        # most tests are blocked by that, and the rest make no verdict
        return replace(found, code=ExitCode.NOT_TESTED, because=ExitCause.UNREACHABLE, shown_by=unreachable)
    if found.any_broken or (runtime_gone is not None and _ended_by_itself(tests)):
        return replace(found, code=ExitCode.BROKEN, because=ExitCause.BROKEN)
    if runtime_gone is not None:
        return replace(found, code=ExitCode.NOT_TESTED, because=ExitCause.GONE)
    if not binding_ran(tests):
        why = _commonest(tests)
        return replace(found, code=ExitCode.NOT_TESTED, because=ExitCause.NOTHING_RAN, shown_by=why)
    if strict and found.warned:
        return replace(found, code=ExitCode.BROKEN, because=ExitCause.STRICT)
    return found


def _ended_by_itself(tests: Sequence[TestResult]) -> bool:
    """Say whether the runtime ended in the time of a test, known or not."""
    return any(test.outcome in BREACHES and test.why.code is ReasonCode.RUNTIME_ENDED for test in tests)


def binding_ran(tests: Sequence[TestResult]) -> bool:
    """Say whether a MUST-level test gave a verdict; where none was selected, whether any test did."""
    selected = [test for test in tests if test.outcome is not Outcome.DISABLED]
    binding = [test for test in selected if test.level is Level.MUST] or selected
    return any(test.outcome in VERDICTS for test in binding)


def _commonest(tests: Sequence[TestResult]) -> TestResult | None:
    """Return a test with the reason for which most could not run; None where none has a reason."""
    kept_out = [
        test
        for test in tests
        if test.outcome in {Outcome.BLOCKED, Outcome.UNSUPPORTED} and test.why.code is not ReasonCode.NONE
    ]
    numbers = Counter(repr(test.why) for test in kept_out)
    return max(kept_out, key=lambda test: numbers[repr(test.why)], default=None)
