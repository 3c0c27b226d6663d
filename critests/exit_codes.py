"""How a process of critests ends: the exit codes, and the exceptions that mean one of them."""

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """Exit codes are pytest's own. Precedence where several apply: 2, 3, 1, 5, 0."""

    CONFORMS = 0
    BROKEN = 1
    INTERRUPTED = 2
    HARNESS_ERROR = 3
    USAGE = 4
    NOT_TESTED = 5


class CannotTest(Exception):
    """What was asked for cannot be tested here; the message is a sentence that says why, and what would help.

    Base of every exception with which the beginning of a run can fail: whoever begins one needs one `except`.

    Attributes:
        exit_code: how the process ends.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.NOT_TESTED


class UsageError(CannotTest):
    """What was asked for makes no sense; the message names option, value and what would."""

    exit_code: ClassVar[ExitCode] = ExitCode.USAGE
