"""Why a test has its outcome, as data for judgement, grouping and counting. The sentence for a reader is made
in `critests.report.wording.reason_sentences`.
"""

import ast
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

_POINTS_IN_TIME: Final = ((10**18, 4 * 10**18, 1e9), (10**9, 4 * 10**9, 1.0))
"""Ranges of numbers that are timestamps (nanoseconds, seconds), and the units per second."""


class ReasonCode(StrEnum):
    """The kind of a reason."""

    NONE = ""
    """None, or unknown."""
    VALUE = "value"
    """A value differs from what the test expected."""
    SAID = "said"
    """A test failed with a message of its own."""
    CONDITION = "condition"
    """A condition was not met in time."""
    NOT_REFUSED = "not refused"
    """A call succeeded that should have been rejected."""
    RESPONSE = "response"
    """A response breaks a rule that holds for every response."""
    SESSION = "session"
    """A streaming session broke, or could not be opened."""
    LOG_UNREADABLE = "log unreadable"
    """A container's log could not be read."""
    ANSWER = "answer"
    """An RPC failed."""
    NOT_IMPLEMENTED = "not implemented"
    """The runtime lacks an RPC."""
    HANG = "hang"
    """An RPC got no response within its deadline."""
    RUNTIME_ENDED = "runtime ended"
    """The runtime's process ended, or its socket refuses connections."""
    RUNTIME_SILENT = "runtime silent"
    """The runtime runs and does not respond any more."""
    CONCURRENT_CRASH = "beside others"
    """The runtime ended while this test and others ran."""
    LEFTOVER = "leftover"
    """Something stays on the machine after the runtime has reported the removal of its object."""
    REGISTRY_UNREACHABLE = "registry unreachable"
    """The runtime does not reach the suite's registry, so there is no image to test with."""
    NO_IMAGES = "no images"
    """The run serves no images and knows no mirror of them."""
    NOT_HERE = "not here"
    """The machine or the run lacks something that the test needs."""
    NOT_UNDER_CONDITION = "not under condition"
    """The API does not promise under a condition of the run what the test checks."""
    NOT_ALLOWED = "not allowed"
    """The user's options forbid a call that the test needs."""
    NOT_OFFERED = "not offered"
    """The runtime does not offer an optional feature."""
    TIME_LIMIT = "time limit"
    """The time limit of the run cut the test."""
    TOO_LONG = "too long"
    """The test took longer than its own time limit, without its calls to the runtime."""
    DESELECTED = "deselected"
    """The user's options leave the test out."""
    UNEXPECTED_PASS = "unexpected pass"  # noqa: S105 - a test that passed
    """A test passed that the list of known failures expects to fail."""
    CAPABILITY_MISSING = "capability missing"
    """A capability that the user requires was not found."""
    HARNESS = "harness"
    """The test, a fixture or the suite itself has an error."""
    NOT_REMOVED = "not removed"
    """An object of the tests could not be removed."""
    RUNS_DISAGREE = "runs disagree"
    """Merged runs disagree about a capability."""


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why a test has its outcome.

    Attributes:
        code: Kind of the reason.
        subject: The field that was checked, the failed RPC, the RPC that removed the object of a leftover,
            the capability, the condition of the run, the type of an exception, the kind of an object, or the
            entry of the known failures.
        where: Details of the subject: the expression in the test, the image of a pull, the process or
            endpoint that ended or is silent, the address of the registry, the id of an object, the rule by
            which a test is not run under a condition.
        relation: Relation of the observed to the expected value: a Python operator such as `==` or `in`,
            `set` if any value is expected, `or` if one of the parts is.
        other: The field on the other side of the comparison, or its expression in the test; the daemon that
            works with a process that ended.
        expected: The expected value as a Python literal; for an RPC that hangs, its deadline in seconds; for
            a test that took too long, its limit.
        seen: The observed value as a Python literal; for an RPC, its status code; for a leftover, how long it
            has stayed; for a capability, what a probe found, empty without a probe.
        unit: Unit of both values, `s`, or empty.
        words: Message of the test or the runtime, one line.
        more: Further lines of the message, differences of two values, names of tests, or leftovers.
        parts: Differing elements of a list, or alternatives; for a hang, the other finding of the test.
    """

    code: ReasonCode = ReasonCode.NONE
    subject: str = ""
    where: str = ""
    relation: str = ""
    other: str = ""
    expected: str = ""
    seen: str = ""
    unit: str = ""
    words: str = ""
    more: list[str] = field(default_factory=list)
    parts: list["Reason"] = field(default_factory=list)

    def mentions(self, words: str) -> bool:
        """Return whether the message or a value contains a text."""
        own = (self.where, self.expected, self.seen, self.words, *self.more)
        return any(words in text for text in own) or any(part.mentions(words) for part in self.parts)


def number_in(text: str) -> int | float | None:
    """Return the number in a text; None if it is not a number."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def seconds_between(seen: str, expected: str) -> float | None:
    """Return the seconds from the expected timestamp to the observed one; None if one is not a timestamp."""
    one, other = number_in(seen), number_in(expected)
    if one is None or other is None:
        return None
    for low, high, second in _POINTS_IN_TIME:
        if all(low <= point <= high for point in (one, other)):
            # subtract integers first: a float cannot hold nanoseconds since the epoch exactly
            return (one - other) / second
    return None
