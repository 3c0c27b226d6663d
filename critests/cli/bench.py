"""`critests bench`: measure a runtime."""

import os
import sys
from pathlib import Path
from typing import Any

import click

from critests.benchmark.measuring.client_process import environment
from critests.benchmark.profiles import PROFILES, SCENARIOS, in_profile
from critests.cli.run_options import Sectioned, pytest_arguments, run_options, settings_from
from critests.run.options import CHOICE, MEASURING, OUTPUT, RULES, RUNTIME

INI = Path(__file__).parent.parent / "benchmark" / "pytest.ini"
NOT_FOR_BENCHMARKS = (
    "--api-level",
    "--disruptive",
    "--expectations",
    "--no-expectations",
    "--read-only",
    "--require",
    "--rerun",
    "--shard",
    "--strict",
)
HELP = {
    "--runtime-handler": "runtime handler of the sandboxes",
    "--profile": "smoke (under two minutes), standard (default, about a quarter of an hour) or full (hours)",
    "--select": "only these scenarios, such as B-06,B-11, whatever the profile; comma-separated or repeated",
    "--deselect": "all but these",
}


def _epilog() -> str:
    rows = []
    for scenario in SCENARIOS.values():
        first = next(profile for profile in PROFILES if scenario in in_profile(profile))
        rows.append(
            f"  {scenario.id}  {first + ' on' if first != PROFILES[-1] else first:<12} {scenario.title}"
        )
    return "\n".join(
        ["\b", "Scenarios, and the profile from which on they are measured:", *rows, "", "\b", *EXAMPLES]
    )


EXAMPLES = (
    "Examples:",
    "  critests bench --node containerd --profile smoke     a throwaway containerd, nothing else touched",
    "  critests bench --select B-11,B-13 --budget 120       two scenarios in two minutes of sampling",
    (
        "  critests compare containerd containerd=/opt/new/containerd   two sides in one run, in random"
        " alternation"
    ),
)


@click.command(cls=Sectioned, epilog=_epilog())
@run_options(
    (RUNTIME, CHOICE, RULES, MEASURING, OUTPUT), profiles=PROFILES, help_of=HELP, without=NOT_FOR_BENCHMARKS
)
@click.option(
    "--list", "list_only", is_flag=True, help="print the scenarios that would be measured, and measure none"
)
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def bench(**values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Measure a CRI runtime: latency and throughput of the hot path and what surrounds it.

    Samples are taken until the answer is sharp or the scenario's time is over; beside every number stands
    what the client itself needs for it. The runtime is found as in `critests run`. What follows `--` goes to
    pytest as it is.
    """
    settings = settings_from(values)
    if len(settings.handlers) > 1:
        msg = "a run measures one handler: two are compared by `critests compare handler=ONE handler=OTHER`"
        raise click.UsageError(msg)
    if values["list_only"]:
        _list(settings)
        return
    arguments = [
        "-c",
        str(INI),
        "--pyargs",
        "critests.benchmark",
        "-p",
        "critests.plugin",
        *pytest_arguments(values),
    ]
    arguments += [*values["pytest_args"], "--cri-progress"]
    sys.stdout.flush()
    # another process image, for the reason that `critests run` has
    # there is no shell in between
    os.execve(sys.executable, [sys.executable, "-P", "-m", "pytest", *arguments], environment(os.environ))  # noqa: S606 - see above


def _list(settings: Any) -> None:  # noqa: ANN401 - its type would import what `--list` does not need
    from critests.benchmark.profiles import seconds_each  # noqa: PLC0415 - as above
    from critests.benchmark.selection import chosen, profile_of  # noqa: PLC0415 - pytest comes with it

    names, profile = chosen(settings), profile_of(settings)
    budget = settings.number("--budget", 0.0) if settings.text("--budget") else None
    for name, seconds in seconds_each(names, profile, budget).items():
        click.echo(f"{name}  {seconds:6.0f} s  {SCENARIOS[name].title}")
