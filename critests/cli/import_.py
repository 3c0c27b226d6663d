"""`critests import`: old series of critest as a benchmark run."""

from pathlib import Path
from typing import Final

import click

from critests.cli.refusals import NotPossible
from critests.record.errors import RecordNotWritten, RecordUnreadable
from critests.record.layout import new_run_folder
from critests.record.samples import Series, write_samples
from critests.report.exports import export
from critests.report.formats.critest import BENCHMARKS
from critests.report.formats.critest_reading import read_critest

FOLDER: Final = click.Path(file_okay=False, path_type=Path)
EPILOG: Final = """\b
Examples:
  critests import container_benchmark_data.json pod_benchmark_data.json \\
      --runtime containerd --version 1.7.27
  critests import old/*.json --runtime cri-o --version 1.31.0 --results /var/lib/results"""


@click.command("import", epilog=EPILOG)
@click.argument(
    "files",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--runtime",
    metavar="NAME",
    required=True,
    help="the runtime that was measured, as its Version says: containerd, cri-o",
)
@click.option("--version", metavar="VERSION", required=True, help="its version")
@click.option(
    "--results", metavar="DIR", type=FOLDER, default="results", show_default=True, help="where runs are kept"
)
def import_(files: tuple[Path, ...], runtime: str, version: str, results: Path) -> None:
    """Keep what critest measured (`critest -benchmark -benchmarking-output-dir`) as a benchmark run.

    FILE is container_benchmark_data.json, pod_benchmark_data.json, image_lifecycle_benchmark_data.json or
    image_listing_benchmark_data.json, under whatever name. Name all files of one run of critest at once; each
    command makes one run.
    """
    try:
        record, series = read_critest(files, runtime=runtime, version=version)
        folder = new_run_folder(results, runtime, version, record.started)
        for benchmark in BENCHMARKS:
            found: list[Series] = [each for each in series if each.scenario == benchmark.scenario]
            if found:
                write_samples(folder.samples, benchmark.scenario, found)
        export(record, folder.path)
    except (RecordUnreadable, RecordNotWritten) as error:
        raise NotPossible(str(error)) from error
    for note in record.notes[2:]:
        click.echo(note, err=True)
    click.echo(
        f"{sum(len(each.value) for each in series):,} samples of {len(series)} operations: {folder.path}"
    )
