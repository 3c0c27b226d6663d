"""How a command ends when what was asked for is right but cannot be done."""

import contextlib
from collections.abc import Iterator

import click

from critests.exit_codes import ExitCode
from critests.record.record_errors import RecordNotWritten, RecordUnreadable
from critests.report.comparison import NotComparable
from critests.toml_file import TomlMalformed


class NotPossible(click.ClickException):
    """Nothing can be said: the runs cannot be read or cannot be compared."""

    exit_code = int(ExitCode.NOT_TESTED)


class Failed(click.ClickException):
    """Something could not be read, written or removed."""

    exit_code = int(ExitCode.HARNESS_ERROR)


@contextlib.contextmanager
def of_comparisons() -> Iterator[None]:
    """End a command that compares stored runs as it is to end where they cannot be compared.

    Raises:
        UsageError: a file of the user's is wrong.
        NotPossible: they cannot be read or compared.
        Failed: what was found cannot be written.
    """
    try:
        yield
    except NotComparable as error:
        hint = "; --unlike-machines compares it all the same" if error.unlike_machines else ""
        raise NotPossible(f"{error}{hint}") from error
    except TomlMalformed as error:
        raise click.UsageError(str(error)) from error
    except RecordUnreadable as error:
        raise NotPossible(str(error)) from error
    except RecordNotWritten as error:
        raise Failed(str(error)) from error
