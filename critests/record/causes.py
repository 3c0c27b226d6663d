"""What many results share: one fault is one finding, however many tests it turns red."""

import ast
import dataclasses
from collections.abc import Callable, Sequence

from critests.catalogue.words import Outcome, worst
from critests.record.blocking import BREACHES
from critests.record.reasons import ReasonCode
from critests.record.result_records import RootCause, TestResult
from critests.record.varying_text import without_what_varies

_SAID = frozenset(
    {
        ReasonCode.SAID,
        ReasonCode.SESSION,
        ReasonCode.NOT_REFUSED,
        ReasonCode.LOG_UNREADABLE,
        ReasonCode.ANSWER,
    }
)
"""Where equal words mean one finding; conditions that were waited for have nothing else in common."""
_SAYS_LITTLE = frozenset({"True", "False", "None", "0", "1", "''", "b''", "[]", "{}", "()", "set()"})
"""What is seen of many fields for many reasons."""
_OUTLIVED = frozenset({"GEN-06", "GEN-17"})
"""What every request puts to the test: two ends of a daemon are one finding only where they say the same."""


def group_duplicate_failures(
    tests: Sequence[TestResult], judge_of: Callable[[str], str | None]
) -> list[TestResult]:
    """Say of each failure whether it is only another sight of one that is there already.

    Failures that ended with the same answer of the same RPC are one finding, and so are those that saw the
    same value in the same field after the same call (an exit code of 137 after StopContainer), those that say
    the same sentence after the same call (a session that cannot be opened), and those of one requirement. It
    is held against the requirement that judges the RPC where that one is among them, else against the first.
    Nothing is taken back by it: a failure stays a failure.

    Args:
        tests: Final results; what an earlier judgement named is named anew.
        judge_of: RPC to the aspect that judges it.
    """
    findings: dict[tuple[str, ...], str] = {}
    causes: dict[str, str] = {}
    for test in sorted(tests, key=lambda test: not _judges_its_call(test, judge_of)):
        if test.outcome is not Outcome.FAILED or not test.requirement_id:
            continue
        of_requirement, evidence = _promise(test), _answered(test) or _looked_at(test)
        cause = findings.get(evidence, "") or findings.get(of_requirement, "")
        causes[test.id] = cause
        if evidence:
            findings.setdefault(evidence, cause or test.requirement_id)
        if not cause:
            findings[of_requirement] = test.requirement_id
    return [dataclasses.replace(test, cause=causes.get(test.id, "")) for test in tests]


def root_causes(tests: Sequence[TestResult]) -> list[RootCause]:
    """Group blocked tests, and failures that only repeat another, under the requirement that is broken; most
    followers first.
    """
    blocked: dict[str, list[TestResult]] = {}
    repeated: dict[str, list[TestResult]] = {}
    for test in tests:
        if test.outcome is Outcome.BLOCKED and test.blocked_by:
            blocked.setdefault(test.blocked_by, []).append(test)
        elif test.outcome is Outcome.FAILED and test.cause:
            repeated.setdefault(test.cause, []).append(test)
    causes = []
    for requirement in dict.fromkeys([*blocked, *repeated]):
        followers = blocked.get(requirement, []) + repeated.get(requirement, [])
        own = [test for test in tests if test.requirement_id == requirement]
        breach = next((test for test in own if test.outcome in BREACHES), None)
        rpcs = (test.setup_rpc or test.raw_rpc or test.after for test in followers)
        causes.append(
            RootCause(
                requirement=requirement,
                rpc=next(filter(None, rpcs), ""),
                shown_by=(breach or followers[0]).id,
                blocked=[test.id for test in blocked.get(requirement, [])],
                failed=[test.id for test in repeated.get(requirement, [])],
                outcome=worst([test.outcome for test in own]) if own else Outcome.BLOCKED,
            )
        )
    return sorted(causes, key=lambda cause: -len(cause.blocked) - len(cause.failed))


def _judges_its_call(test: TestResult, judge_of: Callable[[str], str | None]) -> bool:
    rpc = test.raw_rpc or test.after
    return bool(rpc) and judge_of(rpc) == test.requirement


def _promise(test: TestResult) -> tuple[str, ...]:
    """Return what all failures of one finding break."""
    why = test.why
    said = (why.subject, *map(without_what_varies, (why.expected, why.seen, why.words)))
    return "requirement", test.requirement_id, *(said if test.requirement_id in _OUTLIVED else ())


def _answered(test: TestResult) -> tuple[str, ...]:
    """Return the call that failed a test and what was answered to it; empty where none did."""
    if not test.raw_rpc or not test.answer:
        return ()
    return "answer", test.raw_rpc, test.answer, without_what_varies(test.why.words)


def _looked_at(test: TestResult) -> tuple[str, ...]:
    """Return after which call what was seen in which field, or what was said, of a failure without a failed
    call; empty where that says little.
    """
    why, seen = test.why, _only_one(test.why.seen)
    if test.after and why.words and why.code in _SAID:
        return "said", test.after, why.words
    if not test.after or why.code is not ReasonCode.VALUE or not why.subject or seen in _SAYS_LITTLE:
        return ()
    return "seen", test.after, why.subject, seen


def _only_one(seen: str) -> str:
    """Return the only element of a list instead of the list: it was looked at alone elsewhere."""
    try:
        values = ast.literal_eval(seen) if seen.startswith("[") else None
    except (ValueError, SyntaxError):
        return seen
    return repr(values[0]) if isinstance(values, list) and len(values) == 1 else seen
