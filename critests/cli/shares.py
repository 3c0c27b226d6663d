"""Options whose value is a share, `10%` or `0.1`."""

import click

from critests.report.comparison.wording import read_share


def share(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Read the value of an option that is a share, `10%` or `0.1`; to be given as its callback.

    Raises:
        click.BadParameter: it is none.
    """
    try:
        return None if value is None else read_share(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error
