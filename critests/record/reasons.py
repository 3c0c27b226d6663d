"""Why a test has the outcome that it has, as data: what judges, groups and counts asks this, and never the
sentence that a reader gets.
"""

from dataclasses import dataclass
from enum import StrEnum


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
        subject: What it happened to: the field that was looked at, the RPC that failed, the capability.
        expected: What was expected of it, as Python writes the value.
        seen: What was seen instead, as Python writes the value; of an RPC, the code that it answered.
        unit: Unit of both, `s`, or empty.
        words: What the test or the runtime itself said.
    """

    code: ReasonCode = ReasonCode.NONE
    subject: str = ""
    expected: str = ""
    seen: str = ""
    unit: str = ""
    words: str = ""
