"""`critests bench`: measure a runtime."""

from typing import Any

import click

from critests.benchmark.scenario_profiles import COMPARE, PROFILES, SCENARIOS, in_profile, seconds_each
from critests.cli.extras import check_installed
from critests.cli.pytest_command import BENCHMARK, become_pytest
from critests.cli.run_options import Sectioned, run_options, settings_from
from critests.run.run_settings import Settings

HELP = {
    "--runtime-handler": "runtime handler of the sandboxes",
    "--profile": "smoke (under two minutes), standard (default, about 20 minutes) or full (about 90 minutes)",
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
        ["\b", "Scenarios, and the smallest profile that measures each:", *rows, "", "\b", *EXAMPLES]
    )


EXAMPLES = (
    "Examples:",
    "  critests bench --node containerd --profile smoke     start a private containerd, and remove it again",
    "  critests bench --select B-11,B-13 --budget 120       two scenarios in two minutes of sampling",
    "  critests bench --select B-11 --baseline last         what changed since the last good run here",
    ("  critests compare containerd containerd=/opt/new/containerd   two sides in one run, in random order"),
)


@click.command(cls=Sectioned, epilog=_epilog())
@run_options("bench", profiles=(*PROFILES, COMPARE), help_of=HELP)
@click.option(
    "--list", "list_only", is_flag=True, help="print the scenarios that would be measured, without measuring"
)
@click.argument("pytest_args", nargs=-1, type=click.UNPROCESSED)
def bench(**values: Any) -> None:  # noqa: ANN401 - click hands over the options by name
    """Measure the latency and throughput of a CRI runtime.

    A scenario is sampled until its confidence interval is narrow or its time is over. Each result also states
    how much of it the client itself needs. The runtime is found as in `critests run`. Arguments after `--`
    are passed to pytest.
    """
    settings = settings_from(values)
    if len(settings.handlers) > 1:
        msg = (
            "--runtime-handler: a run measures one handler; to compare two, use"
            " `critests compare handler=ONE handler=OTHER`"
        )
        raise click.UsageError(msg)
    if settings.against and settings.baseline:
        msg = "--baseline cannot be combined with --against: side A is the baseline of side B"
        raise click.UsageError(msg)
    if values["list_only"]:
        _list(settings)
        return
    check_installed("bench")
    become_pytest(BENCHMARK, settings, [*values["pytest_args"], "--cri-progress"])


def _list(settings: Settings) -> None:
    from critests.benchmark.scenario_selection import chosen, profile_of  # noqa: PLC0415 - pytest comes with it

    names, profile = chosen(settings), profile_of(settings)
    for name, seconds in seconds_each(names, profile, settings.budget).items():
        click.echo(f"{name}  {seconds:6.0f} s  {SCENARIOS[name].title}")
