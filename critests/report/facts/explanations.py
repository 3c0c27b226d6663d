"""Texts that explain the outcome of a test."""

from typing import Final

from critests import catalogue
from critests.catalogue.words import Outcome
from critests.record.reasons import ReasonCode
from critests.record.result_records import TestResult
from critests.report.wording.message_shortening import shortened_message
from critests.report.wording.reason_sentences import observed
from critests.report.wording.texts import cut, plural, visible

TEXT_LIMIT: Final = 64 * 1024
"""Characters of a description."""
BRIEF: Final = 240
"""Characters of the shortest sentence."""


def statement_of(identity: str) -> str:
    """Return the statement of a requirement; empty if this catalogue does not know it."""
    found = catalogue.load().find(identity)
    return found.statement if found else ""


def title_of(identity: str) -> str:
    """Return the title of a requirement, its statement in one line; empty if unknown."""
    found = catalogue.load().find(identity)
    return found.title if found else ""


def promise_of_aspect(name: str) -> str:
    """Return what an aspect requires, `SBX-26/error`, in one line: the statement of its requirement, and
    its scope if it has one; empty if this catalogue does not know the requirement.
    """
    found = catalogue.load().aspects.get(name)
    scope = found[1].scope if found else ""
    return ": ".join(filter(None, [statement_of(name.partition("/")[0]), scope]))


def promise_of(test: TestResult) -> str:
    """Return what a test requires: its first sentence, or the statement of its requirement. A crash breaks
    another requirement than the one that the test is about.
    """
    statement = title_of(test.requirement_id)
    return statement if statement and test.why.code is ReasonCode.RUNTIME_ENDED else test.title or statement


def observed_of(test: TestResult, limit: int) -> str:
    """Return what a test observed, in one line of at most `limit` characters; empty if it says nothing."""
    return shortened_message(observed(test), limit)


def consequences(failed: int, blocked: int) -> str:
    """Return what else a failure brought about, in words: the tests that failed or could not be judged."""
    parts = (
        f"{plural(failed, 'more test')} failed" if failed else "",
        f"{plural(blocked, 'test')} could not be judged" if blocked else "",
    )
    return " and ".join(filter(None, parts))


def brief(test: TestResult) -> str:
    """Return the shortest useful sentence about a test."""
    return observed_of(test, BRIEF) or test.title


def skip_message(test: TestResult) -> str:
    """Return why a test was skipped: its outcome, then a reason, which is never empty."""
    if test.outcome is Outcome.KNOWN:
        return f"known: {test.expectation or test.reason or 'listed in the expectations'}"
    rpc = test.setup_rpc or test.raw_rpc
    by = f" by {test.blocked_by}{f' ({rpc})' if rpc else ''}" if test.blocked_by else ""
    return f"{test.outcome.value}{by}: {test.reason or 'no reason was recorded'}"


def description(test: TestResult) -> str:
    """Return all that is known about a breach, escaped and cut to 64 KiB characters."""
    breach = bool(test.seen)
    parts = (
        ("expected: " * breach, test.title),
        ("observed: " * breach, test.seen or test.reason),
        ("evidence: ", test.evidence),
        ("repeat: ", test.repeat_command),
        ("\n", test.detail),
    )
    text = "\n".join(head + visible(cut(part, TEXT_LIMIT)) for head, part in parts if part)
    return cut(text, TEXT_LIMIT, rest=f"see {test.evidence}" if test.evidence else "see the run record")
