"""Files that a command writes beside what it prints."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from critests.run.options import STANDARD_OUTPUT

F = TypeVar("F", bound=Callable[..., Any])


def output_option(name: str, dest: str, says: str) -> Callable[[F], F]:
    """Add an option that names a file to write.

    Standard output is none: what people read goes there.
    """
    return click.option(
        name,
        dest,
        type=click.Path(dir_okay=False, path_type=Path),
        callback=_a_file,
        metavar="FILE",
        help=says,
    )


def _a_file(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    if path == STANDARD_OUTPUT:
        msg = "what people read goes to standard output; name a file"
        raise click.BadParameter(msg)
    return path
