"""The exit codes of a command whose usage is right but which cannot do its work."""

import contextlib
from collections.abc import Iterator

import click

from critests.exit_codes import ExitCode
from critests.record.record_errors import RecordNotWritten, RecordUnreadable
from critests.report.comparison import NotComparable
from critests.toml_file import TomlMalformed


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
        hint = "; pass --unlike-machines to compare anyway" if error.unlike_machines else ""
        raise NotPossible(f"{error}{hint}") from error
    except TomlMalformed as error:
        raise click.UsageError(str(error)) from error
    except RecordUnreadable as error:
        raise NotPossible(str(error)) from error
    except RecordNotWritten as error:
        raise Failed(str(error)) from error
