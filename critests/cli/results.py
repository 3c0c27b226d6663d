"""`critests results`: all stored runs."""

import json
import time
from pathlib import Path
from typing import Final

import click

from critests.cli.command_errors import Failed
from critests.cli.option_types import Duration
from critests.cli.stored_runs import StoredRunPath
from critests.record.record_errors import MergeRefused, RecordError
from critests.report.store import Index, RunEntry, merge_runs, remove, surplus
from critests.report.store.history import stamp
from critests.report.wording.texts import one_line, plural

RESULTS: Final = click.argument(
    "results", type=click.Path(exists=True, file_okay=False, path_type=Path), default="results"
)
SHOWN: Final = (
    *("path", "run_id", "kind", "runtime", "version", "started", "finished"),
    *("exit_code", "exit_reason", "interrupted"),
)
"""What a line of JSON says of a run."""


@click.group()
def results() -> None:
    """List, prune and merge stored runs.

    The index is a file beside the runs and is brought up to date by every command that uses it. It may be
    deleted at any time.
    """


@results.command("list")
@RESULTS
@click.option("--runtime", metavar="NAME", help="only of this runtime")
@click.option("--kind", type=click.Choice(("validation", "benchmark")), help="only of this kind")
@click.option("--json", "as_json", is_flag=True, help="one JSON object a line")
def list_(results: Path, runtime: str | None, kind: str | None, *, as_json: bool) -> None:
    """Print all runs below RESULTS (default ./results), the newest first."""
    with open_index(results) as index:
        for entry in index.runs(runtime=runtime, kind=kind):
            click.echo(
                json.dumps({name: getattr(entry, name) for name in SHOWN}) if as_json else _line(entry)
            )


@results.command("prune")
@RESULTS
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    metavar="N",
    help="keep the N newest runs of each runtime, version and kind",
)
@click.option("--newer-than", "age", type=Duration(), metavar="AGE", help="keep what is newer: 90d, 12w, 36h")
@click.option("--yes", is_flag=True, help="remove them; without it they are only named")
def prune(results: Path, keep: int | None, age: float | None, *, yes: bool) -> None:
    """Remove old runs below RESULTS (default ./results).

    With both rules a run goes that breaks one of them. The newest run of each runtime, version and kind
    stays, and so does every folder that is not a run.
    """
    if keep is None and age is None:
        msg = "say what to keep: --keep N, --newer-than AGE, or both"
        raise click.UsageError(msg)
    with open_index(results) as index:
        found = surplus(index.runs(), now=time.time(), keep=keep, age=age)
        if not yes:
            for entry, reason in found:
                click.echo(f"{entry.path}  {reason}")
            click.echo(f"{plural(len(found), 'run')} would be removed; say --yes to do it")
            return
        removed, left = remove(results, [entry for entry, _ in found])
        index.update(results)
    for path in removed:
        click.echo(f"{path}  removed")
    if left:
        for path, problem in left.items():
            click.echo(f"{one_line(path)}: left alone: {one_line(problem)}", err=True)
        msg = f"{plural(len(left), 'run')} could not be removed"
        raise Failed(msg)
    click.echo(f"{plural(len(removed), 'run')} removed")


@results.command("merge")
@click.argument("runs", nargs=-1, required=True, type=StoredRunPath(file_okay=False))
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default="results",
    help="where it goes (./results)",
)
@click.option("--strict", is_flag=True, help="a broken SHOULD counts for the exit code")
def merge(runs: tuple[Path, ...], results: Path, *, strict: bool) -> None:
    """Join the shards of a run into one, with the evidence of all of them; the shards stay.

    The worst outcome of a test that is in several counts. Ends with the exit code of the joined run.
    """
    try:
        folder, record = merge_runs(runs, results, strict=strict)
    except (RecordError, OSError) as error:
        refused = isinstance(error, MergeRefused)
        raise click.UsageError(str(error)) if refused else Failed(str(error)) from error
    click.echo(f"exit {record.exit_code}: {record.exit_reason}")
    click.echo(f"record: {folder}")
    raise click.exceptions.Exit(record.exit_code)


def open_index(results: Path) -> Index:
    """Open the index of a tree, bring it up to date, and name on standard error what is damaged.

    Raises:
        Failed: the index cannot be written.
    """
    try:
        index = Index.of(results)
    except RecordError as error:
        raise Failed(str(error)) from error
    for path, problem in index.damaged().items():
        click.echo(f"{one_line(path)}: left out: {one_line(problem)}", err=True)
    return index


def _line(entry: RunEntry) -> str:
    parts = (
        stamp(entry.started),
        f"exit {entry.exit_code}",
        f"{entry.kind:<10}",
        f"{entry.runtime} {entry.version}",
        entry.path,
    )
    return "  ".join(one_line(part) if place != 2 else part for place, part in enumerate(parts))
