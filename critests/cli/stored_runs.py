"""Types of arguments that name a stored run: its folder, its `run.json`, `latest` or `last`."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from critests.record.record_errors import RecordUnreadable
from critests.record.run_layout import LAST, RESULTS, run_named

F = TypeVar("F", bound=Callable[..., Any])


def results_option(help_text: str) -> Callable[[F], F]:
    """Add `--results`, the folder of all runs, in which `latest` is looked for."""
    return click.option(
        "--results",
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        default=RESULTS,
        is_eager=True,  # the argument `latest` needs it
        help=help_text,
    )


class StoredRunPath(click.Path):
    """A stored run, given as the path of its folder or of its record."""

    name = "run"

    def __init__(self, *, file_okay: bool = True) -> None:
        super().__init__(exists=True, file_okay=file_okay, path_type=Path)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """Return the path of the run; `latest` is resolved."""
        try:
            results = ctx.params.get("results", RESULTS) if ctx is not None else RESULTS
            return super().convert(run_named(Path(value), results), param, ctx)
        except RecordUnreadable as error:
            self.fail(str(error), param, ctx)


class EarlierRun(StoredRunPath):
    """A stored run as a baseline; `last` is not resolved yet, as it depends on the run that is compared."""

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """Return the path of the run, or `last`."""
        return Path(value) if os.fspath(value) == LAST else super().convert(value, param, ctx)
