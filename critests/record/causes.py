"""Groups results by their common cause: one defect is one finding, however many tests it fails."""

import ast
import dataclasses
from collections.abc import Callable, Sequence

from critests.catalogue.words import Outcome, worst
from critests.record.blocking import BREACHES
from critests.record.reasons import ReasonCode
from critests.record.result_records import RootCause, TestResult
from critests.record.varying_text import without_what_varies

_MESSAGE_CODES = frozenset(
    {
        ReasonCode.SAID,
        ReasonCode.SESSION,
        ReasonCode.NOT_REFUSED,
        ReasonCode.LOG_UNREADABLE,
        ReasonCode.ANSWER,
    }
)
"""Reasons whose equal messages mean one finding; equal messages of timeouts do not."""
_UNSPECIFIC = frozenset({"True", "False", "None", "0", "1", "''", "b''", "[]", "{}", "()", "set()"})
"""Values that many fields have for many reasons."""
_CRASH_REQUIREMENTS = frozenset({"GEN-06", "GEN-17"})
"""Any request may break these: two crashes are one finding only if their messages are the same."""


def group_duplicate_failures(
    tests: Sequence[TestResult], judge_of: Callable[[str], str | None]
) -> list[TestResult]:
    """Set `cause` of each failure that only repeats another one.

    Failures with the same error of the same RPC are one finding. So are failures with the same value of the
    same field after the same call (an exit code of 137 after StopContainer), with the same limit that is not
    set, whatever the call, with the same message after the
    same call (a session that cannot be opened), and failures of one requirement. The finding belongs to the
    requirement that judges the RPC if that one failed, else to the first. Outcomes do not change.

    Args:
        tests: Final results; an earlier `cause` is replaced.
        judge_of: RPC to the aspect that judges it.
    """
    findings: dict[tuple[str, ...], str] = {}
    causes: dict[str, str] = {}
    for test in sorted(tests, key=lambda test: not _judges_its_call(test, judge_of)):
        if test.outcome is not Outcome.FAILED or not test.requirement_id:
            continue
        of_requirement, evidence = _requirement_key(test), _error_key(test) or _value_key(test)
        cause = findings.get(evidence, "") or findings.get(of_requirement, "")
        causes[test.id] = cause
        if evidence:
            findings.setdefault(evidence, cause or test.requirement_id)
        if not cause:
            findings[of_requirement] = test.requirement_id
    return [dataclasses.replace(test, cause=causes.get(test.id, "")) for test in tests]


def root_causes(tests: Sequence[TestResult]) -> list[RootCause]:
    """Group blocked tests and repeated failures by the broken requirement, those with most tests first."""
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
        rpcs = (test.setup_rpc or test.raw_rpc for test in followers)
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


def _requirement_key(test: TestResult) -> tuple[str, ...]:
    """Return the key under which failures of one requirement are one finding."""
    why = test.why
    details = (why.subject, *map(without_what_varies, (why.expected, why.seen, why.words)))
    return (
        "requirement",
        test.requirement_id,
        *(details if test.requirement_id in _CRASH_REQUIREMENTS else ()),
    )


def _error_key(test: TestResult) -> tuple[str, ...]:
    """Return the key of a failed call: its RPC and error; empty if no call failed."""
    if not test.raw_rpc or not test.answer:
        return ()
    return "answer", test.raw_rpc, test.answer, without_what_varies(test.why.words)


def _value_key(test: TestResult) -> tuple[str, ...]:
    """Return the key of a failure without a failed call: last call, field and value, or message; empty if it
    is unspecific.
    """
    why, seen = test.why, _only_one(test.why.seen)
    if why.code is ReasonCode.VALUE and why.subject and why.unit and seen == "None":
        return "no limit", why.subject
    if test.after and why.words and why.code in _MESSAGE_CODES:
        return "said", test.after, why.words
    if not test.after or why.code is not ReasonCode.VALUE or not why.subject or seen in _UNSPECIFIC:
        return ()
    return "seen", test.after, why.subject, seen


def _only_one(seen: str) -> str:
    """Return the only element of a list, or the text unchanged: other tests see the element alone."""
    try:
        values = ast.literal_eval(seen) if seen.startswith("[") else None
    except (ValueError, SyntaxError):
        return seen
    return repr(values[0]) if isinstance(values, list) and len(values) == 1 else seen
