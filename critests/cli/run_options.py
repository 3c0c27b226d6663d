"""The options of a run, as click options; what they mean is said once, in `critests.run.options`."""

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

from critests.run.options import OPTIONS, Option, Settings

F = TypeVar("F", bound=Callable[..., Any])


def run_options(
    sections: Iterable[str] | None = None,
    *,
    profiles: tuple[str, ...] = (),
    help_of: Mapping[str, str] | None = None,
    without: Iterable[str] = (),
) -> Callable[[F], F]:
    """Add the options of a run to a command.

    Args:
        sections: whose options are added; all by default.
        profiles: that this kind of run has, where not all are.
        help_of: option to another sentence in `--help`.
        without: options that are left out.
    """
    left_out = set(without)
    wanted = [
        option
        for option in OPTIONS
        if (sections is None or option.section in set(sections)) and option.name not in left_out
    ]

    def add(function: F) -> F:
        for option in reversed(wanted):
            choices = profiles if option.name == "--profile" and profiles else option.choices
            text = (help_of or {}).get(option.name, option.help)
            function = _click_option(dataclasses.replace(option, choices=choices, help=text))(function)
        return function

    return add


def _click_option(option: Option) -> Callable[[F], F]:
    if not option.metavar:
        return click.option(option.name, option.dest, is_flag=True, help=option.help)
    kind = click.Choice(option.choices) if option.choices else None
    metavar = None if option.choices else option.metavar
    return click.option(
        option.name, option.dest, multiple=option.many, type=kind, metavar=metavar, help=option.help
    )


def settings_from(values: dict[str, Any]) -> Settings:
    """Return the settings from a command's values.

    Raises:
        UsageError: a value makes no sense.
    """
    return Settings.read(values.get)


def pytest_arguments(values: dict[str, Any]) -> list[str]:
    """Return the same options as pytest takes them."""
    arguments: list[str] = []
    for option in OPTIONS:
        value = values.get(option.dest)
        if not value:
            continue
        if not option.metavar:
            arguments.append(option.pytest_name)
        else:
            arguments += [f"{option.pytest_name}={each}" for each in (value if option.many else (value,))]
    return arguments


class Sectioned(click.Command):
    """A command whose options stand under headings in `--help`."""

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
