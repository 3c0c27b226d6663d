"""`critests dashboard`: a static site over all stored runs."""

import os
import time
from pathlib import Path
from typing import Final

import click

from critests.cli.command_errors import Failed
from critests.cli.results import open_index
from critests.record.record_errors import RecordError
from critests.report.dashboard import Options, build
from critests.report.wording.texts import plural

NO_LINKS: Final = "none"
EPILOG = """\b
Examples:
  critests dashboard results/ -o site/
  critests dashboard results/ -o site/ --run-links https://example.org/results/"""


@click.command(epilog=EPILOG)
@click.argument("results", type=click.Path(exists=True, file_okay=False, path_type=Path), default="results")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="directory of the site",
)
@click.option("--title", default=Options.title, show_default=True, help="heading of the overview page")
@click.option(
    "--run-links",
    metavar="URL",
    help="base URL of the run folders, for links to their reports, or none (default: RESULTS)",
)
def dashboard(
    results: Path,
    output: Path,
    title: str,
    run_links: str | None,
) -> None:
    """Build a static site from all runs below RESULTS.

    RESULTS is ./results by default. The site has grids of requirements and runs, benchmark series, a page for
    each requirement, and comparisons of runtimes. It needs no server, no network and no JavaScript. A new
    build replaces the files of the last one; a directory with other files is rejected.
    """
    with open_index(results) as index:
        try:
            options = Options(
                title=title,
                now=time.time(),
                results=results,
                run_links=links(results, output, run_links),
            )
            built = build(index, output, options)
        except RecordError as error:
            raise Failed(str(error)) from error
    written = f"{built.written} files written, {built.removed} removed"
    click.echo(f"{plural(built.pages, 'page')}, {written}\n{output / 'index.html'}")


def links(results: Path, output: Path, base_url: str | None) -> str:
    """Return the prefix of links to runs: the user's base URL, else the path from the site to the results."""
    if base_url == NO_LINKS:
        return ""
    if base_url:
        return base_url.rstrip("/") + "/"
    return Path(os.path.relpath(results.resolve(), output.resolve())).as_posix() + "/"
