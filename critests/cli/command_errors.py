"""The exit codes of a command whose usage is right but which cannot do its work."""

import contextlib
from collections.abc import Iterator
from typing import Final

import click

from critests.exit_codes import ExitCode
from critests.record.record_errors import RecordNotWritten, RecordUnreadable
from critests.report.comparison import NotComparable
from critests.toml_file import TomlMalformed

UNLIKE: Final = "unlike_machines"
"""The parameter of commands that compare other machines too."""


class NotPossible(click.ClickException):
    """There is no result: the runs cannot be read or compared."""

    exit_code = int(ExitCode.NOT_TESTED)


class Failed(click.ClickException):
    """Something could not be read, written or removed."""

    exit_code = int(ExitCode.HARNESS_ERROR)


@contextlib.contextmanager
def of_comparisons() -> Iterator[None]:
    """Turn the errors of comparing stored runs into those of a command.

    Raises:
        UsageError: a file of the user is malformed.
        NotPossible: the runs cannot be read or compared.
        Failed: the result cannot be written.
    """
    try:
        yield
    except NotComparable as error:
        option = _option_for_unlike_machines() if error.unlike_machines else ""
        hint = f"; pass {option} to compare anyway" if option else ""
        raise NotPossible(f"{error}{hint}") from error
    except TomlMalformed as error:
        raise click.UsageError(str(error)) from error
    except RecordUnreadable as error:
        raise NotPossible(str(error)) from error
    except RecordNotWritten as error:
        raise Failed(str(error)) from error


def _option_for_unlike_machines() -> str:
    """Return the name of the running command's option that compares other machines too; empty without one."""
    context = click.get_current_context(silent=True)
    options = context.command.params if context else []
    return next((option.opts[0] for option in options if option.name == UNLIKE), "")
