"""`critests report`: stored runs in the formats of other tools."""

import sys
from pathlib import Path

import click

from critests.cli.command_errors import Failed
from critests.cli.stored_runs import StoredRunPath, results_option
from critests.record.record_errors import RecordNotWritten, RecordUnreadable
from critests.report.formats import FORMATS, NotExported, Publishing, TextFormat, TreeFormat, load

FORMAT_ROWS = "\n".join(f"  {each.name:<16} for {each.summary}" for each in FORMATS.values())
EPILOG = f"""\b
Formats:
{FORMAT_ROWS}

\b
Examples:
  critests report latest
  critests report results/containerd/2.1.9/latest --format github >> "$GITHUB_STEP_SUMMARY"
  critests report RUN --format github --baseline LAST_GOOD_RUN
  critests report results/containerd/*/* --format testgrid --output bucket/"""


@click.command(epilog=EPILOG)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=StoredRunPath())
@click.option(
    "--format",
    "name",
    type=click.Choice(list(FORMATS)),
    metavar="NAME",
    default="summary",
    show_default=True,
    help="format to write",
)
@click.option(
    "--output",
    metavar="PATH",
    type=click.Path(path_type=Path),
    help="file to write, or directory if the format is one (default: print)",
)
@click.option("--baseline", metavar="RUN", type=StoredRunPath(), help="the run to compare with")
@results_option("where latest is looked for (default: results)")
@click.option(
    "--job",
    metavar="NAME",
    default="",
    help="CI job that the runs are builds of (default: runtime and version)",
)
@click.option(
    "--bucket",
    metavar="NAME",
    default="",
    help="bucket, and folder in it, where the directory will be published",
)
@click.option("--mail", metavar="ADDRESSES", default="", help="recipients of the dashboard's alerts")
@click.option("--url", metavar="URL", default="", help="page of the CI job that produced the run")
def report(
    runs: tuple[Path, ...],
    name: str,
    output: Path | None,
    baseline: Path | None,
    results: Path,
    **publishing: str,
) -> None:
    """Export stored runs to the formats of other tools.

    RUN is the folder of a run, its run.json (or run.json.gz), or latest. Everything is derived from the
    record and from the evidence and samples next to it; no runtime is needed.
    """
    del results  # the type of RUN has used it
    chosen = FORMATS[name]
    if output is None and isinstance(chosen, TreeFormat):
        msg = f"--format {name} writes a directory: name it with --output"
        raise click.UsageError(msg)
    if isinstance(chosen, TextFormat) and len(runs) > 1:
        msg = f"--format {name} takes one run, not {len(runs)}"
        raise click.UsageError(msg)
    try:
        for run in runs:
            source = load(run, baseline=baseline, publishing=Publishing(**publishing))
            if output is not None:
                for path in chosen.write(source, output)[-1:]:
                    click.echo(f"{name}: {path}", err=True)
            elif isinstance(chosen, TextFormat):
                sys.stdout.buffer.write(chosen.render(source).encode())
                sys.stdout.flush()
    except (RecordUnreadable, RecordNotWritten, NotExported) as error:
        raise Failed(str(error)) from error
