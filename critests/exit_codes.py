"""The exit codes of critests, and the exceptions that end a process with one of them."""

from enum import IntEnum
from typing import ClassVar


class ExitCode(IntEnum):
    """Exit codes are pytest's own. Precedence where several apply: 2, 3, 1, 5, 0."""

    NO_NEW_FAILURE = 0
    BROKEN = 1
    INTERRUPTED = 2
    HARNESS_ERROR = 3
    USAGE = 4
    NOT_TESTED = 5


class CannotTest(Exception):
    """The requested test cannot run here; the message says why, and what would help.

    Base of every exception that can end a run while it begins, so that one `except` is enough.

    Attributes:
        exit_code: exit code of the process.
    """

    exit_code: ClassVar[ExitCode] = ExitCode.NOT_TESTED


class UsageError(CannotTest):
    """An option makes no sense; the message names the option, its value and what is expected."""

    exit_code: ClassVar[ExitCode] = ExitCode.USAGE
