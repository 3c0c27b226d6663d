"""Messages of a command name only options that it has."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import critests
from critests.cli.command import COMMANDS
from critests.cli.command_errors import NotPossible, of_comparisons
from critests.report.comparison import NotComparable

OPTION = re.compile(r"(?<![\w./-])--[a-z][a-z-]+")
OTHER_COMMAND = re.compile(r"critests (\w+)")
CLI = Path(critests.__file__).parent / "cli"
OF_PYTEST = re.compile(r"--(cri-.*|pyargs|dist)")


def command_of(name: str) -> click.Command:
    found = getattr(importlib.import_module(f"critests.cli.{name}"), name)
    assert isinstance(found, click.Command)
    return found


def options_of(command: click.Command) -> set[str]:
    below = command.commands.values() if isinstance(command, click.Group) else ()
    own = {name for each in command.params for name in [*each.opts, *each.secondary_opts]}
    return own.union({"--help"}, *map(options_of, below))


def texts(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


# `load` describes the options of Locust and of its locustfile
@pytest.mark.parametrize("name", sorted(COMMANDS.keys() - {"load"}))
def test_the_texts_of_a_command_name_only_its_own_options(name: str) -> None:
    own = options_of(command_of(name))

    foreign = {
        option
        for text in texts(CLI / f"{name}.py")
        for option in OPTION.findall(text)
        if not OF_PYTEST.fullmatch(option)
        and option not in own.union(*map(options_of, map(command_of, named_in(text))))
    }

    assert foreign == set()


def named_in(text: str) -> list[str]:
    return [name for name in OTHER_COMMAND.findall(text) if name in COMMANDS]


@pytest.mark.parametrize(
    ("name", "option"), [("gate", "--unlike"), ("compare", "--unlike-machines"), ("report", "")]
)
def test_the_hint_to_compare_other_machines_names_the_option_of_the_command(name: str, option: str) -> None:
    command = command_of(name)

    with click.Context(command), pytest.raises(NotPossible) as found, of_comparisons():
        raise NotComparable("the machines differ", unlike_machines=True)

    hint = f"; pass {option} to compare anyway" if option else ""
    assert found.value.message == f"the machines differ{hint}"
