"""The options of a run as click options; `critests.run.options` defines them."""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from critests.exit_codes import UsageError
from critests.run.options import OPTIONS, STANDARD_OUTPUT, Option
from critests.run.run_settings import Settings

F = TypeVar("F", bound=Callable[..., Any])


def run_options(
    command: str,
    *,
    profiles: tuple[str, ...] = (),
    help_of: Mapping[str, str] | None = None,
    hidden: bool = False,
) -> Callable[[F], F]:
    """Add the options that a command takes.

    Args:
        command: name of the command.
        profiles: profiles of this kind of run, if it does not have all.
        help_of: help texts that replace those of the options, by name of the option.
        hidden: whether `--help` leaves the options out.
    """
    options = [option for option in OPTIONS if command in option.commands]

    def add(function: F) -> F:
        for option in reversed(options):
            choices = profiles if option.name == "--profile" and profiles else option.choices
            text = (help_of or {}).get(option.name, option.help)
            function = _click_option(dataclasses.replace(option, choices=choices, help=text), hidden=hidden)(
                function
            )
        return function

    return add


def _click_option(option: Option, *, hidden: bool) -> Callable[[F], F]:
    if not option.metavar:
        return click.option(option.name, option.dest, is_flag=True, help=option.help, hidden=hidden)
    kind = click.Choice(option.choices) if option.choices else None
    metavar = None if option.choices else option.metavar
    return click.option(
        *filter(None, (option.short, option.name)),
        option.dest,
        multiple=option.many,
        type=kind,
        metavar=metavar,
        help=option.help,
        hidden=hidden,
    )


def settings_from(values: dict[str, Any]) -> Settings:
    """Return the settings from a command's values.

    Raises:
        UsageError: a value makes no sense.
    """
    settings = Settings.read(values.get)
    for name, file in (("--json", settings.json), ("--html", settings.html), ("--junit", settings.junit)):
        if file == STANDARD_OUTPUT and not (name == "--json" and values.get("list_only")):
            msg = f"{name} -: only a list can go to standard output (--list --json -); name a file"
            raise UsageError(msg)
    return settings


class Sectioned(click.Command):
    """A command whose options are grouped under headings in `--help`."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, section by section."""
        section_of = {option.dest: option.section for option in OPTIONS}
        rows: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                rows[section_of.get(parameter.name or "", "How to run")].append(record)
        for heading, records in rows.items():
            with formatter.section(heading):
                formatter.write_dl(records)
