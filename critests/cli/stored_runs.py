"""Arguments and options that name a stored run: its folder, its `run.json`, `latest`, or `last`."""

import os
from pathlib import Path

import click

from critests.record.record_errors import RecordUnreadable
from critests.record.run_layout import LAST, run_named


class StoredRunPath(click.Path):
    """A stored run, as the path of its folder or of its record."""

    name = "run"

    def __init__(self, *, file_okay: bool = True) -> None:
        super().__init__(exists=True, file_okay=file_okay, path_type=Path)

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """Read it; `latest` becomes the run that it stands for."""
        try:
            return super().convert(run_named(Path(value)), param, ctx)
        except RecordUnreadable as error:
            self.fail(str(error), param, ctx)


class EarlierRun(StoredRunPath):
    """A stored run that another one is compared with; `last` stays as it is, and is looked for when that
    other one is known.
    """

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | bytes | os.PathLike[str]:
        """Read it."""
        return Path(value) if os.fspath(value) == LAST else super().convert(value, param, ctx)
