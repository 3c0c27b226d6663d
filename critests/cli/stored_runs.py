"""Types of arguments that name a stored run: its folder, its `run.json`, `latest` or `last`."""

import os
from pathlib import Path

import click

from critests.record.record_errors import RecordUnreadable
from critests.record.run_layout import LAST, run_named


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
            return super().convert(run_named(Path(value)), param, ctx)
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
