"""`critests replay`: play a trace on a runtime, and say what is answered otherwise."""

import sys
from pathlib import Path
from typing import Any

import click

from critests.cli.connected_run import connected_run
from critests.cli.run_options import Sectioned, run_options, settings_from
from critests.exit_codes import ExitCode
from critests.run.settings import Settings

MOST_SHOWN = 50
"""Differences that are printed."""


@click.command(cls=Sectioned)
@run_options("replay")
@click.option(
    "--speed",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="how much faster than recorded; 0 for as fast as it goes",
)
@click.argument("trace", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def replay(*, speed: float, trace: Path, **values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Play a trace of `critests record` on a runtime.

    Names and ids are mapped, images are the suite's own, and commands a process that waits. Says which
    answers differ (code, state, exit code, what lists hold) and how long each RPC took, then and now. Ends
    with 0 whatever differs.
    """
    sys.exit(_replayed(settings_from(values), trace, speed))


def _replayed(settings: Settings, path: Path, speed: float) -> ExitCode:
    from critests.run.pulled_images import TestImages  # noqa: PLC0415 - `--help` must not wait for gRPC
    from critests.traces.differences import differences, times  # noqa: PLC0415 - see above
    from critests.traces.replaying import SKIPPED, Replay  # noqa: PLC0415 - see above
    from critests.traces.trace import read  # noqa: PLC0415 - see above

    origin, entries = read(path)
    with connected_run(settings, keep_results=False) as (context, connection):
        image = TestImages(connection, context).pull()
        replay_of = Replay(connection, context.requests(), image, speed)
        played = replay_of.run(entries)
    found = list(differences(played, replay_of.ids))
    for difference in found[:MOST_SHOWN]:
        click.echo(str(difference))
    if len(found) > MOST_SHOWN:
        click.echo(f"and {len(found) - MOST_SHOWN} more")
    click.echo("  calls and median times, recorded and played:")
    for rpc, count, recorded, now in times(played):
        click.echo(f"  {rpc:<28} {count:>6}  {recorded * 1000:9.1f} ms  {now * 1000:9.1f} ms")
    skipped = sum(each.code == SKIPPED for each in played)
    counted = f"{len(played) - skipped} of {len(entries)} calls of {origin.runtime} played"
    click.echo(f"{counted}; {len(found)} answers differ")
    return ExitCode.CONFORMS
