"""How a command ends when what was asked for is right but cannot be done."""

import click

from critests.exit_codes import ExitCode
from critests.report.comparison.wording import read_share


class NotPossible(click.ClickException):
    """Nothing can be said: the runs cannot be read or cannot be compared."""

    exit_code = int(ExitCode.NOT_TESTED)


def share(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Read the value of an option that is a share, `10%` or `0.1`; to be given as its callback.

    Raises:
        click.BadParameter: it is none.
    """
    try:
        return None if value is None else read_share(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error
