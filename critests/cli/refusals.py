"""How a command ends when what was asked for is right but cannot be done."""

import click

from critests.exit_codes import ExitCode


class NotPossible(click.ClickException):
    """Nothing can be said: the runs cannot be read or cannot be compared."""

    exit_code = int(ExitCode.NOT_TESTED)


class NotWritten(click.ClickException):
    """What was found cannot be kept."""

    exit_code = int(ExitCode.HARNESS_ERROR)
