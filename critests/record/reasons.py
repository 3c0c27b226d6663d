"""Why a test has the outcome that it has, as data: what judges, groups and counts asks this. The sentence
that a reader gets is made of it in `critests.report.wording.reason_sentences`.
"""

import ast
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

_POINTS_IN_TIME: Final = ((10**18, 4 * 10**18, 1e9), (10**9, 4 * 10**9, 1.0))
"""From and to which numbers are points in time (nanoseconds, seconds), and how many are a second."""


class ReasonCode(StrEnum):
    """What kind of thing happened."""

    NONE = ""
    """Nothing, or nothing that is known."""
    VALUE = "value"
    """Something was not what a test expected of it."""
    SAID = "said"
    """A test found something that it says in its own words."""
    CONDITION = "condition"
    """Something was waited for in vain."""
    NOT_REFUSED = "not refused"
    """A call succeeded that was to be refused."""
    SESSION = "session"
    """A streaming session broke, or could not be opened."""
    LOG_UNREADABLE = "log unreadable"
    """A container's log could not be read."""
    ANSWER = "answer"
    """An RPC failed."""
    NOT_IMPLEMENTED = "not implemented"
    """The runtime lacks an RPC."""
    HANG = "hang"
    """An RPC was not answered within its deadline."""
    RUNTIME_ENDED = "runtime ended"
    """The runtime's process ended, or nobody listens any more."""
    RUNTIME_SILENT = "runtime silent"
    """The runtime lives and does not answer any more."""
    BESIDE_OTHERS = "beside others"
    """The runtime ended while this test, among others, ran."""
    REGISTRY_UNREACHABLE = "registry unreachable"
    """The runtime has no image to test with: it does not reach the suite's registry."""
    NOT_HERE = "not here"
    """Something that the test needs is missing on this machine or in this run."""
    NOT_ALLOWED = "not allowed"
    """The user's options forbid a call that the test needs."""
    NOT_OFFERED = "not offered"
    """The runtime does not offer an optional feature."""
    DESELECTED = "deselected"
    """The user's options leave the test out."""
    UNEXPECTED_PASS = "unexpected pass"  # noqa: S105 - a test that passed
    """A test passed that the list of known failures expects to fail."""
    CAPABILITY_MISSING = "capability missing"
    """The user declared a capability that was not found."""
    HARNESS = "harness"
    """The test, a fixture or the suite itself broke."""


@dataclass(frozen=True, kw_only=True)
class Reason:
    """Why a test has its outcome.

    Attributes:
        code: What kind of thing happened.
        subject: What it happened to: the field that was looked at, the RPC that failed, the capability, the
            kind of an exception, an entry of the known failures.
        where: The same more closely: the expression in the test, the image of a pull, the process that ended.
        relation: How it was expected to stand to `expected`: a comparison of Python, `==`, `in`, or `not`.
        other: What it was compared with, as the test writes it.
        expected: What was expected of it, as Python writes the value; of an RPC that hangs, the seconds.
        seen: What was seen instead, as Python writes the value; of an RPC, the code that it answered.
        unit: Unit of both, `s`, or empty.
        words: What the test or the runtime itself said, one line.
        more: Further lines: of these words, of the differences of two values; names of tests.
        parts: What differs one by one, of a list; what else was found, of a hang.
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
        """Say whether the runtime's or the test's own words, or a value, hold a text."""
        own = (self.where, self.expected, self.seen, self.words, *self.more)
        return any(words in text for text in own) or any(part.mentions(words) for part in self.parts)


def number_in(text: str) -> int | float | None:
    """Return the number that a text is; None where it is none."""
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def seconds_between(seen: str, expected: str) -> float | None:
    """Return how many seconds after the expected point in time the other one is; None where they are none."""
    one, other = number_in(seen), number_in(expected)
    if one is None or other is None:
        return None
    for low, high, second in _POINTS_IN_TIME:
        if all(low <= point <= high for point in (one, other)):
            # integers of nanoseconds are larger than what a float holds exactly
            return (one - other) / second
    return None
