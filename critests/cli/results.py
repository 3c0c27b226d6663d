"""`critests results`: list, prune and merge stored runs."""

import json
import time
from pathlib import Path
from typing import Final

import click

from critests.cli.command_errors import Failed
from critests.cli.option_types import Duration
from critests.cli.stored_runs import StoredRunPath
from critests.record.record_errors import MergeRejected, RecordError
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
"""The keys of a run in the JSON list."""


@click.group()
def results() -> None:
    """List, prune and merge stored runs.

    The index is a file next to the runs, which every command that uses it updates. You may delete it at any
    time.
    """


@results.command("list")
@RESULTS
@click.option("--runtime", metavar="NAME", help="only runs of this runtime")
@click.option("--kind", type=click.Choice(("validation", "benchmark")), help="only runs of this kind")
@click.option("--json", "as_json", is_flag=True, help="print one JSON object per line")
def list_(results: Path, runtime: str | None, kind: str | None, *, as_json: bool) -> None:
    """Print all runs below RESULTS (default ./results), newest first."""
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
@click.option("--newer-than", "age", type=Duration(), metavar="AGE", help="keep newer runs: 90d, 12w, 36h")
@click.option("--yes", is_flag=True, help="remove the runs; without it they are only listed")
def prune(results: Path, keep: int | None, age: float | None, *, yes: bool) -> None:
    """Remove old runs below RESULTS (default ./results).

    With both rules, runs that break either are removed. The newest run of each runtime, version and kind is
    never removed, nor is a folder that is not a run.
    """
    if keep is None and age is None:
        msg = "choose what to keep: --keep N, --newer-than AGE, or both"
        raise click.UsageError(msg)
    with open_index(results) as index:
        expired = surplus(index.runs(), now=time.time(), keep=keep, age=age)
        if not yes:
            for entry, reason in expired:
                click.echo(f"{entry.path}  {reason}")
            click.echo(f"{plural(len(expired), 'run')} would be removed; pass --yes to remove")
            return
        removed, failed = remove(results, [entry for entry, _ in expired])
        index.update(results)
    for path in removed:
        click.echo(f"{path}  removed")
    if failed:
        for path, problem in failed.items():
            click.echo(f"{one_line(path)}: not removed: {one_line(problem)}", err=True)
        msg = f"{plural(len(failed), 'run')} could not be removed"
        raise Failed(msg)
    click.echo(f"{plural(len(removed), 'run')} removed")


@results.command("merge")
@click.argument("runs", nargs=-1, required=True, type=StoredRunPath(file_okay=False))
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default="results",
    help="directory of all results (default ./results)",
)
@click.option("--strict", is_flag=True, help="a broken SHOULD counts for the exit code")
def merge(runs: tuple[Path, ...], results: Path, *, strict: bool) -> None:
    """Merge the shards of a run into one run, with all their evidence; the shards are not removed.

    If a test is in several shards, its worst outcome counts. Exits with the exit code of the merged run.
    """
    try:
        folder, record = merge_runs(runs, results, strict=strict)
    except (RecordError, OSError) as error:
        refused = isinstance(error, MergeRejected)
        raise click.UsageError(str(error)) if refused else Failed(str(error)) from error
    click.echo(f"exit {record.exit_code}: {record.exit_reason}")
    click.echo(f"record: {folder}")
    raise click.exceptions.Exit(record.exit_code)


def open_index(results: Path) -> Index:
    """Open the index of a tree, update it, and report damaged runs on standard error.

    Raises:
        Failed: the index cannot be written.
    """
    try:
        index = Index.of(results)
    except RecordError as error:
        raise Failed(str(error)) from error
    for path, problem in index.damaged().items():
        click.echo(f"{one_line(path)}: skipped: {one_line(problem)}", err=True)
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
