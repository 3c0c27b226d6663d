"""Types of options that several commands take: a share, a duration, a test's name, a file to write."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from critests.report.wording.quantities import read_share
from critests.run.options import STANDARD_OUTPUT

F = TypeVar("F", bound=Callable[..., Any])

_TEST_NAME: Final = re.compile(r"test_\w+\[.*\]")
_WORD: Final = re.compile(r"[\w:+.\[\]\\/-]+")
"""One word in pytest's -k expressions."""
_OPERATORS: Final = frozenset({"and", "or", "not"})
SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def share(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """Read a share, `10%` or `0.1`; the callback of an option.

    Raises:
        click.BadParameter: the value is not a share.
    """
    try:
        return None if value is None else read_share(value)
    except ValueError as error:
        raise click.BadParameter(str(error), context, parameter) from error


class NameExpression(click.ParamType[str]):
    """An expression for pytest's -k, or the name of a single test, in whose brackets blanks are allowed."""

    name = "expression"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str:
        """Return the expression; of a test's name, one that all its words must match."""
        del param, ctx
        if not _TEST_NAME.fullmatch(value):
            return str(value)
        # brackets stay in the first and in the last word
        return " and ".join(word for word in _WORD.findall(value) if word not in _OPERATORS)


class Duration(click.ParamType[float]):
    """Seconds, written as 90, 90s, 5m, 36h, 90d or 12w."""

    name = "time"

    def convert(
        self,
        value: Any,  # noqa: ANN401 - click's signature
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Return the seconds."""
        if isinstance(value, float):
            return value
        number, unit = (value[:-1], value[-1]) if value[-1:] in SECONDS else (value, "s")
        if not number.isdigit() or not 0 < int(number) < 1_000_000:
            self.fail(f"{value}: expected a duration such as 90s, 5m, 36h, 90d or 12w", param, ctx)
        return float(int(number) * SECONDS[unit])


def output_option(name: str, dest: str, help_text: str) -> Callable[[F], F]:
    """Add an option that names a file to write.

    `-` is rejected, as standard output carries the text for people.
    """
    return click.option(
        name,
        dest,
        type=click.Path(dir_okay=False, path_type=Path),
        callback=_a_file,
        metavar="FILE",
        help=help_text,
    )


def _a_file(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    if path == STANDARD_OUTPUT:
        msg = "standard output carries the text for people; name a file"
        raise click.BadParameter(msg)
    return path
